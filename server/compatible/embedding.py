"""Which vectors do texts of a request get?

Those that the encoder gives each text alone, before they are rounded to codes: neither neighbours nor the catalog's
content have a part in them. A text is read whole or refused.
"""

import base64
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from evidence.canonical import Json
from index.chunking import TokenCounter
from index.recipe import Recipe
from models.errors import ModelError
from server.compatible.embedding_shapes import EmbeddingRequest, EncodingFormat, InputType
from server.errors import Invalid, Unavailable

TEXTS_AT_ONCE = 8  # then another request has its turn
TEXTS_A_STEP = 32  # between two steps nobody works for a client that has left

Vector = npt.NDArray[np.float32]


class VectorEncoder(Protocol):
    """What makes vectors of texts: an encoder of `models/`, or a test's own."""

    @property
    def runtime(self) -> str:
        """What computes, as a recipe states it."""

    @property
    def model_digest(self) -> str:
        """Of the weights, as a recipe states it."""

    @property
    def counter(self) -> TokenCounter:
        """Counts its tokens."""

    def documents_alone(self, texts: Sequence[str]) -> Vector:
        """(len(texts), d) float32, document prompt in front of each, to the bit what each gets alone. Raises
        ModelError."""

    def queries_alone(self, texts: Sequence[str]) -> Vector:
        """As `documents_alone`, query prompt in front."""


class Embedder:
    """Embeds for one catalog. Shared by the threads of a process, which take turns.

    encoder: None where it cannot be had.
    """

    def __init__(self, recipe: Recipe, *, encoder: VectorEncoder | None) -> None:
        self.recipe = recipe
        self._encoder = encoder
        self._encoding = threading.Lock()  # a few texts at a time use every core already

    def encoder(self) -> VectorEncoder:
        """The encoder, when its vectors are those of the catalog's recipe (R10). Raises Unavailable."""
        recipe, encoder = self.recipe, self._encoder
        if encoder is None or (encoder.runtime, encoder.model_digest) != (recipe.runtime, recipe.model_digest):
            raise Unavailable("this server has not the encoder of the catalog's recipe: texts cannot be embedded")
        return encoder

    def vectors(self, texts: Sequence[str], kind: InputType) -> Iterator[Vector]:
        """The vectors of texts that the window holds, each (d,) float32. Raises ModelError and Unavailable."""
        encoder = self.encoder()
        embed = encoder.queries_alone if kind is InputType.QUERY else encoder.documents_alone
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            with self._encoding:
                vectors = embed(texts[first : first + TEXTS_AT_ONCE])
            yield from vectors


class Embedding:
    """The embeddings of one request: `check` it, `make` every step, then `finish`. All of it takes time."""

    def __init__(self, request: EmbeddingRequest, embedder: Embedder) -> None:
        self._request = request
        self._embedder = embedder
        self._tokens = 0
        self._vectors: list[Vector] = []

    def check(self) -> None:
        """Raise Invalid for another model, another number of dimensions, and a text that the window does not hold;
        Unavailable without the encoder of the catalog's recipe."""
        request, recipe = self._request, self._embedder.recipe
        if request.model != recipe.encoder:
            raise Invalid(f"no such encoder; allowed: {recipe.encoder}", path="$.model")
        if request.dimensions not in (None, recipe.dimension):
            raise Invalid(f"the encoder has {recipe.dimension} dimensions, and no others", path="$.dimensions")
        counter = self._embedder.encoder().counter
        prompt = recipe.query_prompt if request.input_type is InputType.QUERY else recipe.document_prompt
        for position, text in enumerate(request.texts):
            tokens = counter.count(prompt + text) + counter.special_tokens
            if tokens > recipe.window:
                raise Invalid(
                    f"has {tokens} tokens with prompt and special ones, the encoder's window is {recipe.window}",
                    path=request.place(position),
                )
            self._tokens += tokens

    def steps(self) -> Iterator[range]:
        """The positions of the texts of each step."""
        many = len(self._request.texts)
        return (range(first, min(first + TEXTS_A_STEP, many)) for first in range(0, many, TEXTS_A_STEP))

    def make(self, step: range) -> None:
        """Embed the texts at these positions. Raises Unavailable."""
        texts, kind = self._request.texts, self._request.input_type
        try:
            self._vectors += self._embedder.vectors([texts[position] for position in step], kind)
        except ModelError as error:
            raise Unavailable("a text could not be embedded now") from error

    def finish(self) -> dict[str, object]:
        """The body of `POST /v1/embeddings`."""
        written = _base64 if self._request.encoding_format is EncodingFormat.BASE64 else _numbers
        usage: dict[str, Json] = {"prompt_tokens": self._tokens, "total_tokens": self._tokens}
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": written(vector)}
                for index, vector in enumerate(self._vectors)
            ],
            "model": self._request.model,
            "usage": usage,
        }


def _numbers(vector: Vector) -> list[float]:
    numbers: list[float] = vector.tolist()
    return numbers


def _base64(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
