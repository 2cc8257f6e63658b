"""How fast does a cross-encoder score pairs, against sentence-transformers' CrossEncoder as it is shipped?

The model has the shape of MiniLM-L6 and random weights, spread wider than for training so that its scores differ: what
is timed costs the same with any weights.
"""

import random
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from eval.bench.errors import AnswersDiffer
from eval.bench.goals import GOALS
from eval.bench.rounds import Comparison, Effort, in_turn
from models.folder import file_digest, open_folder
from models.loading import open_cross_encoder
from models.quantize import SCORE_UNITS
from models.registry import DEFAULT_ENCODER, CrossEncoderEntry, LocalFolder, find_encoder
from models.runtime import runtime_names
from models.tokenizer import Tokenizer

Floats = npt.NDArray[np.float64]

PEER = "sentence-transformers CrossEncoder"
TOLERANCE = 1e-3  # of a score from 0 to 1
_LEAST_SPREAD = 0.05  # between the best and the worst score, or equal scores would say nothing
_WINDOW = 512
_WEIGHTS = 0.2  # standard deviation; training starts from 0.02, which gives every pair the same score
_SEED = 17
_PINNED = ("config.json", "model.safetensors", "tokenizer.json")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")
_QUERY_WORDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    layers: int
    width: int
    pairs: int
    shortest: int  # words of a text
    longest: int


_SIZES = {
    Effort.FULL: _Sizes(layers=6, width=384, pairs=64, shortest=10, longest=250),
    Effort.QUICK: _Sizes(layers=2, width=48, pairs=4, shortest=5, longest=30),
}


def run(device: torch.device, effort: Effort) -> list[Comparison]:
    """One comparison: the pairs of one query with texts of mixed lengths, on the runtime tried first on this device.

    Raises AnswersDiffer, and what opening the model raises.
    """
    from sentence_transformers import CrossEncoder  # noqa: PLC0415 - takes seconds, and other suites do without
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415 - as above

    disable_progress_bar()
    sizes = _SIZES[effort]
    with tempfile.TemporaryDirectory() as made:
        entry = _random_model(Path(made) / "model", sizes)
        runtime = runtime_names(device.type)[0]
        ours = open_cross_encoder(entry, runtime=runtime, device=device.type, cache=Path(made) / "cache")
        peer = CrossEncoder(
            str(open_folder(entry).path), device=device.type, local_files_only=True, trust_remote_code=False
        )
        tokenizer = Tokenizer(open_folder(entry).tokenizer_file)
        query, texts = _drawn(tokenizer, sizes)
        pairs = [(query, text) for text in texts]
        scores = np.array(ours.score(query, texts).scores, np.float64) / SCORE_UNITS
        apart = _require_equal(scores, np.asarray(peer.predict(pairs, show_progress_bar=False), np.float64))
        timed = in_turn(lambda: ours.score(query, texts), lambda: peer.predict(pairs, show_progress_bar=False))
    lengths = [tokenizer.count(text) for text in texts]
    return [
        Comparison(
            work=f"rerank {len(texts)} texts of mixed lengths",
            us=f"muniment ({runtime})",
            peer=PEER,
            equal=f"every score, within {apart:.1e}; they lie {np.ptp(scores):.2f} apart",
            amount=len(texts),
            unit="pairs",
            sizes={"pairs": len(texts), "tokens": sum(lengths), "shortest": min(lengths), "longest": max(lengths)},
            ours=timed[0],
            theirs=timed[1],
            goal=GOALS["C2"],
        )
    ]


def _random_model(path: Path, sizes: _Sizes) -> CrossEncoderEntry:
    """The packaged encoder's shape and tokenizer with one score on top, as its library saves it; pinned."""
    from transformers import AutoConfig, AutoModelForSequenceClassification  # noqa: PLC0415 - as above

    packaged = open_folder(find_encoder(DEFAULT_ENCODER, folder=None)).path
    config = AutoConfig.from_pretrained(packaged, local_files_only=True)
    config.num_labels, config.initializer_range = 1, _WEIGHTS
    config.num_hidden_layers, config.hidden_size, config.intermediate_size = sizes.layers, sizes.width, 4 * sizes.width
    torch.manual_seed(_SEED)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(path)
    for name in _TOKENIZER:
        if (packaged / name).is_file():
            shutil.copy(packaged / name, path)
    digests = tuple((name, file_digest(path / name)) for name in _PINNED)
    return CrossEncoderEntry(name="random-MiniLM-L6", location=LocalFolder(path=path), digests=digests, window=_WINDOW)


def _drawn(tokenizer: Tokenizer, sizes: _Sizes) -> tuple[str, list[str]]:
    """A query, and texts whose lengths are spread evenly and then shuffled. Words are one token each."""
    words = [word for word in tokenizer.vocabulary() if word.isascii() and word.isalpha() and len(word) > 2]
    chance = random.Random(_SEED)  # noqa: S311 - the same texts on every run, nothing secret
    lengths = [int(length) for length in np.linspace(sizes.shortest, sizes.longest, sizes.pairs)]
    chance.shuffle(lengths)
    query = " ".join(chance.choices(words, k=_QUERY_WORDS))
    return query, [" ".join(chance.choices(words, k=length)) for length in lengths]


def _require_equal(ours: Floats, theirs: Floats) -> float:
    """How far apart two scores of a pair are at most."""
    apart = float(np.abs(ours - theirs).max())
    if apart > TOLERANCE:
        raise AnswersDiffer("rerank", f"scores are up to {apart:.3g} apart")
    if np.ptp(ours) < _LEAST_SPREAD:
        raise AnswersDiffer("rerank", "the model tells no pair from another")
    return apart
