"""How does an empty catalog come to be?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muniment.options import CatalogDir, Device

if TYPE_CHECKING:
    from index.recipe import Recipe


def run(
    directory: CatalogDir,
    encoder: Annotated[
        str, typer.Option("--encoder", help="a registry entry's name; MUNIMENT_MODELS_DIR adds your own")
    ] = "all-MiniLM-L6-v2",
    language: Annotated[
        str, typer.Option("--language", help="stemming language of the lexical channel, or `none`")
    ] = "english",
    stop_words: Annotated[
        bool, typer.Option("--stop-words/--all-words", help="leave the 33 commonest English words out of the index")
    ] = False,
    contextual: Annotated[
        bool, typer.Option("--contextual/--plain", help="both channels read title and headings before each unit")
    ] = True,
    target: Annotated[int, typer.Option("--target", help="size of a unit, in the encoder's tokens")] = 220,
    variant: Annotated[
        str, typer.Option("--bm25", metavar="lucene|okapi|plus|l", help="the formula of the lexical channel")
    ] = "lucene",
    k1: Annotated[str | None, typer.Option("--k1", help="how soon repeats stop to count, 0 to 100")] = None,
    b: Annotated[str | None, typer.Option("--b", help="how much length counts, 0 to 1")] = None,
    device: Device = "auto",
) -> None:
    """Make an empty catalog with a signing key and a recipe that never changes.

    The encoder's runtime is chosen now, by measurement: the fastest one at hand that gives each text the same codes
    alone and in company.

    Example: muniment init my-catalog
    """
    recipe = initialize(
        directory,
        encoder=encoder,
        language=None if language == "none" else language,
        stop_words=stop_words,
        contextual=contextual,
        target=target,
        variant=variant,
        k1=k1,
        b=b,
        device=device,
    )
    print(f"{directory}: an empty catalog; {recipe.encoder} on {recipe.runtime}; recipe {recipe.digest}")
    print(f"next: muniment ingest {directory} PATH... (--public | --tenant T)")


def initialize(
    directory: Path,
    *,
    encoder: str = "all-MiniLM-L6-v2",
    language: str | None = "english",
    stop_words: bool = False,
    contextual: bool = True,
    target: int = 220,
    variant: str = "lucene",
    k1: str | None = None,
    b: str | None = None,
    device: str = "auto",
) -> "Recipe":
    """Make an empty catalog in `directory`, and say what its recipe is."""
    from models.device import choose_device
    from server.making import make_catalog
    from server.opening import settings_for

    settings = settings_for(device)
    catalog, _ = make_catalog(
        directory,
        settings=settings,
        device=choose_device(settings.device.value).type,
        encoder=encoder,
        language=language,
        stop_words=stop_words,
        contextual=contextual,
        target=target,
        variant=variant,
        k1=k1,
        b=b,
    )
    with catalog:
        return catalog.recipe
