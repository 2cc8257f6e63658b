"""How do the texts of a catalog become a published generation, without encoding any of them twice?

Encoding is always resumed: codes are kept in small batches as they are made, so that a run that was killed loses at
most the batch that each of its workers was in. Publishing is all or nothing (`index/publishing.py`). One run at a
time for a catalog.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from index.analysis import Analyzer
from index.catalog import Catalog
from index.catalog_coded import mark_published
from index.catalog_codes import (
    Layout,
    codes_in,
    distinct_texts,
    drop_unused_codes,
    inputs,
    keep_codes,
    lay_out,
    missing,
    texts_in,
)
from index.catalog_read import Holdings, Reading
from index.errors import RecipeMismatch
from index.generation_format import RevisionRun
from index.postings import build_postings
from index.publishing import Contents, PublisherLock, publish, publisher_lock
from index.recipe import Recipe

BATCH_TEXTS = 64  # texts encoded and kept in one transaction: what a killed run repeats at most
TEXTS_REMEMBERED = 4096  # analyzed texts kept, since neighbouring revisions repeat most of each other
TEXTS_A_TICK = 1000  # analyzed texts between two reports of progress


class Encoder(Protocol):
    """What makes codes of texts. Implemented in models/; a code is the one that its text gets alone (R10)."""

    @property
    def runtime(self) -> str:
        """Name and version of what computes, as a recipe states it."""

    @property
    def model_digest(self) -> str:
        """Of the weights, as a recipe states it."""

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        """(len(texts), dimension) int8, in the order given. Puts the document prompt in front."""


class Stage(StrEnum):
    """What a reindex is busy with."""

    ENCODE = "encode"
    ANALYZE = "analyze"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`done` of `total` texts of this stage; for encoding, `tokens_done` of `tokens_total` encoder tokens too."""

    stage: Stage
    done: int
    total: int
    tokens_done: int = 0
    tokens_total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """What a run did. `units` are the rows published; they have `encoded + reused` different texts."""

    generation: str
    units: int
    encoded: int  # different texts encoded in this run
    reused: int  # different texts whose codes were there already
    dropped: int  # codes of texts that no unit has any longer
    tokens: int  # encoder tokens of what was encoded
    encode_seconds: float
    seconds: float


def reindex(
    catalog: Catalog,
    *,
    encoder: Encoder,
    analyzer: Analyzer,
    progress: Callable[[Progress], None],
    batch_texts: int = BATCH_TEXTS,
    workers: int = 1,
) -> ReindexReport:
    """Encode what has no code yet, shortest first, and publish a generation of everything the catalog holds.

    What comes into the catalog meanwhile is taken along. Every run resumes what an earlier one left; with nothing to
    do it publishes the same generation again, which changes nothing. `workers` threads encode, each a batch at a time:
    what they gain is that reading, tokenizing and writing overlap with encoding. Memory: a batch of texts a worker,
    and the postings.
    Raises RecipeMismatch before anything is written, PublisherBusy, PublishFailed, DamagedCatalog.
    """
    began = time.monotonic()
    _check_recipe(catalog.recipe, encoder, analyzer)
    tally = _Tally()
    with publisher_lock(catalog.directory) as lock:
        with catalog.write() as connection:
            dropped = drop_unused_codes(connection)
        generation = None
        while generation is None:
            encoding = time.monotonic()
            _encode_missing(catalog, encoder, tally, progress, batch_texts=batch_texts, workers=workers)
            tally.encode_seconds += time.monotonic() - encoding
            with catalog.read() as reading:
                if not len(missing(reading.connection).units):  # else: new texts came in while others were encoded
                    layout = lay_out(reading.connection, reading.holdings)
                    texts = distinct_texts(reading.connection)
                    generation = _publish(reading, layout, catalog.recipe, analyzer, progress, lock=lock)
                    published = reading.change
        with catalog.write() as connection:
            mark_published(connection, change=published)
    return ReindexReport(
        generation=generation,
        units=len(layout.units),
        encoded=tally.encoded,
        reused=texts - tally.encoded,
        dropped=dropped,
        tokens=tally.tokens,
        encode_seconds=tally.encode_seconds,
        seconds=time.monotonic() - began,
    )


