"""Does a citation hold, for this reader and now? (pure)

Each occurrence is judged alone, in the order of R33; the first check that fails gives the verdict:

1. `fabricated`: the handle is not in the packet
2. `no-longer-eligible`: nothing that this reader may use now has the handle
3. `misattributed`: the packet shows another revision, span or text under it than the handle stands for
4. `misattributed`: the quote is no part of the passage, but of another one; `misquoted`: of none, or it is blank
5. `not-citable`: the claim's type is not among what the revision may be cited for
6. `valid`

Verbatim means the same code points: case, space and Unicode form count. Whether a passage bears out a claim is not
decided here: that is for the people who adjudicate reviews (R39).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from evidence.eligibility import Standing
from evidence.occurrence import Occurrence
from evidence.revision import RevisionFacts
from evidence.unit import Unit


class Verdict(StrEnum):
    """What became of one citation."""

    VALID = "valid"
    FABRICATED = "fabricated"
    MISQUOTED = "misquoted"
    MISATTRIBUTED = "misattributed"
    NO_LONGER_ELIGIBLE = "no-longer-eligible"
    NOT_CITABLE = "not-citable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a packet shows under a handle. The packet was handed in, so nothing of it is trusted.

    span: `[start, end)` in code points of the revision text. text: None where the packet leaves it out.
    """

    handle: str
    namespace: str
    source_id: str
    revision: str
    span: tuple[int, int]
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What the authority holds under a handle: only what is visible to the reader, and how it stands now."""

    unit: Unit
    facts: RevisionFacts
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict on one occurrence.

    span: where the quote stands first, or the passage where nothing was quoted, `[start, end)` in code points of the
    revision text; None unless the verdict is `valid` or `not-citable`.
    """

    handle: str
    verdict: Verdict
    span: tuple[int, int] | None = None


Elsewhere: TypeAlias = Callable[[Passage, str], bool]
"""Whether a passage that the reader may see, other than the given one, holds the quote."""


def validate(
    occurrences: Iterable[Occurrence],
    *,
    shown: Sequence[Shown],
    held: Mapping[str, Sequence[Passage]],
    elsewhere: Elsewhere,
) -> list[Finding]:
    """A finding for each occurrence, in order.

    shown: the passages of the packet. held: by handle, the visible passages of the handles that occur; a handle that
    is missing has none, whether it never existed or is hidden from this reader: the two are one (R7).
    """
    by_handle: dict[str, list[Shown]] = {}
    for item in shown:
        by_handle.setdefault(item.handle, []).append(item)
    return [
        _judge(
            occurrence,
            shown=by_handle.get(occurrence.handle, ()),
            held=held.get(occurrence.handle, ()),
            elsewhere=elsewhere,
        )
        for occurrence in occurrences
    ]


def _judge(occurrence: Occurrence, *, shown: Sequence[Shown], held: Sequence[Passage], elsewhere: Elsewhere) -> Finding:
    if not shown:
        return _failed(occurrence, Verdict.FABRICATED)
    usable = [passage for passage in held if passage.standing is Standing.USABLE]
    if not usable:
        return _failed(occurrence, Verdict.NO_LONGER_ELIGIBLE)
    passage = next((passage for passage in usable if all(_is_shown(passage.unit, item) for item in shown)), None)
    if passage is None:
        return _failed(occurrence, Verdict.MISATTRIBUTED)
    span = _place(occurrence, passage.unit)
    if span is None:
        misplaced = _quotes_something(occurrence) and elsewhere(passage, occurrence.quote or "")
        return _failed(occurrence, Verdict.MISATTRIBUTED if misplaced else Verdict.MISQUOTED)
    citable = occurrence.claim_type is None or occurrence.claim_type in passage.facts.citable_for
    return Finding(handle=occurrence.handle, verdict=Verdict.VALID if citable else Verdict.NOT_CITABLE, span=span)


def _is_shown(unit: Unit, item: Shown) -> bool:
    """Whether the packet shows this very passage: same revision, same span, same text."""
    return (
        unit.key[:3] == (item.namespace, item.source_id, item.revision)
        and (unit.start, unit.end) == item.span
        and item.text in (None, unit.text)
    )


def _place(occurrence: Occurrence, unit: Unit) -> tuple[int, int] | None:
    """Where in the revision text the occurrence points, None where it points at nothing that the passage holds."""
    quote = occurrence.quote
    if quote is not None and not _quotes_something(occurrence):
        return None
    if occurrence.span is not None:
        start, end = occurrence.span
        if not unit.start <= start < end <= unit.end:
            return None
        words = unit.text[start - unit.start : end - unit.start]
        return (start, end) if quote in (None, words) else None
    if quote is None:
        return (unit.start, unit.end)
    at = unit.text.find(quote)
    return None if at < 0 else (unit.start + at, unit.start + at + len(quote))


def _quotes_something(occurrence: Occurrence) -> bool:
    """Whether there is more than white space in the quote: a blank stands in every text and bears out nothing."""
    return occurrence.quote is not None and bool(occurrence.quote.strip())


def _failed(occurrence: Occurrence, verdict: Verdict) -> Finding:
    return Finding(handle=occurrence.handle, verdict=verdict)
