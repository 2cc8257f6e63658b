from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.errors import InvalidEntry
from models.folder import open_folder
from models.network import PairScorer, load, pool
from models.registry import CrossEncoderEntry, EncoderEntry, Pooling
from models.runtime import EncoderNetwork, PairNetwork
from tests.models.builders import folder_of, repinned, rewrite_json, save_cross_encoder

# Two rows of three tokens; the last token of the first row and the last two of the second are padding.
TOKENS = torch.tensor([[[1.0, 10.0], [3.0, 20.0], [99.0, 99.0]], [[7.0, 70.0], [99.0, 99.0], [99.0, 99.0]]])
MASK = torch.tensor([[1, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        (Pooling.MEAN, [[2.0, 15.0], [7.0, 70.0]]),
        (Pooling.CLS, [[1.0, 10.0], [7.0, 70.0]]),
        (Pooling.LAST, [[3.0, 20.0], [7.0, 70.0]]),
    ],
)
def test_pooling_leaves_padding_out(pooling: Pooling, expected: list[list[float]]) -> None:
    assert pool(TOKENS, MASK, pooling=pooling).tolist() == expected


def network(entry: EncoderEntry) -> EncoderNetwork:
    return EncoderNetwork(
        name=entry.name,
        folder=open_folder(entry),
        pooling=entry.pooling,
        normalize=entry.normalize,
        window=entry.window,
    )


def test_an_entry_that_pools_unlike_its_model_folder_is_refused(tiny_entry: EncoderEntry) -> None:
    with pytest.raises(InvalidEntry, match="says pooling cls, its model folder says 'mean'"):
        load(network(replace(tiny_entry, pooling=Pooling.CLS)))


def test_a_window_above_the_models_positions_is_refused(tiny_entry: EncoderEntry) -> None:
    with pytest.raises(InvalidEntry, match="window 65 is above the model's 64"):
        load(network(replace(tiny_entry, window=65)))


def test_loading_shows_no_progress_bar_and_fetches_nothing(
    tiny_entry: EncoderEntry, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", no_network)
    monkeypatch.setattr("socket.getaddrinfo", no_network)

    load(network(tiny_entry))
    assert capfd.readouterr() == ("", "")


def pair(entry: CrossEncoderEntry) -> PairNetwork:
    return PairNetwork(name=entry.name, folder=open_folder(entry), window=entry.window)


@pytest.mark.parametrize(
    ("setting", "sigmoid"),
    [
        ({}, True),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, False),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, False),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, True),
    ],
)
def test_a_cross_encoders_own_activation_is_applied(
    tmp_path: Path, setting: dict[str, object], *, sigmoid: bool
) -> None:
    entry = save_cross_encoder(tmp_path)
    rewrite_json(folder_of(entry) / "config.json", **setting)

    loaded = load(pair(repinned(entry)))
    assert isinstance(loaded, PairScorer)
    assert loaded.sigmoid is sigmoid


def test_an_activation_that_names_any_other_code_is_refused_and_not_imported(tmp_path: Path) -> None:
    """Threat F3: were it imported and called, this process would end."""
    entry = save_cross_encoder(tmp_path)
    rewrite_json(folder_of(entry) / "config.json", sentence_transformers={"activation_fn": "os.abort"})

    with pytest.raises(InvalidEntry, match=r"os\.abort"):
        load(pair(repinned(entry)))


def test_a_model_with_several_labels_is_no_cross_encoder(tmp_path: Path) -> None:
    entry = save_cross_encoder(tmp_path, labels=3)

    with pytest.raises(InvalidEntry, match="3 labels"):
        load(pair(entry))
