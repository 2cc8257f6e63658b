"""How do the channels read a query, and what must be said when one of them cannot?

A channel that is off, missing or broken is named in words that are hashed with the answer (R10, R14, R15).
"""

import threading
from typing import Protocol

import structlog

from evidence.identity import Namespace
from index.analysis import Analyzer
from index.recent import Recent
from index.recipe import Recipe
from models.errors import ModelError
from server.errors import Invalid
from server.retrieval import Codes, Query
from server.schemas import Channel

Asker = tuple[Namespace, str]
"""The namespace and the subject of a caller."""
CODES_KEPT = 512  # codes of recent queries: what a code is depends on the text alone, so nothing in here can be stale


class QueryEncoder(Protocol):
    """What makes codes of queries: an encoder of `models/`, or a test's own."""

    @property
    def runtime(self) -> str:
        """What computes, as a recipe states it."""

    def encode_query(self, text: str) -> Codes:
        """(dimension,) int8. Raises ModelError."""

    def truncated(self, query: str) -> tuple[int, int]:
        """(seen, total) tokens of a query."""


class QueryReader:
    """Reads queries for one catalog. Shared by the threads of a process.

    encoder: None where the dense channel cannot be had; `encoder_trouble` says why, in words for the caller.
    lexical: False where the channel is switched off.
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        encoder: QueryEncoder | None,
        encoder_trouble: str | None,
        analyzer: Analyzer,
        lexical: bool,
        max_terms: int,
    ) -> None:
        self._recipe = recipe
        self._encoder = encoder
        self._encoder_trouble = encoder_trouble
        self._analyzer = analyzer
        self._lexical = lexical
        self._max_terms = max_terms
        self._encoding = threading.Lock()  # one text at a time uses every core already
        self._codes: Recent[tuple[Asker, str], Codes] = Recent(CODES_KEPT)
        self._log = structlog.get_logger("muniment.queries")

    def read(self, text: str, channel: Channel, *, asker: Asker, code: Codes | None = None) -> Query:
        """The query for the channels that `channel` wants. Raises Invalid for one with too many terms.

        asker: codes are kept for each caller apart (R35). code: one that an earlier run kept, taken in place of a new
        one (R10).
        """
        notes: list[str] = []
        terms = self._terms(text, notes) if channel is not Channel.DENSE else None
        seen = total = 0
        if channel is Channel.LEXICAL:
            code = None
        else:
            code, seen, total = self._code(text, notes, asker=asker, kept=code)
        return Query(text=text, terms=terms, code=code, tokens_seen=seen, tokens_total=total, notes=tuple(notes))

    def _terms(self, text: str, notes: list[str]) -> tuple[str, ...] | None:
        if not self._lexical:
            notes.append("lexical: switched off")
            return None
        terms = tuple(self._analyzer.terms(text))
        if len(terms) > self._max_terms:
            raise Invalid(f"has {len(terms)} terms, at most {self._max_terms} are allowed", path="$.query")
        if self._analyzer.name != self._recipe.analyzer:
            notes.append(f"lexical: query analyzed by {self._analyzer.name}, units by {self._recipe.analyzer}")
        return terms

    def _code(self, text: str, notes: list[str], *, asker: Asker, kept: Codes | None) -> tuple[Codes | None, int, int]:
        """The code, and how many of how many tokens the encoder saw."""
        encoder = self._encoder
        if encoder is None:
            notes.append(f"dense: {self._encoder_trouble}")
            return None, 0, 0
        try:
            code = (
                kept
                if kept is not None
                else self._codes.get_or_make((asker, text), lambda: self._encode(encoder, text))
            )
        except ModelError as error:
            self._log.error("a query could not be encoded", reason=type(error).__name__)
            notes.append("dense: the query could not be encoded")
            return None, 0, 0
        seen, total = encoder.truncated(text)
        if seen < total:
            notes.append(f"dense: the encoder read {seen} of the query's {total} tokens")
        if encoder.runtime != self._recipe.runtime:
            notes.append(f"dense: query encoded on {encoder.runtime}, units on {self._recipe.runtime}")
        return code, seen, total

    def _encode(self, encoder: QueryEncoder, text: str) -> Codes:
        with self._encoding:
            code = encoder.encode_query(text)
        code.setflags(write=False)  # handed to every request that asks the same
        return code
