"""How does a test get a whole catalog, its index and a pipeline over it?

With a deterministic encoder of our own: 64 numbers a text from its words alone, so that equal texts have equal codes
and a text that is the query lies closest to it. Everything else is the real thing.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from evidence.access import Principal
from evidence.identity import Namespace
from evidence.instant import Instant, parse_instant
from evidence.source_record import parse_source
from index.analysis import Analyzer
from index.catalog import Catalog
from index.catalog_write import NewRevision
from index.chunking import chunk
from index.intake import take_in
from index.recipe import Recipe
from index.reindex import reindex
from models.errors import ModelError
from server.keys import create_key
from server.opening import open_requests
from server.pipeline import Pipeline
from server.ranking import Stage
from server.reranking import RerankerSlot
from server.settings import Settings
from server.timing import Stopwatch

DIMENSION = 64
NOW = parse_instant("2026-06-01T00:00:00Z")


class WordCounter:
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


class WordEncoder:
    """Codes from the words of a text alone."""

    runtime = "words-1"
    model_digest = "sha256:words"
    document_window = 256

    def __init__(self) -> None:
        self.counter = WordCounter()

    def encode_query(self, text: str) -> npt.NDArray[np.int8]:
        total = np.ones(DIMENSION)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
            total += np.random.default_rng(seed).standard_normal(DIMENSION)
        code: npt.NDArray[np.int8] = np.clip(np.rint(total / np.linalg.norm(total) * 400), -127, 127).astype(np.int8)
        return code

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        return np.stack([self.encode_query(text) for text in texts]).reshape(-1, DIMENSION)

    def query_vector(self, text: str) -> npt.NDArray[np.float32]:
        vector: npt.NDArray[np.float32] = self.encode_query(text).astype(np.float32) / np.float32(127)
        return vector

    def document_vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.stack([self.query_vector(text) for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        return np.stack([self.encode_query(text) for text in texts])

    def queries_alone(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.stack([self.query_vector(text) for text in texts])

    def documents_alone(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.stack([self.document_vectors([text])[0] for text in texts])

    def truncated(self, query: str) -> tuple[int, int]:
        return self.counter.count(query), self.counter.count(query)


ANALYZER = Analyzer()

RECIPE = Recipe(
    encoder="words",
    model_digest=WordEncoder.model_digest,
    query_prompt="",
    document_prompt="",
    pooling="mean",
    normalize=True,
    scale="0.2",
    dimension=DIMENSION,
    window=256,
    runtime=WordEncoder.runtime,
    precision="int8",
    chunker="test",
    chunk_target=60,
    contextual=True,
    analyzer=ANALYZER.name,
    language="english",
    stop_words=False,
    bm25="lucene",
    k1="1.2",
    b="0.75",
)


def record(source_id: str, text: str, *, tenant: str | None = None, revision: str = "1", **more: Any) -> dict[str, Any]:
    """A source record, public unless a tenant is given; `access` adds restrictions."""
    access = {**({"public": True} if tenant is None else {"tenant": tenant}), **more.pop("access", {})}
    return {"source_id": source_id, "revision": revision, "text": text, "access": access, **more}


def principal(tenant: str | None, *, sub: str = "ann", **more: Any) -> Principal:
    """A principal; lists are given sorted."""
    return Principal(sub=sub, tenant=None if tenant is None else Namespace(tenant), **more)


def build(directory: Path, records: Sequence[dict[str, Any]]) -> None:
    """A catalog of `records` in `directory`, indexed."""
    encoder = WordEncoder()
    with Catalog.create(directory, RECIPE, prepare=create_key) as catalog:
        extend(catalog, records)
        reindex(catalog, encoder=encoder, analyzer=ANALYZER, progress=lambda _: None)


def extend(catalog: Catalog, records: Sequence[dict[str, Any]], *, relabel: bool = False) -> None:
    """Take records in, without codes: they wait for a reindex."""
    catalog.add(cut(records), relabel=relabel)


def arrive(catalog: Catalog, records: Sequence[dict[str, Any]], *, relabel: bool = False, encoder: Any = None) -> None:
    """Take records in together with their codes: they can be searched at once."""
    encode = (encoder or WordEncoder()).encode_documents
    take_in(catalog, cut(records), relabel=relabel, encode=encode, progress=lambda *_: None)


def cut(records: Sequence[dict[str, Any]]) -> list[NewRevision]:
    """Records with their units."""
    counter = WordCounter()
    revisions = []
    for one in records:
        source = parse_source(one, default_label=None)
        units = chunk(
            source.facts.key,
            title=source.facts.title,
            text=source.text,
            quotes=source.quotes,
            counter=counter,
            window=RECIPE.window,
            target=RECIPE.chunk_target,
        )
        revisions.append(NewRevision(facts=source.facts, text=source.text, units=units))
    return revisions


@contextmanager
def opened(directory: Path, *, now: Instant = NOW, **settings: Any) -> Iterator[Pipeline]:
    """A pipeline over a catalog that `build` made, at a fixed moment."""
    with Catalog.open(directory) as catalog:
        yield pipeline_over(catalog, now=now, **settings)


def pipeline_over(
    catalog: Catalog,
    *,
    now: Instant = NOW,
    encoder: Any = None,
    reranker: RerankerSlot | None = None,
    reached: Callable[[Stage], None] = lambda _: None,
    stopwatch: Callable[[], Stopwatch] = Stopwatch,
    **settings: Any,
) -> Pipeline:
    """A pipeline over an open catalog. `reached` hears of each stage of each attempt."""
    chosen = Settings(**settings)
    return Pipeline(
        catalog,
        settings=chosen,
        device=torch.device("cpu"),
        encoder=encoder or WordEncoder(),
        encoder_trouble=None,
        analyzer=ANALYZER,
        reranker=reranker or RerankerSlot(_no_reranker),
        requests=open_requests(chosen),
        clock=lambda: now,
        reached=reached,
        stopwatch=stopwatch,
    )


def _no_reranker() -> Any:
    raise ModelError("no reranker in this world")


def without_run(answer: Any) -> dict[str, Any]:
    """An answer less its `run` block, the one part that may differ between equal requests (R6)."""
    return {name: value for name, value in answer.items() if name != "run"}
