"""How does one get a network of a known shape without its weights?

The shape of the published model, random weights, the packaged encoder's vocabulary, saved as sentence-transformers
saves one, so that both sides load it as they load any. Speed does not hang on what the weights are; vectors and scores
mean nothing.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertModel,
    PreTrainedModel,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

from models.folder import file_digest, open_folder
from models.network import no_progress_bar
from models.registry import DEFAULT_ENCODER, CrossEncoderEntry, EncoderEntry, LocalFolder, find_encoder
from models.registry import Pooling as Pooled

_SEED = 37
_PINNED = ("config.json", "model.safetensors", "tokenizer.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Of a transformer encoder. window: tokens that it reads."""

    name: str
    dimension: int
    layers: int
    heads: int
    intermediate: int
    window: int


BGE_BASE = Shape(name="bge-base", dimension=768, layers=12, heads=12, intermediate=3072, window=512)
RERANKER_M3 = Shape(name="reranker-v2-m3", dimension=1024, layers=24, heads=16, intermediate=4096, window=512)
MINILM_RERANKER = Shape(name="MiniLM-L6", dimension=384, layers=6, heads=12, intermediate=1536, window=512)


def save_encoder(folder: Path, shape: Shape, *, device: torch.device) -> EncoderEntry:
    """An encoder of this shape in `folder`, made on `device`, and its entry. Pools the first token."""
    tokenizer = AutoTokenizer.from_pretrained(_vocabulary())
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.dimension,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.intermediate,
        max_position_embeddings=shape.window,
    )
    plain, path = folder / "plain", folder / "encoder"
    with no_progress_bar():
        _drawn(BertModel, config, device).save_pretrained(plain)
        tokenizer.save_pretrained(plain)
        modules = [
            Transformer(str(plain), max_seq_length=shape.window),
            Pooling(shape.dimension, pooling_mode="cls"),
            Normalize(),
        ]
        SentenceTransformer(modules=modules, device="cpu").save(str(path), create_model_card=False)
    return EncoderEntry(
        name=shape.name,
        location=LocalFolder(path=path),
        digests=_digests(path),
        query_prompt="",
        document_prompt="",
        pooling=Pooled.CLS,
        normalize=True,
        scale="0.2",
        window=shape.window,
        dimension=shape.dimension,
    )


def save_reranker(folder: Path, shape: Shape, *, device: torch.device) -> CrossEncoderEntry:
    """A cross-encoder of this shape in `folder`, made on `device`, and its entry. Scores are logits."""
    tokenizer = AutoTokenizer.from_pretrained(_vocabulary())
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.dimension,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.intermediate,
        max_position_embeddings=shape.window + 2,  # positions of this family count from 2
        type_vocab_size=2,
        pad_token_id=tokenizer.pad_token_id,
        num_labels=1,
        initializer_range=0.05,  # large enough for scores to differ
    )
    config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity", "version": "6.2.0"}
    with no_progress_bar():
        _drawn(XLMRobertaForSequenceClassification, config, device).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return CrossEncoderEntry(
        name=shape.name, location=LocalFolder(path=folder), digests=_digests(folder), window=shape.window
    )


def _drawn(kind: type[PreTrainedModel], config: BertConfig | XLMRobertaConfig, device: torch.device) -> PreTrainedModel:
    """The network with random weights, the same on every run; on a GPU that takes a moment, on a CPU seconds."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), device:
        torch.manual_seed(_SEED)
        return kind(config)


def _vocabulary() -> Path:
    return open_folder(find_encoder(DEFAULT_ENCODER, folder=None)).path


def _digests(path: Path) -> tuple[tuple[str, str], ...]:
    return tuple((file, file_digest(path / file)) for file in _PINNED)
