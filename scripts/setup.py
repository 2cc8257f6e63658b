"""What is missing before Muniment can run here, and how does it get here?

Makes `.venv` and installs the checkout into it with pip, editable, with the extra that fits the machine. Run by
`make` with whatever Python the machine has, so this file parses on Python 3.6, imports the standard library alone
and quotes annotations that an old Python cannot evaluate: an old Python is told so in one line.

`.venv/muniment-setup` records what was installed. It says "unfinished" from the first step to the last, so a set-up
that was interrupted is seen and starts again from nothing. pip's own settings (PIP_*, pip.conf) apply untouched.
"""

import argparse
import errno
import fcntl
import hashlib
import importlib.util
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
RECORD = VENV / "muniment-setup"
LOG = VENV / "muniment-setup.log"  # everything pip said, last time
UNFINISHED = "unfinished\n"

_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|\[Errno (28|122)\]")
_UNTRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError")
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|ConnectionReset|ProxyError|NameResolution|Max retries exceeded"
    r"|Network is unreachable|Connection refused"
    r"|\(from versions: none\)"  # all that pip says when it may not try twice (PIP_RETRIES=0)
)
_NOT_BUILT = re.compile(r"No matching distribution found for ([^\s;]+)")


class Missing(Exception):
    """The machine lacks something; the text says what, and what to do, in one line."""


def main(arguments: "list[str]") -> int:
    """Set up what is missing. Exit status 0 when Muniment can run, 1 with one line on standard error when not."""
    parser = argparse.ArgumentParser(description="Set up .venv for this checkout, if that was not done yet.")
    parser.add_argument("--extra", choices=("auto", "cpu", "gpu"), default="auto", help="auto: gpu where one is found")
    parser.add_argument("--torch-index", metavar="URL", default="", help="take torch from this package index")
    options = parser.parse_args(arguments)
    try:
        require_python()
        with Path(__file__).open("rb") as lock:
            _wait_for_others(lock.fileno())
            set_up(options.extra, options.torch_index, lock.fileno())
    except Missing as missing:
        return _fail(str(missing), 1)
    except OSError as error:
        return _fail(_no_space() if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error), 1)
    except KeyboardInterrupt:
        return _fail("interrupted; the next make starts it again", 130)
    return 0


def require_python() -> None:
    """Raises Missing when this Python is too old, or comes without what makes a venv."""
    here = "{}.{}".format(*sys.version_info[:2])
    if sys.version_info[:2] < OLDEST_PYTHON:
        names = [f"python3.{minor}" for minor in range(14, OLDEST_PYTHON[1] - 1, -1)]
        newer = next((name for name in names if _ask([name, "-c", "import ensurepip, venv"])[0] == 0), None)
        advice = (
            f"{newer} is here: run make PYTHON={newer}" if newer else "install one, then run make PYTHON=python3.11"
        )
        raise Missing(f"{sys.executable} is Python {here}, and Muniment needs 3.11 or newer; {advice}")
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise Missing(
                f"Python {here} at {sys.executable} has no module {module}; install it"
                f" (Debian, Ubuntu: apt install python{here}-venv), then run make again"
            )


def set_up(extra: str, torch_index: str, lock: int) -> None:
    """Bring .venv to what pyproject.toml asks for; says nothing when it is there already. Raises Missing."""
    if extra == "auto":
        extra = "gpu" if _has_gpu() else "cpu"
    project = (ROOT / "pyproject.toml").read_bytes()
    kind = f"extra {extra}\ncheckout {ROOT}\n"
    wanted = f"{kind}pyproject {hashlib.sha256(project).hexdigest()}\n"
    found = RECORD.read_text() if RECORD.is_file() else None
    works = _python_works()
    if found == wanted and works:
        return
    started = time.monotonic()
    can_grow = works and (found is None or found.startswith(kind))  # without a record it is the user's own: keep it
    if not can_grow:
        _make_venv()
    RECORD.write_text(UNFINISHED)
    _say(f"installing what pyproject.toml names for {extra}; this takes minutes the first time (log: {LOG})")
    pin = re.search(r'"(torch==[^"]+)"', project.decode())
    if torch_index and pin:
        _install(["--no-deps", "--index-url", torch_index, pin.group(1)], lock)
    _install(["--editable", f"{ROOT}[{extra},bench,dev]"], lock)
    RECORD.write_text(wanted)
    _say(f"done after {time.monotonic() - started:.0f} s")


