"""Tests of `server/settings.py`."""

from pathlib import Path

import pytest

from server.errors import StartError
from server.settings import load_settings


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "muniment.toml"
    config.write_text("port = 8001\nmax_k = 50\n")
    monkeypatch.setenv("MUNIMENT_PORT", "8002")

    settings = load_settings(config)

    assert (settings.port, settings.max_k) == (8002, 50)


@pytest.mark.parametrize(
    "written", ["ports = 1\n", "port = 'x'\n", "port = 70000\n", "device = 'tpu'\n", "port = \n", "max_k = 0\n"]
)
def test_a_wrong_setting_stops_the_start_and_is_named(tmp_path: Path, written: str) -> None:
    config = tmp_path / "muniment.toml"
    config.write_text(written)

    with pytest.raises(StartError):
        load_settings(config)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"absent\.toml"):
        load_settings(tmp_path / "absent.toml")
