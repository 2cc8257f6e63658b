"""How do the documents of a request stand to its query?

By the server's own reranker, over what the request holds and nothing of the catalog. A document's score does not depend
on the other documents. What the reranker cannot read whole is refused, never cut.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from models.errors import ModelError
from models.reranker import Reading, Reranker
from server.errors import Invalid, Unavailable
from server.reranking import RerankerSlot

DOCUMENTS_A_STEP = 32  # between two steps nobody works for a client that has left
UNIT = 2**-20  # of a reranker's integer scores; exact in a double


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A document in its place: `index` in the request, from 0."""

    index: int
    relevance_score: float


class Reranking:
    """The reranking of one request: `check` it, `make` every step, then ask for `results`. All of it takes time, and
    `check` opens the reranker."""

    def __init__(self, slot: RerankerSlot, *, model: str, query: str, texts: Sequence[str]) -> None:
        self._slot = slot
        self._model = model
        self._query = query
        self._texts = texts
        self._scores: list[int] = []
        self.tokens = 0

    def check(self) -> None:
        """Raise Unavailable without a reranker, Invalid for another model and for what cannot be read whole; before
        anything is scored, which costs a hundred times as much."""
        reading = self._reranker().read(self._query, self._texts)
        _require_whole(reading)
        self.tokens = reading.query_tokens_seen[1] + sum(total for _, total in reading.tokens_seen)

    def steps(self) -> Iterator[range]:
        """The positions of the documents of each step."""
        many = len(self._texts)
        return (range(first, min(first + DOCUMENTS_A_STEP, many)) for first in range(0, many, DOCUMENTS_A_STEP))

    def make(self, step: range) -> None:
        """Score the documents at these positions. Raises Unavailable."""
        try:
            result = self._reranker().score(self._query, [self._texts[position] for position in step])
        except ModelError as error:
            raise Unavailable("the documents could not be reranked now") from error
        self._scores += result.scores

    def results(self, top_n: int | None) -> list[Result]:
        """The documents, best first; equal scores in the order given."""
        order = sorted(range(len(self._scores)), key=lambda index: (-self._scores[index], index))
        return [Result(index=index, relevance_score=self._scores[index] * UNIT) for index in order[:top_n]]

    def _reranker(self) -> Reranker:
        mixed = self._slot.get()
        if mixed is None:
            raise Unavailable("this server has no reranker, or it cannot be opened")
        if self._model != mixed.reranker.name:
            raise Invalid(f"no such reranker; allowed: {mixed.reranker.name}", path="$.model")
        return mixed.reranker


def _require_whole(reading: Reading) -> None:
    seen, total = reading.query_tokens_seen
    if seen < total:
        raise Invalid(f"has {total} tokens, the reranker reads {seen} of them", path="$.query")
    for position, (seen, total) in enumerate(reading.tokens_seen):
        if seen < total:
            raise Invalid(f"has {total} tokens, the reranker reads {seen} of them", path=f"$.documents[{position}]")
