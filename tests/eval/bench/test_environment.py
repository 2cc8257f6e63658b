"""Tests of eval/bench/peers: a peer takes turns in a process and an environment of its own."""

import time
from pathlib import Path

import numpy as np
import pytest

from eval.bench.errors import PeerUnavailable
from eval.bench.peers.environment import Environment, made, running
from eval.bench.peers.turns import Work, save_work

TOY = """
PACKAGES = ("numpy",)

def searches(work):
    print("this is no answer")
    turns = []

    def count():
        turns.append(1)
        print("neither is this")
        return [[len(turns), work.k], [len(work.vectors)]]

    def die():
        raise RuntimeError("out of ink")

    return {"count": count, "die": die}
"""


@pytest.fixture(scope="module", name="cache")
def fixture_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments made once for all tests here."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    """The work, three rows and one query, and a toy peer."""
    (tmp_path / "toy_peer.py").write_text(TOY)
    work = Work(
        vectors=np.ones((3, 2), np.float32),
        texts=["a", "b", "c"],
        tenants=np.zeros(3, np.int64),
        queries=np.ones((1, 2), np.float32),
        query_texts=["a"],
        asked=np.zeros(1, np.int64),
        k=7,
        folder=tmp_path,
    )
    save_work(work, tmp_path)
    return tmp_path


def toy(folder: Path, name: str = "toy") -> Environment:
    return Environment(name=name, requirements=(), over_ours=True, folder=folder)


def test_a_peer_searches_once_a_call_and_says_what_the_last_call_found(folder: Path, cache: Path) -> None:
    """And nothing that it prints is taken for an answer."""
    with running(toy(folder), folder, cache=cache) as peer:
        first, second = peer.turn("count", calls=1), peer.turn("count", calls=3)

    assert (peer.searches, list(peer.versions)) == (["count", "die"], ["numpy"])
    assert (first.found, second.found) == ([[1, 7], [3]], [[4, 7], [3]])
    assert first.seconds > 0


def test_a_peer_that_dies_is_unavailable_and_says_why(folder: Path, cache: Path) -> None:
    with running(toy(folder), folder, cache=cache) as peer, pytest.raises(PeerUnavailable) as dead:
        peer.turn("die", calls=1)

    assert dead.value.reason == "RuntimeError: out of ink"


def test_a_peer_that_does_not_start_is_unavailable_and_says_why(folder: Path, cache: Path) -> None:
    (folder / "toy_peer.py").write_text("import a_package_that_is_not_there")

    with pytest.raises(PeerUnavailable) as dead, running(toy(folder), folder, cache=cache):
        pass
    assert dead.value.reason == "ModuleNotFoundError: No module named 'a_package_that_is_not_there'"


def test_a_peers_process_and_what_it_started_end_with_the_context(folder: Path, cache: Path) -> None:
    script = "import os, subprocess, sys\nchild = subprocess.Popen(['sleep', '600'])\n" + TOY.replace(
        "len(turns), work.k", "os.getpid(), child.pid"
    )
    (folder / "toy_peer.py").write_text(script)

    with running(toy(folder), folder, cache=cache) as peer:
        started = peer.turn("count", calls=1).found[0]
        assert all(is_running(process) for process in started)
    assert all(ends(process) for process in started)


def test_an_environment_is_made_once(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(toy(folder), cache=cache)
    monkeypatch.setattr("eval.bench.peers.environment.sys.executable", "/bin/false")

    assert made(toy(folder), cache=cache) == first


def test_an_environment_that_cannot_be_made_is_unavailable_and_is_tried_again(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("eval.bench.peers.environment.sys.executable", "/bin/false")
        with pytest.raises(PeerUnavailable, match="other: cannot be installed"):
            made(toy(folder, "other"), cache=cache)

    assert made(toy(folder, "other"), cache=cache).exists()


def is_running(process: int) -> bool:
    """Whether it is there, and more than an entry that nobody has waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ends(process: int) -> bool:
    """Whether it is gone within ten seconds: a signal takes a moment to arrive."""
    until = time.monotonic() + 10
    while is_running(process) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(process)
