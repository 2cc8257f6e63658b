"""Which is the smallest case that still shows it?

Parts are left out one after another, and words, for as long as the smaller case still differs. Cases are wholes of few
parts, so that this takes seconds, and what is left reads as an example.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from tests.noninterference.generators import Case
from tests.noninterference.world import Record

Part = TypeVar("Part")
Fails = Callable[[Case], bool]
_KEPT = frozenset({"source_id", "revision", "text", "access"})  # of a record
_ALWAYS = frozenset({"query", "purpose", "use"})  # of a request: who sees what depends on these


def smallest(case: Case, fails: Fails) -> Case:
    """The case with every part left out that `fails` does not need. `fails` holds of the case itself, and is called
    some dozens of times."""
    while True:
        smaller = next((one for one in _smaller(case) if fails(one)), None)
        if smaller is None:
            return case
        case = smaller


def _smaller(case: Case) -> Iterator[Case]:
    """Cases that are smaller by one step, great steps first."""
    world = case.world
    for requests in _shorter(case.requests):
        if requests:
            yield replace(case, requests=requests)
    if case.follow:
        yield replace(case, follow=False)
    for records in _shorter(world.records):
        yield replace(case, world=replace(world, records=records))
    for revocations in _shorter(world.revocations):
        yield replace(case, world=replace(world, revocations=revocations))
    for place, record in enumerate(world.records):
        for plainer in _plainer(record):
            records = (*world.records[:place], plainer, *world.records[place + 1 :])
            yield replace(case, world=replace(world, records=records))
    for place, asked in enumerate(case.requests):
        body = asked.body
        for name in sorted(set(body) - _ALWAYS) if isinstance(body, dict) else ():
            less = replace(asked, body={kept: value for kept, value in body.items() if kept != name})
            yield replace(case, requests=(*case.requests[:place], less, *case.requests[place + 1 :]))


def _plainer(record: Record) -> Iterator[dict[str, Any]]:
    """The record without one of the things that it may lack, or with half its words."""
    for name in sorted(set(record) - _KEPT):
        yield {kept: value for kept, value in record.items() if kept != name}
    words = record["text"].split()
    if len(words) > 1 and not (record.get("claims") or record.get("contradicts")):
        yield {**record, "text": " ".join(words[: len(words) // 2])}


def _shorter(parts: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    """The parts without a run of them: half of all, then less, down to single ones."""
    size = len(parts) // 2
    while size > 1:
        yield from (parts[:start] + parts[start + size :] for start in range(0, len(parts), size))
        size //= 2
    yield from (parts[:place] + parts[place + 1 :] for place in range(len(parts)))
