"""Which recipe does a new catalog get, and how does the empty catalog come to be?

The encoder's runtime is chosen here, once, by measurement (R10): of the runtimes at hand that give every sampled text
the same codes alone and in company, the fastest. What was measured is kept beside the catalog.
"""

import json
from dataclasses import asdict
from pathlib import Path

from index.analysis import Analyzer
from index.bm25 import formula
from index.catalog import Catalog, require_new
from index.chunking import TARGET_TOKENS, chunker_name
from index.recipe import Recipe
from models.encoder import Encoder
from models.loading import open_encoder
from models.qualification import Qualification, choose_runtime
from models.registry import DEFAULT_ENCODER, find_encoder
from models.runtime import batch_sizes_to_try, runtime_names
from server.errors import StartError
from server.keys import create_key
from server.settings import Settings

SMALLEST_TARGET = 16
QUALIFICATION_FILE = "qualification.json"


def make_catalog(
    directory: Path,
    *,
    settings: Settings,
    device: str,
    encoder: str = DEFAULT_ENCODER,
    language: str | None = "english",
    stop_words: bool = False,
    contextual: bool = True,
    target: int = TARGET_TOKENS,
    variant: str = "lucene",
    k1: str | None = None,
    b: str | None = None,
) -> tuple[Catalog, Qualification]:
    """An empty catalog with its signing key, open, and what was measured to choose its runtime.

    device: `cpu` or `cuda`, chosen already. Raises StartError, or what the models and the index refuse.
    """
    require_new(directory)
    if target < SMALLEST_TARGET:
        raise StartError(f"--target is {target}, at least {SMALLEST_TARGET} tokens make a unit")
    try:
        analyzer = Analyzer(language=language, stop_words=stop_words)
        chosen = formula(variant, k1=k1, b=b)
    except ValueError as error:
        raise StartError(str(error)) from None
    encoders = _candidates(encoder, settings=settings, device=device)
    measured = choose_runtime(encoders, batch_sizes=batch_sizes_to_try(device))
    winner = next(candidate for candidate in encoders if candidate.runtime == measured.runtime)
    recipe = Recipe(
        encoder=winner.name,
        model_digest=winner.model_digest,
        query_prompt=winner.entry.query_prompt,
        document_prompt=winner.entry.document_prompt,
        pooling=winner.entry.pooling.value,
        normalize=winner.entry.normalize,
        scale=winner.entry.scale,
        dimension=winner.dimension,
        window=winner.window,
        runtime=winner.runtime,
        precision="int8",
        chunker=chunker_name(),
        chunk_target=target,
        contextual=contextual,
        analyzer=analyzer.name,
        language=language or "",
        stop_words=analyzer.stop_words,
        bm25=chosen.variant.value,
        k1=repr(chosen.k1),
        b=repr(chosen.b),
    )

    def prepare(unfinished: Path) -> None:
        create_key(unfinished)
        (unfinished / QUALIFICATION_FILE).write_text(json.dumps(asdict(measured), indent=2) + "\n")

    return Catalog.create(directory, recipe, prepare=prepare), measured


def _candidates(encoder: str, *, settings: Settings, device: str) -> list[Encoder]:
    entry = find_encoder(encoder, folder=settings.models_dir)
    return [
        open_encoder(entry, runtime=runtime, device=device, cache=settings.cache) for runtime in runtime_names(device)
    ]
