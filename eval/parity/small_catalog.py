"""Which catalog can whole answers be compared over, on any machine?

Three namespaces with labels, conflicts, duplicates and revisions; a part of it published, a part that came later. Its
encoder is a hash of words, so that codes are the same everywhere and only what is done with them can differ.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evidence.access import Principal
from evidence.identity import PUBLIC, Namespace
from index.analysis import Analyzer
from index.catalog import Catalog
from index.recipe import Recipe
from index.reindex import reindex
from server.intake import Intake

Codes = npt.NDArray[np.int8]
Vector = npt.NDArray[np.float32]

DIMENSION = 64
ANALYZER = Analyzer()
RED, BLUE = Namespace("red"), Namespace("blue")
PRINCIPALS = (
    Principal(sub="ann", tenant=RED, roles=("engineer",), purposes=("audit",)),
    Principal(sub="bob", tenant=BLUE),
    Principal(sub="eve", tenant=None),
)
QUERIES = ("upload limit of the gateway", "how long are records kept", "latch", "nothing of the kind 42")

_SUBJECTS = ("gateway", "archive", "door latch", "invoice", "sensor", "backup")
_FACTS = ("the upload limit is {n} MB", "records are kept for {n} days", "the latch opens after {n} seconds")
_WINDOW = 64


class _Words:
    """Counts words as tokens."""

    special_tokens = 2

    def count(self, text: str) -> int:
        return len(text.split())

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        spans, end = [], 0
        for word in text.split():
            start = text.index(word, end)
            end = start + len(word)
            spans.append((start, end))
        return spans


class HashEncoder:
    """Codes from the words of a text alone."""

    runtime = "hashed-words-1"
    model_digest = "sha256:hashed-words"
    document_window = _WINDOW
    counter = _Words()

    def encode_query(self, text: str) -> Codes:
        total = np.zeros(DIMENSION, dtype=np.int64)
        for word in text.lower().split():
            drawn = hashlib.shake_128(word.encode()).digest(DIMENSION)
            total += np.frombuffer(drawn, dtype=np.int8) // 8
        return np.clip(total + 1, -127, 127).astype(np.int8)

    def encode_documents(self, texts: Sequence[str]) -> Codes:
        return np.stack([self.encode_query(text) for text in texts]).reshape(-1, DIMENSION)

    def query_vector(self, text: str) -> Vector:
        return self.encode_query(text).astype(np.float32) / np.float32(127)

    def document_vectors(self, texts: Sequence[str]) -> Vector:
        return np.stack([self.query_vector(text) for text in texts]).reshape(-1, DIMENSION)

    def encode_queries(self, texts: Sequence[str]) -> Codes:
        return self.encode_documents(texts)

    def queries_alone(self, texts: Sequence[str]) -> Vector:
        return self.document_vectors(texts)

    def documents_alone(self, texts: Sequence[str]) -> Vector:
        return self.document_vectors(texts)

    def truncated(self, query: str) -> tuple[int, int]:
        return self.counter.count(query), self.counter.count(query)


@contextmanager
def small_catalog(directory: Path) -> Iterator[Catalog]:
    """The catalog, made in `directory`, open."""
    encoder = HashEncoder()
    with Catalog.create(directory, _recipe()) as catalog:
        intake = Intake(catalog, encoder=encoder)
        for part in (0, 1):
            for namespace in (PUBLIC, RED, BLUE):
                lines = [json.dumps(record) for record in _records(namespace)[part::2]]
                intake.take("\n".join(lines).encode(), namespace=namespace, allow=lambda _: None)
            if part == 0:
                reindex(catalog, encoder=encoder, analyzer=ANALYZER, progress=lambda _: None)
        yield catalog


def _records(namespace: Namespace) -> list[dict[str, Any]]:
    """Sources of a namespace: some repeat the text of others, some contradict one, some lie under a label."""
    own: dict[str, Any] = {"public": True} if namespace == PUBLIC else {"tenant": str(namespace)}
    records = []
    for place, subject in enumerate(_SUBJECTS):
        for number, fact in enumerate(_FACTS):
            value = 5 + (place * number) % 4
            sentence = f"For the {subject} {fact.format(n=value)}."
            access = {**own, "roles": ["engineer"]} if place == 4 and namespace != PUBLIC else own
            records.append(
                {
                    "source_id": f"{subject}-{number}",
                    "revision": "1",
                    "title": subject,
                    "family": f"family-{number}",
                    "owner": f"owner of {subject}",
                    "text": f"# {subject}\n\n{sentence}\n\n## Notes\n\n" + f"{sentence} It was checked twice. " * 6,
                    "access": access,
                    "claims": [{"key": f"fact-{number}", "value": str(value), "quote": sentence}],
                }
            )
    return records


def _recipe() -> Recipe:
    return Recipe(
        encoder="hashed words",
        model_digest=HashEncoder.model_digest,
        query_prompt="",
        document_prompt="",
        pooling="mean",
        normalize=True,
        scale="0.2",
        dimension=DIMENSION,
        window=_WINDOW,
        runtime=HashEncoder.runtime,
        precision="int8",
        chunker="parity",
        chunk_target=24,
        contextual=True,
        analyzer=ANALYZER.name,
        bm25="lucene",
        k1="1.2",
        b="0.75",
        language="english",
        stop_words=False,
    )
