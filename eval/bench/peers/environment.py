"""How does a peer get packages that ours must not see, and still take turns with us?

A virtual environment for each, made once by `python -m venv` and pip from pinned requirements and kept in the cache;
in it a child process that answers line by line (`turns.py`). A peer that cannot be installed or does not start is told
with the reason, and the others go on.
"""

import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from eval.bench.errors import PeerUnavailable
from eval.bench.peers import turns

INSTALL_S = 900
START_S = 900  # an engine builds its index of everything meanwhile
TURN_S = 600
_READY = "made"
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "ANONYMIZED_TELEMETRY": "False"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """name: of the peer, and of its script `NAME_peer.py` in `folder`.

    requirements: as pip takes them, pinned. over_ours: whether our own packages can be imported where it has none:
    for a peer that would install torch once more.
    """

    name: str
    requirements: tuple[str, ...]
    over_ours: bool = False
    folder: Path = Path(__file__).parent

    @property
    def script(self) -> Path:
        return self.folder / f"{self.name}_peer.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a peer. seconds: of a call. found: for each query the rows, best first."""

    seconds: float
    found: Sequence[Sequence[int]]


class Peer:
    """A peer that is ready. Made by `running`."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", folder: Path, log: Path) -> None:
        self._name = name
        self._process = process
        self._folder = folder
        self._log = log
        ready = self._next(START_S)
        self.searches: Sequence[str] = ready["searches"]
        self.versions: Mapping[str, str] = ready["versions"]
        self.build_s: float = ready["seconds"]

    def turn(self, search: str, *, calls: int) -> Turn:
        """Let it search. Raises PeerUnavailable when it has died or takes too long."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"search": search, "calls": calls}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise PeerUnavailable(self._name, _last_line(self._log)) from None
        answer = self._next(TURN_S)
        return Turn(seconds=answer["seconds"], found=json.loads((self._folder / answer["found"]).read_text()))

    def _next(self, limit_s: float) -> Mapping[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], limit_s)[0]:
            raise PeerUnavailable(self._name, f"no answer within {limit_s:g} s")
        line = stdout.readline()
        if not line:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)  # until it has said why
            raise PeerUnavailable(self._name, _last_line(self._log))
        answer: Mapping[str, Any] = json.loads(line)
        return answer


@contextmanager
def running(environment: Environment, folder: Path, *, cache: Path) -> Iterator[Peer]:
    """The peer, its index built from the work in `folder`; its process ends with the context.

    Raises PeerUnavailable.
    """
    python = made(environment, cache=cache)
    log = folder / f"{environment.name}.log"
    command = [str(python), turns.__file__, str(environment.script), str(folder)]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 - an interpreter and a script of ours
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**variables, **_OFFLINE},
            bufsize=0,
            start_new_session=True,  # so that what it starts in its turn ends with it
        ) as process,
    ):
        try:
            yield Peer(environment.name, process, folder, log)
        finally:
            _end(process)


def made(environment: Environment, *, cache: Path) -> Path:
    """The interpreter of the environment, made now if there is none. Raises PeerUnavailable."""
    wanted = json.dumps([environment.requirements, environment.over_ours, sys.version, sys.prefix])
    folder = cache / "peers" / f"{environment.name}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    python = folder / "bin" / "python"
    with (cache / "peers" / f"{environment.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go with the file, however this process ends
        if (folder / _READY).exists():
            return python
        shutil.rmtree(folder, ignore_errors=True)
        with (cache / "peers" / f"{environment.name}.log").open("w+b") as log:
            bare = [] if environment.requirements else ["--without-pip"]
            _run(environment, [sys.executable, "-m", "venv", *bare, str(folder)], log)
            if environment.over_ours:
                _see_ours(folder)
            if environment.requirements:
                pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
                _run(environment, [*pip, *environment.requirements], log)
        (folder / _READY).touch()
    return python


def _see_ours(folder: Path) -> None:
    """Put our packages behind those of the environment."""
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")


def _run(environment: Environment, command: Sequence[str], log: IO[bytes]) -> None:
    begun = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter, venv and pip
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=INSTALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise PeerUnavailable(environment.name, f"not installed after {time.monotonic() - begun:.0f} s") from None
    if done.returncode != 0:
        raise PeerUnavailable(environment.name, f"cannot be installed: {_last_line(Path(log.name))}")


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "it ended and said nothing")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Its standard input ends, and then it; what does not is killed with everything that it started."""
    assert process.stdin is not None
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
