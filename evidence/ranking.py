"""What did retrieval hand over to assembly? (pure)"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.envelope import Candidate
from evidence.identity import UnitKey


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerDigests:
    """One digest for each layer of a replay that lies before assembly (R32). None where a layer had nothing to do."""

    policy: str
    corpus: str
    query: str | None = None
    eligibility: str | None = None
    candidates: str | None = None
    fusion: str | None = None
    rerank: str | None = None

    def record(self) -> dict[str, Json]:
        return {
            "policy": self.policy,
            "corpus": self.corpus,
            "query": self.query,
            "eligibility": self.eligibility,
            "candidates": self.candidates,
            "fusion": self.fusion,
            "rerank": self.rerank,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """The selection, and how it came about.

    selection: the units to assemble, in order: best first, or in identity order where nothing was ranked; none twice.
    unselected: the units that were ranked and not selected; capped: those that a cap left out. Both best first.
    degraded: what each channel that did not work as asked lacked, in a stated order (R15).
    parameters: formula and parameters of the ranking (R13); stats_scope: the set behind its statistics.
    """

    selection: tuple[Candidate, ...]
    unselected: tuple[UnitKey, ...]
    capped: tuple[UnitKey, ...] = ()
    degraded: tuple[str, ...]
    parameters: Mapping[str, Json]
    stats_scope: Json
    layers: LayerDigests

    def candidates(self) -> Iterator[UnitKey]:
        """Every unit that was ranked: the selected ones first, then those that a cap left out, then the others."""
        yield from (candidate.unit.key for candidate in self.selection)
        yield from self.capped
        yield from self.unselected
