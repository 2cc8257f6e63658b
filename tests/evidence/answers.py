"""How does a test get a whole answer, and look into it as a client would?"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from evidence.assembly import Assembled, assemble
from evidence.budget import TokenMeter
from evidence.eligibility import Eligibility
from evidence.envelope import Candidate
from evidence.identity import RevisionKey
from evidence.means import Means
from evidence.request import PacketRequest
from evidence.revision import RevisionFacts
from evidence.snapshot import Snapshot
from tests.builders import (
    candidate,
    claim,
    family,
    means,
    request,
    requires,
    retrieval,
    revision,
    snapshot,
    with_evidence_tokens,
)

WIDE = with_evidence_tokens(10**6)  # so that only the limit under test can be broken
LIMIT = candidate(revision("A", claims={"max": "25"}), "at most 25 MB")
RULE = candidate(revision("B", family="policy"), "no executables")
BOTH = (requires("limit", claim("max")), requires("rule", family("policy")))


def answer(
    selection: Sequence[Candidate],
    asked_for: PacketRequest | None = None,
    *,
    others: Sequence[Candidate] = (),
    beside: Sequence[RevisionFacts] = (),
    asked: Eligibility | None = None,
    meter: TokenMeter | None = None,
    by: Means | None = None,
) -> Assembled:
    """The answer for a selection, in a catalog that also holds the units of `others`, and the revisions of `beside`
    without any unit that could be read. The request names the tokenizer of `meter`; `by` is for other means."""
    chosen = by or means(meter=meter)
    return assemble(
        replace(asked_for or request(query_class=WIDE), tokenizer=None if chosen.meter is None else chosen.meter.name),
        snapshot=holding([*selection, *others], beside=beside, asked=asked),
        retrieval=retrieval(selection),
        means=chosen,
        units_of=units_of([*selection, *others]),
    )


def holding(
    candidates: Iterable[Candidate], *, beside: Iterable[RevisionFacts] = (), asked: Eligibility | None = None
) -> Snapshot:
    """What the caller sees of a catalog that holds these units, and revisions of one unit each beside them."""
    facts: dict[RevisionKey, RevisionFacts] = {}
    units: dict[RevisionKey, set[int]] = {}
    for found in candidates:
        facts[found.facts.key] = found.facts
        units.setdefault(found.facts.key, set()).add(found.unit.key.ordinal)
    counts = {key: max(ordinals) + 1 for key, ordinals in units.items()}
    return snapshot([*facts.values(), *beside], asked=asked, units=counts)


def units_of(candidates: Iterable[Candidate]) -> Callable[[RevisionKey], Sequence[Candidate]]:
    """The units of each revision, of those that a test made, in text order."""
    everything = sorted(candidates, key=lambda found: found.unit.key)
    return lambda key: [found for found in everything if found.facts.key == key]


def wire(assembled: Assembled) -> dict[str, Any]:
    """The answer as a client gets it: written as JSON and read again."""
    read: dict[str, Any] = json.loads(json.dumps(assembled.response()))
    return read


def size(assembled: Assembled, measure: str = "bytes") -> int:
    """What an accepted packet measures."""
    measured: int = wire(assembled)["rendered"][measure]
    return measured
