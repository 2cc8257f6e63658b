"""Which small models do the tests of this package run?

Randomly initialised, saved as their libraries save them: what is tested is how a model is read, not how good it is.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import tokenizers
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule
from tokenizers import models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

from models.folder import file_digest
from models.registry import CrossEncoderEntry, EncoderEntry, LocalFolder, Pooling
from models.runtime import TokenBatch

WINDOW = 64
DIMENSION = 32
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORDS = ["query", "passage", "upload", "limit", "megabytes", "safety", "latch", "door", "policy", "file"]
_VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *_LETTERS,
    *(f"##{c}" for c in _LETTERS),
    ":",
    ".",
    *_WORDS,
]


def save_encoder(folder: Path, *, pooling: Pooling = Pooling.MEAN, normalize: bool = True) -> EncoderEntry:
    """A BERT of two layers as a sentence-transformers folder, and its pinned entry without prompts."""
    torch.manual_seed(7)
    plain = folder / "plain"
    BertModel(_bert_config()).save_pretrained(plain)
    _fast_tokenizer(segments=2).save_pretrained(plain)
    modules = [
        Transformer(str(plain), max_seq_length=WINDOW),
        PoolingModule(DIMENSION, pooling_mode="lasttoken" if pooling is Pooling.LAST else pooling.value),
    ]
    if normalize:
        modules.append(Normalize())
    path = folder / "encoder"
    SentenceTransformer(modules=modules, device="cpu").save(str(path), create_model_card=False)
    return EncoderEntry(
        name="tiny",
        location=LocalFolder(path=path),
        digests=digests(path),
        query_prompt="",
        document_prompt="",
        pooling=pooling,
        normalize=normalize,
        scale="0.5" if normalize else "4",
        window=WINDOW,
        dimension=DIMENSION,
    )


def save_cross_encoder(folder: Path, *, segments: int = 2, labels: int = 1) -> CrossEncoderEntry:
    """A BERT of two layers that scores pairs, as a transformers folder, and its pinned entry."""
    torch.manual_seed(8)
    config = _bert_config()
    config.num_labels = labels
    config.type_vocab_size = segments
    path = folder / "cross-encoder"
    BertForSequenceClassification(config).save_pretrained(path)
    _fast_tokenizer(segments=segments).save_pretrained(path)
    return CrossEncoderEntry(name="tiny-pair", location=LocalFolder(path=path), digests=digests(path), window=WINDOW)


def digests(path: Path) -> tuple[tuple[str, str], ...]:
    """The digests that an entry must pin."""
    return tuple((file, file_digest(path / file)) for file in ("config.json", "model.safetensors", "tokenizer.json"))


AnyEntry = TypeVar("AnyEntry", EncoderEntry, CrossEncoderEntry)


def repinned(entry: AnyEntry) -> AnyEntry:
    """The entry with the digests that its folder has now."""
    return replace(entry, digests=digests(folder_of(entry)))


def folder_of(entry: EncoderEntry | CrossEncoderEntry) -> Path:
    assert isinstance(entry.location, LocalFolder)
    return entry.location.path


def rewrite_json(file: Path, **changes: object) -> None:
    """Set keys of the object in a JSON file."""
    record = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**record, **changes}), "utf-8")


class FakeRuntime:
    """A runtime whose vectors are a function of a batch, given by the test."""

    name = "fake-1-f32"

    def __init__(self, output: Callable[[TokenBatch], NDArray[np.float32]]) -> None:
        self._output = output
        self.shapes: list[tuple[int, int]] = []

    def run(self, batch: TokenBatch, *, output: int) -> NDArray[np.float32]:
        rows, length = batch.ids.shape
        self.shapes.append((rows, length))
        return self._output(batch)

    def run_each(self, batches: Sequence[TokenBatch], *, output: int) -> list[NDArray[np.float32]]:
        return [self.run(batch, output=output) for batch in batches]


def vectors_of_ids(batch: TokenBatch) -> NDArray[np.float32]:
    """(rows, DIMENSION) float32: one vector a row, decided by its tokens alone."""
    weights = np.arange(1, batch.ids.shape[1] + 1)
    seeds = (batch.ids * batch.mask * weights).sum(axis=1)
    return np.stack([np.cos(np.arange(DIMENSION) * seed) for seed in seeds]).astype(np.float32)


def _bert_config() -> BertConfig:
    return BertConfig(
        vocab_size=len(_VOCABULARY),
        hidden_size=DIMENSION,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=WINDOW,
        initializer_range=0.5,
    )


def _fast_tokenizer(*, segments: int) -> PreTrainedTokenizerFast:
    tokenizer = tokenizers.Tokenizer(
        models.WordPiece({token: number for number, token in enumerate(_VOCABULARY)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=WINDOW,
        model_input_names=["input_ids", "attention_mask", *(["token_type_ids"] if segments > 1 else [])],
    )
