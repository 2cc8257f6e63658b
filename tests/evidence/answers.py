"""How does a test get a whole answer, and look into it as a client would?"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evidence.assembly import Assembled, assemble
from evidence.budget import TokenMeter
from evidence.eligibility import Eligibility
from evidence.envelope import Candidate
from evidence.query_class import EXPLANATORY
from evidence.request import PacketRequest
from evidence.revision import RevisionFacts
from tests.builders import candidate, claim, family, request, requires, retrieval, revision, snapshot

WIDE = replace(EXPLANATORY, evidence_tokens=10**6)  # so that only the limit under test can be broken
LIMIT = candidate(revision("A", claims={"max": "25"}), "at most 25 MB")
RULE = candidate(revision("B", family="policy"), "no executables")
BOTH = (requires("limit", claim("max")), requires("rule", family("policy")))


def answer(
    selection: Sequence[Candidate],
    asked_for: PacketRequest | None = None,
    *,
    beside: Sequence[RevisionFacts] = (),
    asked: Eligibility | None = None,
    meter: TokenMeter | None = None,
) -> Assembled:
    """The answer for a selection, in a catalog that also holds `beside`. The request names the tokenizer of `meter`."""
    return assemble(
        replace(asked_for or request(query_class=WIDE), tokenizer=None if meter is None else meter.name),
        snapshot=snapshot([*{found.facts.key: found.facts for found in selection}.values(), *beside], asked=asked),
        retrieval=retrieval(selection),
        meter=meter,
    )


def wire(assembled: Assembled) -> dict[str, Any]:
    """The answer as a client gets it: written as JSON and read again."""
    read: dict[str, Any] = json.loads(json.dumps(assembled.response()))
    return read


def size(assembled: Assembled, measure: str = "bytes") -> int:
    """What an accepted packet measures."""
    measured: int = wire(assembled)["rendered"][measure]
    return measured
