"""What did each stage before assembly learn about one unit? (pure)

Facts of the source first, then the trace that retrieval left. Assembly wraps a candidate and never edits it: what
it decides (inclusion, support role, place in the rendered text) stands in the manifest.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evidence.canonical import Json
from evidence.identity import RevisionKey
from evidence.revision import Claim, RevisionFacts
from evidence.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTokens:
    """How many of a unit's tokens a model read (R14). Fewer than `total` means that it did not see the whole unit."""

    seen: int
    total: int

    def record(self) -> dict[str, Json]:
        return {"seen": self.seen, "total": self.total}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalTrace:
    """How a unit came to be a candidate. All integers, each in its channel's own unit; no two can be compared.

    ranks: channel -> rank from 1; a channel that missed the unit is absent.
    scores: channel -> score; `lexical` in units of 2^-32, `dense` the plain product of the codes.
    fused: numerator over 2^32, None where nothing was fused.
    rerank_position: place from 1 after reranking; rerank_score: in units of 2^-20. Both None where nothing was.
    encoder_tokens, reranker_tokens: what the models read of the unit; None where they did not read it.
    """

    ranks: Mapping[str, int]
    scores: Mapping[str, int]
    fused: int | None = None
    rerank_position: int | None = None
    rerank_score: int | None = None
    encoder_tokens: SeenTokens | None = None
    reranker_tokens: SeenTokens | None = None

    def record(self) -> dict[str, Json]:
        return {
            "ranks": dict(self.ranks),
            "scores": dict(self.scores),
            "fused": self.fused,
            "rerank": {"position": self.rerank_position, "score": self.rerank_score},
            "encoder_tokens": None if self.encoder_tokens is None else self.encoder_tokens.record(),
            "reranker_tokens": None if self.reranker_tokens is None else self.reranker_tokens.record(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A unit offered to assembly: its revision's facts, the claims that it owns itself, and its trace."""

    unit: Unit
    facts: RevisionFacts
    claims: tuple[Claim, ...]
    trace: RetrievalTrace


UnitsOf: TypeAlias = Callable[[RevisionKey], Sequence[Candidate]]
"""All units of a usable revision, in text order, with the trace of those that were ranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedClaims:
    """The claims of one revision whose quotes its text holds, with the first occurrence of each: `[start, end)` in code
    points. `claims`, `starts`, `ends` and `ordinals` run together, by start; `ordinals` are the places as declared."""

    claims: Sequence[Claim]
    starts: Sequence[int]
    ends: Sequence[int]
    ordinals: Sequence[int]

    def owned_by(self, start: int, end: int) -> tuple[Claim, ...]:
        """The claims that the unit `text[start:end]` owns, in the order in which they were declared.

        A claim belongs to the unit that holds the first occurrence of its quote in the text: later occurrences make no
        claim. Costs what begins in the unit, not what the revision declares.
        """
        begun = range(bisect_left(self.starts, start), bisect_left(self.starts, end))
        held = sorted((place for place in begun if self.ends[place] <= end), key=lambda place: self.ordinals[place])
        return tuple(self.claims[place] for place in held)


def locate_claims(claims: Iterable[Claim], *, text: str) -> LocatedClaims:
    """Where a revision's claims stand in its `text`: searches once for each quote. Make it once for a revision."""
    declared = tuple(claims)
    firsts = {quote: text.find(quote) for quote in {claim.quote for claim in declared}}
    located = sorted(
        (firsts[claim.quote], ordinal) for ordinal, claim in enumerate(declared) if firsts[claim.quote] >= 0
    )
    return LocatedClaims(
        claims=[declared[ordinal] for _, ordinal in located],
        starts=[start for start, _ in located],
        ends=[start + len(declared[ordinal].quote) for start, ordinal in located],
        ordinals=[ordinal for _, ordinal in located],
    )
