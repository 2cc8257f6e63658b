"""Which torch module stands behind a model, whatever runtime runs it?

sentence-transformers loads every model, from checked folders of safetensors only, without the network and without
remote code. Pooling and normalization are done here, in float32, in one place for all runtimes.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling as FolderPooling
from transformers import PreTrainedModel
from transformers.utils import logging as transformers_logging

from models.errors import InvalidEntry
from models.folder import ModelFolder
from models.registry import Pooling
from models.runtime import EncoderNetwork, Network, PairNetwork

_LOADING = {"use_safetensors": True, "attn_implementation": "sdpa", "dtype": torch.float32}
_IDENTITY = "torch.nn.modules.linear.Identity"
_SIGMOID = "torch.nn.modules.activation.Sigmoid"


class TextEncoder(torch.nn.Module):
    """Token rows to text vectors and token vectors.

    forward(ids, mask), each (rows, length) int64 -> ((rows, d), (rows, length, d)), both float32.
    """

    def __init__(self, model: PreTrainedModel, *, pooling: Pooling, normalize: bool) -> None:
        super().__init__()
        self.inputs = 2
        self.model = model
        self.pooling = pooling
        self.normalize = normalize

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        vectors = pool(tokens, mask, pooling=self.pooling)
        if self.normalize:
            vectors = torch.nn.functional.normalize(vectors, dim=1)
        return vectors, tokens


class PairScorer(torch.nn.Module):
    """Token rows of a query and a text to one score.

    forward(ids, mask, types), each (rows, length) int64 -> ((rows,) float32,). Models whose tokenizer gives no types
    (as XLM-RoBERTa's) take none; `inputs` says so.
    """

    def __init__(self, model: PreTrainedModel, *, inputs: int, sigmoid: bool) -> None:
        super().__init__()
        self.model = model
        self.inputs = inputs
        self.sigmoid = sigmoid

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None = None) -> tuple[torch.Tensor]:
        logits = self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits.float()[:, 0]
        return (torch.sigmoid(logits) if self.sigmoid else logits,)


def pool(tokens: torch.Tensor, mask: torch.Tensor, *, pooling: Pooling) -> torch.Tensor:
    """Text vectors (rows, d) from token vectors (rows, length, d) float32, padding left out by `mask`."""
    match pooling:
        case Pooling.MEAN:
            weights = mask.unsqueeze(-1).to(tokens.dtype)
            return (tokens * weights).sum(dim=1) / weights.sum(dim=1)
        case Pooling.CLS:
            return tokens[:, 0]
        case Pooling.LAST:
            last = mask.sum(dim=1) - 1
            return tokens[torch.arange(tokens.shape[0], device=tokens.device), last]


def load(network: Network) -> TextEncoder | PairScorer:
    """The network in float32 on the CPU, in evaluation mode, without gradients. Takes seconds.

    Raises InvalidEntry when the model folder contradicts the network.
    """
    match network:
        case EncoderNetwork():
            return _load_encoder(network).eval().requires_grad_(False)
        case PairNetwork():
            return _load_pair(network).eval().requires_grad_(False)


def _load_encoder(network: EncoderNetwork) -> TextEncoder:
    path = network.folder.path
    with no_progress_bar():
        loaded = SentenceTransformer(
            str(path), device="cpu", local_files_only=True, trust_remote_code=False, model_kwargs=dict(_LOADING)
        )
    model = loaded.transformers_model
    if model is None:
        raise InvalidEntry(network.name, "its model folder holds no transformer")
    _check_window(model, network)
    if (path / "modules.json").is_file():
        stated = next((module.pooling_mode for module in loaded if isinstance(module, FolderPooling)), None)
        if stated != ("lasttoken" if network.pooling is Pooling.LAST else network.pooling.value):
            raise InvalidEntry(network.name, f"says pooling {network.pooling}, its model folder says {stated!r}")
    return TextEncoder(model, pooling=network.pooling, normalize=network.normalize)


def _load_pair(network: PairNetwork) -> PairScorer:
    sigmoid = _sigmoid(network.folder, network.name)
    with no_progress_bar():
        loaded = CrossEncoder(
            str(network.folder.path),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs=dict(_LOADING),
            activation_fn=torch.nn.Identity(),  # given here, so that none is imported by a name in a file
        )
    model = loaded.model
    if model is None or loaded.num_labels != 1:
        raise InvalidEntry(network.name, f"has {loaded.num_labels} labels, a cross-encoder here has 1")
    _check_window(model, network)
    reads_types = "token_type_ids" in loaded.tokenizer.model_input_names
    return PairScorer(model, inputs=3 if reads_types else 2, sigmoid=sigmoid)


def _sigmoid(folder: ModelFolder, entry: str) -> bool:
    """Whether the model's settings ask for a sigmoid; sentence-transformers' default for one label is yes."""
    stated = folder.setting("sentence_transformers")
    name = stated.get("activation_fn") if isinstance(stated, dict) else None
    name = name or folder.setting("sbert_ce_default_activation_function")
    saved = folder.path / "config_sentence_transformers.json"
    if name is None and saved.is_file():
        name = json.loads(saved.read_text("utf-8")).get("activation_fn")
    if name not in (None, _SIGMOID, _IDENTITY):
        raise InvalidEntry(entry, f"activation {name!r} is not allowed, only {_SIGMOID} and {_IDENTITY}")
    return name != _IDENTITY


def _check_window(model: PreTrainedModel, network: Network) -> None:
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is not None and network.window > positions:
        raise InvalidEntry(network.name, f"window {network.window} is above the model's {positions}")


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Keep transformers' bar for loading weights off standard error, as it is at every start."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()
