"""How fast does the packaged encoder turn texts into vectors, against sentence-transformers as it is shipped?

Texts of 10 to 500 tokens, of which the model reads 256: sentence-transformers cuts them there unasked, so ours is given
the same first window. A catalog holds no such text, for its units are made to fit.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from eval.bench.errors import AnswersDiffer
from eval.bench.goals import GOALS, Goal
from eval.bench.rounds import Comparison, Effort, in_turn
from models.batching import ONE_BY_ONE
from models.encoder import Encoder
from models.folder import open_folder
from models.loading import open_encoder
from models.qualification import SHORT_TEXTS_PER_BUCKET, qualify, short_buckets
from models.registry import DEFAULT_ENCODER, find_encoder
from models.runtime import batch_sizes_to_try, runtime_names

PEER = "sentence-transformers encode"
LEAST_COSINE = 0.9999
_SEED = 13

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    texts: int
    shortest: int  # tokens, special ones among them
    longest: int


_SIZES = {
    Effort.FULL: _Sizes(texts=128, shortest=10, longest=500),
    Effort.QUICK: _Sizes(texts=4, shortest=10, longest=40),
}
_QUERY = _Sizes(texts=1, shortest=12, longest=12)


def run(device: torch.device, effort: Effort, *, cache: Path) -> list[Comparison]:
    """Two comparisons: many texts of mixed lengths, and one query. Ours on the runtime tried first on this device, one
    by one on a CPU, elsewhere in batches that a short qualification allows. cache: for exported networks.

    Raises AnswersDiffer, and what opening the model raises.
    """
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds, and other suites do without
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415 - as above

    disable_progress_bar()
    sizes = _SIZES[effort]
    ours = _ours(device, cache)
    peer = SentenceTransformer(
        str(open_folder(ours.entry).path), device=device.type, local_files_only=True, trust_remote_code=False
    )

    def first_windows(texts: list[str]) -> Floats:
        rows = [ours.document_windows(text, most=1).rows[0] for text in texts]
        return ours.row_vectors(rows, batch_sizes=ours.batch_sizes)

    def query_alone(texts: list[str]) -> Floats:
        return ours.query_vector(texts[0])[None]

    def theirs(texts: list[str]) -> Floats:
        vectors: Floats = peer.encode(texts, show_progress_bar=False)
        return vectors

    many = f"encode {sizes.texts} texts of {sizes.shortest} to {sizes.longest} tokens"
    return [
        _compared(many, ours, _texts(ours, sizes), _Sides(first_windows, theirs), goal=GOALS["C1"]),
        _compared("encode one query", ours, _texts(ours, _QUERY), _Sides(query_alone, theirs), goal=GOALS["C1q"]),
    ]


class _Sides(NamedTuple):
    """Two ways from texts to vectors."""

    ours: Callable[[list[str]], Floats]
    theirs: Callable[[list[str]], Floats]


def _compared(work: str, encoder: Encoder, texts: list[str], sides: _Sides, *, goal: Goal) -> Comparison:
    cosine = _least_cosine(sides.ours(texts), sides.theirs(texts))
    if cosine < LEAST_COSINE:
        raise AnswersDiffer(work, f"a cosine is {cosine:.6f}, at least {LEAST_COSINE} is asked for")
    read = [min(len(encoder.counter.row(text).ids), encoder.window) for text in texts]
    timed = in_turn(lambda: sides.ours(texts), lambda: sides.theirs(texts))
    return Comparison(
        work=work,
        us=f"muniment ({encoder.runtime})",
        peer=PEER,
        equal=f"every text's vectors, to a cosine of {cosine:.7f}",
        amount=sum(read),
        unit="tokens",
        sizes={"texts": len(texts), "tokens_read": sum(read), "shortest": min(read), "longest": max(read)},
        ours=timed[0],
        theirs=timed[1],
        goal=goal,
    )


def _ours(device: torch.device, cache: Path) -> Encoder:
    entry = find_encoder(DEFAULT_ENCODER, folder=None)
    runtime = runtime_names(device.type)[0]
    alone = open_encoder(entry, runtime=runtime, device=device.type, cache=cache)
    sizes = batch_sizes_to_try(device.type)
    if sizes == ONE_BY_ONE:
        return alone
    measured = qualify(
        alone, buckets=short_buckets(alone.window), batch_sizes=sizes, texts_per_bucket=SHORT_TEXTS_PER_BUCKET
    )
    return open_encoder(
        entry, runtime=runtime, device=device.type, cache=cache, batch_sizes=measured.batch_sizes or ONE_BY_ONE
    )


def _texts(encoder: Encoder, sizes: _Sizes) -> list[str]:
    """Texts of whole words that are one token each, of lengths spread evenly and then shuffled."""
    words = [word for word in encoder.counter.vocabulary() if word.isascii() and word.isalpha() and len(word) > 2]
    chance = random.Random(_SEED)  # noqa: S311 - the same texts on every run, nothing secret
    span = sizes.longest - sizes.shortest
    lengths = [sizes.shortest + at * span // max(sizes.texts - 1, 1) for at in range(sizes.texts)]
    chance.shuffle(lengths)
    special = encoder.counter.special_tokens
    return [" ".join(chance.choices(words, k=length - special)) for length in lengths]


def _least_cosine(ours: Floats, theirs: Floats) -> float:
    """Of unit vectors: how alike the least alike pair is."""
    return float((ours.astype(np.float64) * theirs.astype(np.float64)).sum(axis=1).min())
