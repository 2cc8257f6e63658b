"""How does a world become a catalog on disk, fast enough for thousands of them?

By the product's own code from the first record to the published generation. Saved is only what no answer depends on:
an empty catalog is migrated once and copied, nothing is synced to the disk, statements are compiled once, and the dense
product of a few rows is not spread over threads.
"""

import functools
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from sqlalchemy import Engine

import index.catalog
from evidence.source_record import parse_source
from index import catalog_connection, records_connection
from index.analysis import analyzer_for
from index.catalog import Catalog
from index.catalog_connection import open_engine
from index.catalog_write import NewRevision
from index.recipe import Recipe
from index.records import Records
from index.reindex import reindex
from server.ingest import Chunker
from server.intake import TextEncoder
from server.keys import create_key
from server.source_place import Place
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.world import Record, World
from tests.worlds import RECIPE, arrive, cut

_UNSYNCED, _RECORDS_UNSYNCED = (
    tuple(pragma for pragma in module._PRAGMAS if "synchronous" not in pragma)
    for module in (catalog_connection, records_connection)
)


class _Compiled(dict[Any, Any]):
    """Compiled statements of every engine. Their first key is the engine's own dialect, and all of these are equal."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key[1:], default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key[1:], value)


_COMPILED = _Compiled()


def template(directory: Path, *, recipe: Recipe = RECIPE) -> Path:
    """An empty catalog in `directory`, to be copied."""
    Catalog.create(directory, recipe, prepare=create_key).close()
    Records.open(directory).close()
    return directory


@contextmanager
def unhurried() -> Iterator[None]:
    """No syncing, shared compiled statements, and no threads for products of a few rows, for as long as this lasts."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with (
        mock.patch.object(os, "fsync", return_value=None),
        mock.patch.object(index.catalog, "open_engine", _quick_engine),
        mock.patch.object(catalog_connection, "open_engine", _quick_engine),
        mock.patch.object(catalog_connection, "_PRAGMAS", (*_UNSYNCED, "PRAGMA synchronous = OFF")),
        mock.patch.object(records_connection, "_PRAGMAS", _RECORDS_UNSYNCED),
    ):
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def build(directory: Path, world: World, *, template: Path, encoder: TextEncoder | None = None) -> Path:
    """The catalog of a world in `directory`, indexed at once. Equal worlds have equal keys and answers.

    encoder: that of the template's recipe, where it is not the fast one.
    """
    shutil.copytree(template, directory)
    with Catalog.open(directory, quick_check=False) as catalog:
        new = _new if encoder is None else functools.partial(_new_by, encoder, catalog.recipe)
        catalog.add(map(new, world.records), relabel=False)
        publish(catalog, encoder=encoder)
        for revocation in world.revocations:
            catalog.revoke(revocation)
    return directory


def publish(catalog: Catalog, *, encoder: TextEncoder | None = None) -> None:
    """Reindex."""
    reindex(catalog, encoder=encoder or FastEncoder(), analyzer=analyzer_for(catalog.recipe), progress=lambda *_: None)


def take_in(catalog: Catalog, records: Iterable[Record], *, relabel: bool = False) -> None:
    """Records with their codes: to be searched at once, from the delta."""
    arrive(catalog, [dict(record) for record in records], relabel=relabel, encoder=FastEncoder())


def _new(record: Record) -> NewRevision:
    return _cut(json.dumps(record))


@functools.lru_cache(maxsize=4096)
def _cut(record: str) -> NewRevision:
    """A world, its visible part and its smaller forms share most records: each is cut once."""
    (new,) = cut([json.loads(record)])
    return new


def _new_by(encoder: TextEncoder, recipe: Recipe, record: Record) -> NewRevision:
    chunker = Chunker.of(recipe, encoder.counter, document_window=encoder.document_window)
    return chunker.cut(Place(file="world", line=1), parse_source(dict(record), default_label=None))


def _quick_engine(file: Path) -> Engine:
    return open_engine(file).execution_options(compiled_cache=_COMPILED)
