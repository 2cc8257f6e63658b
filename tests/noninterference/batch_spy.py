"""Which rows lay together in one padded batch of a reranker?

The real rerankers over a runtime that computes nothing to speak of, and remembers the words of every row it was given.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from models.cross_encoder import CrossEncoderReranker
from models.encoder import Encoder
from models.folder import ModelFolder
from models.late_interaction import LateInteraction
from models.registry import CrossEncoderEntry, EncoderEntry, LocalFolder, Pooling
from models.reranker import Reranker
from models.runtime import TOKENS, TokenBatch
from server.reranking import Mixed, RerankerSlot

WINDOW, DIMENSION = 32, 8
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")

Words = frozenset[str]


class SpyRuntime:
    """A runtime whose outputs follow from the words of each row alone.

    batches: of each batch that was run, the words of its rows, in order.
    """

    name = "spy-1"

    def __init__(self, words: Sequence[str], *, scores_pairs: bool) -> None:
        self._words = words
        self._scores_pairs = scores_pairs
        self.batches: list[list[Words]] = []

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        self.batches.append([frozenset(self._words[one] for one in row if one >= len(_SPECIAL)) for row in batch.ids])
        rows, length = batch.ids.shape
        if self._scores_pairs:
            sums: NDArray[np.float32] = (batch.ids * batch.mask).sum(axis=1).astype(np.float32)
            return sums
        shape = (rows, length, DIMENSION) if output == TOKENS else (rows, DIMENSION)
        return np.ones(shape, dtype=np.float32)

    def run_each(self, batches: Sequence[TokenBatch], *, output: int) -> list[NDArray[np.float32]]:
        return [self.run(batch, output=output) for batch in batches]


Opened = tuple[RerankerSlot, SpyRuntime]
Open = Callable[[Path, Iterable[str]], Opened]


def cross_encoder(folder: Path, vocabulary: Iterable[str]) -> Opened:
    """A cross-encoder: a row is a query and a text."""
    words = _model(folder, vocabulary)
    runtime = SpyRuntime(words, scores_pairs=True)
    entry = CrossEncoderEntry(name="spy", location=LocalFolder(path=folder), digests=(), window=WINDOW)
    opened = CrossEncoderReranker(entry, ModelFolder(path=folder, digests=()), runtime, device="cpu")
    return _slot(opened), runtime


def late_interaction(folder: Path, vocabulary: Iterable[str]) -> Opened:
    """Late interaction: a row is a query or a text."""
    words = _model(folder, vocabulary)
    runtime = SpyRuntime(words, scores_pairs=False)
    entry = EncoderEntry(
        name="spy",
        location=LocalFolder(path=folder),
        digests=(),
        query_prompt="",
        document_prompt="",
        pooling=Pooling.MEAN,
        normalize=True,
        scale="0.2",
        window=WINDOW,
        dimension=DIMENSION,
    )
    encoder = Encoder(entry, ModelFolder(path=folder, digests=()), runtime)
    return _slot(LateInteraction(encoder, device="cpu")), runtime


def _slot(reranker: Reranker) -> RerankerSlot:
    return RerankerSlot(lambda: Mixed(reranker=reranker, weight=Fraction(1)))


def _model(folder: Path, vocabulary: Iterable[str]) -> list[str]:
    """A folder with a tokenizer that knows these words, and the words by token id."""
    words = [*_SPECIAL, *sorted(set(vocabulary))]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text('{"pad_token_id": 0}', encoding="utf-8")
    return words
