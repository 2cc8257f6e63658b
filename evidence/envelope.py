"""What did each stage before assembly learn about one unit? (pure)

Facts of the source first, then the trace that retrieval left. Assembly wraps a candidate and never edits it: what
it decides (inclusion, support role, place in the rendered text) stands in the manifest.
"""

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


def owned_claims(claims: Iterable[Claim], *, text: str, start: int, end: int) -> tuple[Claim, ...]:
    """Those of a revision's claims that the unit `text[start:end]` owns, in the order given.

    A claim belongs to the unit that holds the first occurrence of its quote in the revision's `text`: later
    occurrences make no claim.
    """
    return tuple(claim for claim in claims if start <= (at := text.find(claim.quote)) and at + len(claim.quote) <= end)
