"""Which speeds does the project set itself, and against whom? (pure)

A goal is stated before it is measured; `muniment bench` prints it beside what it found, met or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What to reach. At most one of both is given.

    ratio_at_least: how many times as long the peer takes. us_at_most: microseconds a call of ours takes.
    """

    name: str
    work: str
    peer: str
    ratio_at_least: float | None = None
    us_at_most: float | None = None

    def __str__(self) -> str:
        if self.ratio_at_least is not None:
            return f"at least x{self.ratio_at_least:g}"
        return f"at most {self.us_at_most:g} µs"


def _ratio(name: str, work: str, peer: str, least: float) -> Goal:
    return Goal(name=name, work=work, peer=peer, ratio_at_least=least)


_ALL = (
    _ratio("C1", "encode texts of 10 to 500 tokens", "sentence-transformers as shipped", 1.5),
    _ratio("C1i", "the same in calibrated int8", "sentence-transformers as shipped", 2.5),
    _ratio("C1q", "encode one query", "sentence-transformers as shipped", 2.0),
    _ratio("C2", "rerank pairs of mixed lengths", "CrossEncoder as shipped", 1.5),
    _ratio("C3a", "exact top 100 of what is visible, 64 queries", "faiss flat with a bitmap, best tuned", 8.0),
    _ratio("C3a all", "the same, everything visible", "faiss flat, best tuned", 4.0),
    _ratio("C3b", "the same, one query", "faiss flat with a bitmap, best tuned", 3.0),
    _ratio("C3c", "64 queries of 64 tenants in one call", "64 calls of faiss", 20.0),
    _ratio("C4a", "BM25 top 100, everything visible", "rank-bm25", 250.0),
    _ratio("C4b 200k", "BM25 top 100 of 200,000, everything visible", "bm25s on numba", 1.0),
    _ratio("C4b 1M", "BM25 top 100 of 1,000,000, everything visible", "bm25s on numba", 2.0),
    _ratio("C4c 1%", "BM25 top 100, 1% visible", "bm25s with weight_mask", 30.0),
    _ratio("C4c 10%", "BM25 top 100, 10% visible", "bm25s with weight_mask", 5.0),
    _ratio("C5a", "count tokens", "tiktoken", 2.5),
    _ratio("C5b", "pack 8,000 tokens of 200 candidates", "counting again at each append", 50.0),
    Goal(name="C6", work="HTTP around a stub engine", peer="FastAPI as shipped", us_at_most=100.0),
    _ratio("C7", "the whole path, a million units, 1% visible", "four libraries glued", 10.0),
    _ratio("C8", "64 clients at once", "the same without batching", 2.5),
)
GOALS: Mapping[str, Goal] = {goal.name: goal for goal in _ALL}
"""By name. Goals that are no rate (ids that must not come back, memory, growth) are told by their own suites."""
