"""By which choices did texts become rows and terms? (pure)

The recipe is fixed when the catalog is made and never changes; rows of two recipes are never mixed (R10).
Its digest stands beside the catalog version, never inside it (R29).
"""

import json
from dataclasses import dataclass, fields
from typing import cast

from evidence.canonical import Json, canonical, digest
from index.errors import DamagedCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Every choice that decides a code, a term or a score. Numbers with a fraction are decimal strings."""

    encoder: str  # the model's name
    model_digest: str  # of its weights
    query_prompt: str  # put in front of a query before encoding
    document_prompt: str  # put in front of a unit's input text before encoding
    pooling: str
    normalize: bool
    scale: str  # the value that the largest code stands for
    dimension: int
    window: int  # encoder tokens, special ones among them
    runtime: str  # name and version; writing rows needs exactly this one
    precision: str
    chunker: str
    chunk_target: int  # encoder tokens of a unit's own text
    contextual: bool  # whether title and heading path stand in front of a unit's text in both channels (R9)
    analyzer: str  # names every choice that decides a term, Unicode versions among them
    bm25: str  # lucene, okapi, plus or l (R9)
    k1: str
    b: str
    language: str = "english"  # of the analyzer's stemmer; empty for none
    stop_words: bool = True  # whether the analyzer leaves them out

    def record(self) -> dict[str, Json]:
        """The recipe as a canonical record."""
        return {field.name: cast("Json", getattr(self, field.name)) for field in fields(self)}

    @property
    def digest(self) -> str:
        return digest(self.record())


def write_recipe(recipe: Recipe) -> str:
    """The canonical JSON of `recipe`."""
    return canonical(recipe.record()).decode("utf-8")


def read_recipe(text: str) -> Recipe:
    """The recipe that `write_recipe` wrote. Raises DamagedCatalog for any other text."""
    try:
        recipe = Recipe(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise DamagedCatalog("its recipe cannot be read") from error
    if write_recipe(recipe) != text:
        raise DamagedCatalog("its recipe is not in canonical form")
    return recipe
