"""Which passages does a reranker prefer in these worlds?"""

from collections.abc import Sequence
from fractions import Fraction

from models.reranker import Reading, RerankResult
from server.reranking import Mixed, RerankerSlot


class SharedWords:
    """Reranks by the words that a text shares with the query."""

    name, digest, device = "shared-words", "sha256:shared-words", "cpu"

    def read(self, query: str, texts: Sequence[str]) -> Reading:
        return self.score(query, texts)

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        words = set(query.lower().split())
        return RerankResult(
            scores=tuple(len(words & set(text.lower().split())) for text in texts),
            tokens_seen=tuple((len(text.split()), len(text.split())) for text in texts),
            query_tokens_seen=(len(words), len(words)),
        )


def reranker() -> RerankerSlot:
    """A slot of its own for each application."""
    return RerankerSlot(lambda: Mixed(reranker=SharedWords(), weight=Fraction(1, 5)))
