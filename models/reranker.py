"""What does a reranker promise?

It scores the texts of one request against one query. A text's score does not depend on the other texts, a long text
is read in windows, and what is not read is reported (R14). Scores are integers, comparable within one request and
one reranker only; parity is claimed per recipe and device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

MOST_WINDOWS = 8  # per text: bounds the work of one request; units fit into one, texts of callers may not


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How much is read of texts, in the order given, and of the query.

    `tokens_seen`: (seen, total) tokens of each text, special ones not counted; `query_tokens_seen`: of the query.
    """

    tokens_seen: tuple[tuple[int, int], ...]
    query_tokens_seen: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankResult(Reading):
    """Scores of texts in the order given, in units of 2^-20, and how much was read."""

    scores: tuple[int, ...]


class Reranker(Protocol):
    """Late interaction, or a cross-encoder. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """The method and the model, as the manifest states them."""

    @property
    def digest(self) -> str:
        """The digest of everything that decides the scores: method, model, runtime."""

    @property
    def device(self) -> str:
        """`cpu` or `cuda`."""

    def read(self, query: str, texts: Sequence[str]) -> Reading:
        """How much `score` would read of them. Costs tokenizing alone."""

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        """Score each text against the query. Raises InvalidOutput when a score cannot be ranked."""
