"""Which encoder can be had everywhere, without a model's weights?

A small BERT with random weights, saved as sentence-transformers saves one: how a network is read, run and batched can
be checked with it. Not useful for finding anything.
"""

from pathlib import Path

import tokenizers
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule
from tokenizers import models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from models.folder import file_digest
from models.network import no_progress_bar
from models.registry import EncoderEntry, LocalFolder, Pooling

_WINDOW = 64
_DIMENSION = 48
_SEED = 37
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_PINNED = ("config.json", "model.safetensors", "tokenizer.json")


def save_tiny_encoder(folder: Path) -> EncoderEntry:
    """The encoder in `folder`, and its entry. The weights are the same on every machine."""
    generator_state = torch.random.get_rng_state()
    torch.manual_seed(_SEED)
    try:
        network = BertModel(_config())
    finally:
        torch.random.set_rng_state(generator_state)
    plain, path = folder / "plain", folder / "encoder"
    with no_progress_bar():
        network.save_pretrained(plain)
        _tokenizer().save_pretrained(plain)
        modules = [
            Transformer(str(plain), max_seq_length=_WINDOW),
            PoolingModule(_DIMENSION, pooling_mode="mean"),
            Normalize(),
        ]
        SentenceTransformer(modules=modules, device="cpu").save(str(path), create_model_card=False)
    return EncoderEntry(
        name="tiny",
        location=LocalFolder(path=path),
        digests=tuple((file, file_digest(path / file)) for file in _PINNED),
        query_prompt="",
        document_prompt="",
        pooling=Pooling.MEAN,
        normalize=True,
        scale="0.4",
        window=_WINDOW,
        dimension=_DIMENSION,
    )


def _vocabulary() -> list[str]:
    """Special tokens, then syllables, each a word of its own."""
    return [*_SPECIAL, *(first + second for first in "bcdfghklmnprstvz" for second in "aeiou")]


def _config() -> BertConfig:
    return BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=_DIMENSION,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=_WINDOW,
        initializer_range=0.5,  # large enough for texts to differ
    )


def _tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {token: number for number, token in enumerate(_vocabulary())}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=_SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), _SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=_WINDOW, **named)
