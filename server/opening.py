"""How does a catalog's folder become a pipeline that answers?

Everything is chosen once, here: device, dense product, the encoder's runtime, the reranker. What cannot be had is
stated in every answer (`degraded`, R15), never papered over.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import structlog
import torch

from evidence.instant import Instant
from index.analysis import analyzer_for
from index.catalog import Catalog
from index.recipe import Recipe
from index.records import Records
from models.batching import ONE_BY_ONE
from models.device import choose_device
from models.encoder import Encoder
from models.errors import ModelError
from models.loading import open_encoder as open_on
from models.registry import EncoderEntry, find_encoder
from models.runtime import runtime_names
from server import clock
from server.authority_rules import load_authority_rules
from server.errors import StartError
from server.making import QUALIFICATION_FILE
from server.pipeline import Pipeline
from server.profiles import load_profiles
from server.query_classes import load_query_classes
from server.recording import Recorder
from server.requests import Requests
from server.reranking import RerankerSlot, open_reranker
from server.settings import Settings, load_settings
from server.timing import Stopwatch

_OVERRIDES = ("device", "host", "port")


def settings_for(
    device: str | None = None, *, host: str | None = None, port: int | None = None, config: Path | None = None
) -> Settings:
    """The settings of environment and file, with what the command line said on top."""
    settings = load_settings(config)
    said = {name: value for name, value in zip(_OVERRIDES, (device, host, port), strict=True) if value is not None}
    return settings.overridden(said)


@contextmanager
def open_pipeline(
    directory: Path,
    *,
    settings: Settings,
    clock: Callable[[], Instant] = clock.now,
    stopwatch: Callable[[], Stopwatch] = Stopwatch,
) -> Iterator[Pipeline]:
    """The pipeline over the catalog in `directory`, closed at the end. clock, stopwatch: as of Pipeline.

    Raises what the catalog refuses and StartError. A model that cannot be opened does not stop the start: its channel
    is stated as unavailable in every answer.
    """
    log = structlog.get_logger("muniment.opening")
    device = choose_device(settings.device.value)
    with Catalog.open(directory) as catalog:
        encoder, trouble = None, None
        if settings.dense:
            try:
                encoder = open_encoder(catalog, settings=settings, device=device)
            except ModelError as error:
                trouble = "unavailable"
                log.error("the dense channel is unavailable", reason=str(error))
        else:
            trouble = "switched off"
        yield Pipeline(
            catalog=catalog,
            settings=settings,
            device=device,
            encoder=encoder,
            encoder_trouble=trouble,
            analyzer=analyzer_for(catalog.recipe),
            reranker=RerankerSlot(lambda: open_reranker(settings, encoder=encoder, device=device.type)),
            requests=open_requests(settings),
            clock=clock,
            stopwatch=stopwatch,
        )


def open_requests(settings: Settings) -> Requests:
    """What packet requests are resolved by: the operator's query classes, model profiles and rules. Raises StartError,
    one line that names the file and the place."""
    return Requests(
        classes=load_query_classes(settings.query_classes_dir),
        profiles=load_profiles(settings.models_file, tokenizer_folders=settings.tokenizer_folders),
        rules=load_authority_rules(settings.authority_rules),
        tokenizer_folders=settings.tokenizer_folders,
    )


@contextmanager
def open_recorder(catalog: Catalog, *, settings: Settings) -> Iterator[Recorder]:
    """The keeper of records beside a catalog, closed at the end. What is older than is kept goes now."""
    with Records.open(catalog.directory) as records:
        recorder = Recorder(records, catalog, max_runs=settings.records_max_runs, max_days=settings.records_max_days)
        recorder.prune()
        yield recorder


def open_encoder(catalog: Catalog, *, settings: Settings, device: torch.device) -> Encoder:
    """The catalog's encoder: on the recipe's runtime where it is at hand, else on the one that is.

    Raises StartError when the registry's entry of that name is not what the recipe was made with; what the models
    refuse otherwise.
    """
    recipe = catalog.recipe
    entry = find_encoder(recipe.encoder, folder=settings.models_dir)
    kind = device.type
    for place in (kind, "cpu"):
        if recipe.runtime in runtime_names(place):
            runtime, kind = recipe.runtime, place
            break
    else:
        runtime = runtime_names(kind)[0]
    encoder = open_on(
        entry,
        runtime=runtime,
        device=kind,
        cache=settings.cache,
        batch_sizes=_qualified_sizes(catalog.directory, runtime),
    )
    _check_entry(entry, encoder, recipe)
    return encoder


def _qualified_sizes(directory: Path, runtime: str) -> tuple[int, ...]:
    """The batch sizes that qualified on this runtime when the catalog was made; else one by one."""
    try:
        measured = json.loads((directory / QUALIFICATION_FILE).read_text())
    except (OSError, ValueError):
        return ONE_BY_ONE
    if not isinstance(measured, dict) or measured.get("runtime") != runtime:
        return ONE_BY_ONE
    sizes = measured.get("batch_sizes")
    if not isinstance(sizes, list) or 1 not in sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
        return ONE_BY_ONE
    return tuple(sizes)


def _check_entry(entry: EncoderEntry, encoder: Encoder, recipe: Recipe) -> None:
    """A name in the registry must still mean the model that the catalog was made with."""
    now = replace(
        recipe,
        model_digest=encoder.model_digest,
        query_prompt=entry.query_prompt,
        document_prompt=entry.document_prompt,
        pooling=entry.pooling.value,
        normalize=entry.normalize,
        scale=entry.scale,
        dimension=entry.dimension,
        window=entry.window,
    )
    if now != recipe:
        raise StartError(f"the entry {entry.name!r} is not the model that this catalog was made with")