@dataclass(slots=True, kw_only=True)
class _Tally:
    encoded: int = 0
    tokens: int = 0
    encode_seconds: float = 0.0


def _check_recipe(recipe: Recipe, encoder: Encoder, analyzer: Analyzer) -> None:
    for part, expected, got in (
        ("runtime", recipe.runtime, encoder.runtime),
        ("model", recipe.model_digest, encoder.model_digest),
        ("analyzer", recipe.analyzer, analyzer.name),
    ):
        if expected != got:
            raise RecipeMismatch(part=part, expected=expected, got=got)


def _encode_missing(
    catalog: Catalog,
    encoder: Encoder,
    tally: _Tally,
    progress: Callable[[Progress], None],
    *,
    batch_texts: int,
    workers: int,
) -> None:
    with catalog.read() as reading:
        todo = missing(reading.connection)
    total, tokens_total = len(todo.units), int(todo.tokens.sum())
    writing = threading.Lock()  # SQLite takes one writer at a time; waiting here is cheaper than its busy timeout

    def encode_batch(first: int) -> tuple[int, int]:
        with catalog.read() as reading:
            batch = inputs(reading.connection, todo.units[first : first + batch_texts])
        codes = _encode(encoder, [text.text for text in batch], dimension=catalog.recipe.dimension)
        with writing, catalog.write() as connection:
            keep_codes(connection, batch, codes)
        return len(batch), int(todo.tokens[first : first + batch_texts].sum())

    done = tokens_done = 0
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            for texts, tokens in pool.map(encode_batch, range(0, total, batch_texts)):
                done, tokens_done = done + texts, tokens_done + tokens
                tally.encoded, tally.tokens = tally.encoded + texts, tally.tokens + tokens
                progress(
                    Progress(
                        stage=Stage.ENCODE,
                        done=done,
                        total=total,
                        tokens_done=tokens_done,
                        tokens_total=tokens_total,
                    )
                )
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)  # batches under way are kept, no other is begun
            raise


def _encode(encoder: Encoder, texts: Sequence[str], *, dimension: int) -> npt.NDArray[np.int8]:
    codes = encoder.encode_documents(texts) if texts else np.empty((0, dimension), dtype=np.int8)
    if codes.shape != (len(texts), dimension) or codes.dtype != np.int8:
        raise RecipeMismatch(
            part="codes of", expected=f"int8 {(len(texts), dimension)}", got=f"{codes.dtype} {codes.shape}"
        )
    return codes


def _publish(
    reading: Reading,
    layout: Layout,
    recipe: Recipe,
    analyzer: Analyzer,
    progress: Callable[[Progress], None],
    *,
    lock: PublisherLock,
) -> str:
    total = len(layout.units)
    terms = lru_cache(TEXTS_REMEMBERED)(analyzer.terms)
    texts = texts_in(reading.connection, layout)
    postings, lengths = build_postings(
        terms(text) for text in _ticked(texts, total, lambda done: progress(_analyzed(done, total)))
    )
    progress(Progress(stage=Stage.PUBLISH, done=0, total=total))
    name = publish(
        Contents(
            recipe=recipe,
            runs=_runs(layout, reading.holdings),
            codes=codes_in(reading.connection, layout, dimension=recipe.dimension),
            postings=postings,
            lengths=lengths,
        ),
        lock=lock,
    )
    progress(Progress(stage=Stage.PUBLISH, done=total, total=total))
    return name


def _runs(layout: Layout, holdings: Holdings) -> list[RevisionRun]:
    starts = layout.starts.tolist()
    return [
        RevisionRun(
            key=key,
            facts_digest=holdings.content_digests[key],
            label_digest=holdings.label_digests[holdings.facts[key].label],
            start=starts[place],
            end=starts[place + 1],
        )
        for place, key in enumerate(layout.keys)
    ]


def _analyzed(done: int, total: int) -> Progress:
    return Progress(stage=Stage.ANALYZE, done=done, total=total)


def _ticked(texts: Iterable[str], total: int, tick: Callable[[int], None]) -> Iterator[str]:
    """The same texts; `tick` hears how many were taken, now and then and at the end."""
    for done, text in enumerate(texts, start=1):
        yield text
        if done % TEXTS_A_TICK == 0 or done == total:
            tick(done)