def _make_venv() -> None:
    """An empty .venv. The record goes in first and stays, so that stopping anywhere leaves an unfinished set-up."""
    _say(f"making .venv with Python {platform.python_version()}")
    VENV.mkdir(exist_ok=True)
    RECORD.write_text(UNFINISHED)
    for child in VENV.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child != RECORD:
            child.unlink()
    status, output = _ask([sys.executable, "-m", "venv", str(VENV)])
    if status != 0:
        raise Missing(_explain(output, "python -m venv"))


def _install(arguments: "list[str]", lock: int) -> None:
    """pip install, its output in LOG, a line now and then on how far it is.

    pip inherits the lock: when this process is killed and pip is not, the next set-up waits for it.
    """
    command = [str(PYTHON), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *arguments]
    started = time.monotonic()
    interval_s = 1 if sys.stdout.isatty() else 20
    with LOG.open("wb") as log:
        pip = subprocess.Popen(  # noqa: S603 - the command is ours; the requirement comes from the checkout
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, pass_fds=(lock,)
        )
        with pip:
            while pip.poll() is None:
                try:
                    pip.wait(timeout=interval_s)
                except subprocess.TimeoutExpired:
                    _show_progress(f"{_progress(_log())}, {time.monotonic() - started:.0f} s")
    if sys.stdout.isatty():
        sys.stdout.write("\r\033[K")
    if pip.returncode != 0:
        raise Missing(_explain(_log(), "pip"))


def _progress(output: str) -> str:
    """How far pip is, from what it said last."""
    lines = output.splitlines()
    collected = sum(line.startswith(("Collecting ", "Requirement already satisfied")) for line in lines)
    for line in reversed(lines):
        if line.startswith("Installing collected packages:"):
            return f"unpacking {line.count(',') + 1} packages"
        if line.startswith("WARNING: Retrying"):
            return "pip cannot reach its package index yet and tries again"
        action, _, name = line.strip().partition(" ")
        if action in ("Downloading", "Collecting", "Processing"):
            return f"{collected} packages looked at, {action.lower()} {name.rpartition('/')[2]}"
    return "pip is starting"


def _explain(output: str, program: str) -> str:
    """What stopped `program`, from its output, in one line that says what to do."""
    not_built = _NOT_BUILT.search(output)
    if _NO_SPACE.search(output):
        return _no_space()
    if _UNTRUSTED.search(output):
        return f"pip does not trust its package index; set PIP_CERT to the file of its authority (log: {LOG})"
    if _UNREACHABLE.search(output):
        wanted = f" that has {not_built.group(1)}" if not_built else ""
        return (
            f"pip cannot reach a package index{wanted}; check the network, or the settings PIP_INDEX_URL, PIP_PROXY,"
            f" PIP_NO_INDEX and PIP_FIND_LINKS, then run make again (log: {LOG})"
        )
    if not_built:
        here = f"Python {platform.python_version()} on {platform.machine()}"
        return f"no {not_built.group(1)} is published for {here}; try make PYTHON=python3.12 (log: {LOG})"
    complaints = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in complaints if line.startswith("ERROR:")] or complaints or ["it said nothing"]
    return f"{program} failed: {errors[-1]} (log: {LOG})"


def _python_works() -> bool:
    return _ask([str(PYTHON), "-c", "import sys, pip; sys.exit(sys.version_info < (3, 11))"])[0] == 0


def _has_gpu() -> bool:
    """Whether nvidia-smi is there and names a GPU."""
    status, output = _ask(["nvidia-smi", "-L"])
    return status == 0 and "GPU" in output


def _ask(command: "list[str]") -> "tuple[int, str]":
    """Exit status and output of a command; 127 when it cannot be started, 124 when it takes over two minutes."""
    try:
        done = subprocess.run(  # noqa: S603 - every command is spelled out in this file
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
    except OSError as error:
        return 127, str(error)
    except subprocess.TimeoutExpired:
        return 124, "no answer within two minutes"
    return done.returncode, done.stdout.decode(errors="replace")


def _wait_for_others(lock: int) -> None:
    """Returns once no other set-up of this checkout runs."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _say("another set-up of this checkout is running; waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)


def _no_space() -> str:
    free_mb = shutil.disk_usage(ROOT).free // 10**6
    return f"no disk space left for .venv: {free_mb} MB free under {ROOT}; make room, then run make again"


def _log() -> str:
    return LOG.read_text(errors="replace") if LOG.is_file() else ""


def _show_progress(text: str) -> None:
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stdout.write(f"\r\033[K{f'setup: {text}'[:width]}")
        sys.stdout.flush()
    else:
        _say(text)


def _say(text: str) -> None:
    sys.stdout.write(f"setup: {text}\n")
    sys.stdout.flush()


def _fail(text: str, status: int) -> int:
    sys.stderr.write(f"setup: {text}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
