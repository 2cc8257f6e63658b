"""Can this catalog be served here as it was made, and is its index up to date?"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch

from evidence.counted import counted
from evidence.identity import RevisionKey
from index.analysis import analyzer_for
from index.catalog import Catalog
from index.catalog_read import Holdings
from index.errors import IndexFault, NoGeneration
from index.generation import open_current
from index.recipe import Recipe
from models.folder import open_folder
from models.registry import find_encoder
from models.runtime import runtime_names
from muniment.findings import Check, Finding, fail, ok, warn
from muniment.health_of_machine import disk_space
from server.errors import StartError
from server.keys import KEY_FILE, load_key
from server.settings import Settings


def catalog_checks(directory: Path, settings: Settings | StartError) -> Iterator[Check]:
    """What to look at, in order; less when the catalog does not open, or the settings cannot be read."""
    yield "catalog disk", partial(disk_space, directory)
    yield "signing key", partial(_key, directory)
    try:
        catalog = Catalog.open(directory)
    except (IndexFault, OSError) as error:
        yield "catalog", partial(_refused, error)
        return
    with catalog:
        yield "catalog", partial(_catalog, catalog)
        if isinstance(settings, Settings):
            yield "encoder", partial(_encoder, catalog.recipe, settings.models_dir)
        yield "runtime", partial(_runtime, catalog.recipe)
        yield "analyzer", partial(_analyzer, catalog.recipe)
        yield "index", partial(_index, catalog)


def _key(directory: Path) -> Finding:
    key = load_key(directory)
    return ok(f"{KEY_FILE}, readable by its owner alone, id {key.key_id}")


def _refused(error: Exception) -> Finding:
    raise error


def _catalog(catalog: Catalog) -> Finding:
    with catalog.read() as reading:
        revisions, units = counted(len(reading.facts()), "revision"), counted(reading.unit_count, "unit")
    return ok(f"{revisions}, {units}, recipe {catalog.recipe.digest}")


def _encoder(recipe: Recipe, models_dir: Path | None) -> Finding:
    entry = find_encoder(recipe.encoder, folder=models_dir)
    got = open_folder(entry).digest
    if got != recipe.model_digest:
        return fail(
            f"{recipe.encoder} is {got}, the catalog was made with {recipe.model_digest}",
            advice="put the files it was made with in place, or set MUNIMENT_MODELS_DIR to the folder of its entry",
        )
    return ok(f"{recipe.encoder}, the one the catalog was made with")


def _runtime(recipe: Recipe) -> Finding:
    names = (*(runtime_names("cuda") if torch.cuda.is_available() else ()), *runtime_names("cpu"))
    if recipe.runtime not in names:
        return warn(
            f"{recipe.runtime} is not at hand; queries are encoded on {names[0]} and answers say so (degraded)",
            advice="install that version on such a device; until then reindex is refused",
        )
    return ok(recipe.runtime)


def _analyzer(recipe: Recipe) -> Finding:
    here = analyzer_for(recipe).name
    if here != recipe.analyzer:
        return warn(
            f"units were analyzed by {recipe.analyzer}; queries are by {here}, and answers say so (degraded)",
            advice="install the versions named, or ingest into a new catalog",
        )
    return ok("the versions the catalog was made with")


def _index(catalog: Catalog) -> Finding:
    advice = f"muniment reindex {catalog.directory}"
    try:
        generation = open_current(catalog.directory, catalog.recipe)
    except NoGeneration:
        return warn("nothing is published yet", advice=advice)
    with catalog.read() as reading:
        holdings = reading.holdings
    indexed = {run.key: run.facts_digest for run in generation.runs}
    waiting = [
        key
        for key, digest in holdings.content_digests.items()
        if indexed.get(key) != digest or key not in holdings.coded
    ]
    found = f"{generation.name}, every checksum holds, {counted(generation.rows, 'unit')}"
    if not waiting:
        return ok(f"{found}, none waits for a reindex")
    beside = holdings.coded if analyzer_for(catalog.recipe).name == catalog.recipe.analyzer else frozenset()
    searchable = [key for key in waiting if key in beside]
    unsearchable = [key for key in waiting if key not in beside]
    if searchable:
        found += f"; {_amount(searchable, holdings)} came after it and can be searched already"
    if unsearchable:
        found += f"; {_amount(unsearchable, holdings)} cannot be searched until a reindex"
    return warn(found, advice=advice)


def _amount(keys: Sequence[RevisionKey], holdings: Holdings) -> str:
    units = sum(holdings.unit_counts[key] for key in keys)
    return f"{counted(units, 'unit')} of {counted(len(keys), 'revision')}"
