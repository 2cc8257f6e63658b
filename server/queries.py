"""How do the channels read a query, and what must be said when one of them cannot?

A channel that is off, missing or broken is named in words that are hashed with the answer (R10, R14, R15).
"""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Protocol

import numpy as np
import structlog

from evidence.identity import Namespace
from index.analysis import Analyzer
from index.gathering import Gathering
from index.recent import Recent
from index.recipe import Recipe
from models.errors import ModelError
from server.errors import Invalid
from server.retrieval import Codes, Query
from server.schemas import Channel

Asker = tuple[Namespace, str]
"""The namespace and the subject of a caller."""
CODES_KEPT = 512  # codes of recent queries: what a code is depends on the text alone, so nothing in here can be stale
MOST_GATHERED = 16  # callers whose queries are encoded in one go


class QueryEncoder(Protocol):
    """What makes codes of queries: an encoder of `models/`, or a test's own."""

    @property
    def runtime(self) -> str:
        """What computes, as a recipe states it."""

    def encode_queries(self, texts: Sequence[str]) -> Codes:
        """(len(texts), dimension) int8, each the code of its text alone. Raises ModelError when one has none."""

    def truncated(self, query: str) -> tuple[int, int]:
        """(seen, total) tokens of a query."""


class QueryReader:
    """Reads queries for one catalog. Shared by the threads of a process.

    encoder: None where the dense channel cannot be had; `encoder_trouble` says why, in words for the caller.
    lexical: False where the channel is switched off. gathers: whether queries that wait at the same time are encoded in
    one go; otherwise one goes after the other, in the order they came.
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
        gathers: bool,
    ) -> None:
        self._recipe = recipe
        self._encoder = encoder
        self._encoder_trouble = encoder_trouble
        self._analyzer = analyzer
        self._lexical = lexical
        self._max_terms = max_terms
        self._gathering = None if encoder is None else _gathering(encoder, most=MOST_GATHERED if gathers else 1)
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

    def warm_up(self, text: str) -> None:
        """Encode in company once: what that needs is opened at first use."""
        if self._gathering is not None:
            with suppress(ModelError):
                self._gathering.ask([text, text])

    def read_ahead(self, texts: Sequence[str], *, asker: Asker) -> None:
        """Make the codes of queries that this caller's reads are about to want. One that cannot be encoded is left to
        its read."""
        if self._gathering is None:
            return
        wanted = [text for text in dict.fromkeys(texts) if self._codes.get((asker, text)) is None]
        with suppress(ModelError):
            for text, code in zip(wanted, self._gathering.ask(wanted) if wanted else [], strict=True):
                self._codes.put((asker, text), code)

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
        encoder, gathering = self._encoder, self._gathering
        if encoder is None or gathering is None:
            notes.append(f"dense: {self._encoder_trouble}")
            return None, 0, 0
        try:
            code = (
                kept if kept is not None else self._codes.get_or_make((asker, text), lambda: gathering.ask([text])[0])
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


def _gathering(encoder: QueryEncoder, *, most: int) -> Gathering[Sequence[str], Sequence[Codes]]:
    """Encodes what callers ask for, each some texts."""

    def encode(asked: Sequence[Sequence[str]]) -> list[Sequence[Codes]]:
        codes = [np.array(code) for code in encoder.encode_queries(list(chain(*asked)))]
        for code in codes:
            code.setflags(write=False)  # handed to every request of this caller that asks the same
        left = iter(codes)
        return [list(islice(left, len(texts))) for texts in asked]

    return Gathering(encode, most=most)
