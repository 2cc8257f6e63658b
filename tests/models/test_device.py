import logging

import pytest
import torch

from models.device import choose_device
from models.errors import DeviceUnavailable


def test_the_device_is_the_cpu_when_it_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="models.device"):
        assert choose_device("cpu") == torch.device("cpu")
    assert "device: cpu" in caplog.text


def test_auto_takes_the_gpu_where_there_is_one_and_the_cpu_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a test's card")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")


def test_cuda_without_a_gpu_is_an_error_and_no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    with pytest.raises(DeviceUnavailable, match="cuda was asked for"):
        choose_device("cuda")


def test_another_word_is_refused_with_those_allowed() -> None:
    with pytest.raises(DeviceUnavailable, match="auto, cpu, cuda"):
        choose_device("gpu")
