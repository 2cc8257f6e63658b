"""Does any module import, load or start what it must not?

Each test gives every breach as `path:line: what`, so that one run shows all of them.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.source_tree import PACKAGES, ROOT, calls, imports, is_of_another_environment, modules, place, question_of

UNSAFE_MODULES = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "shelve", "marshal"}  # loading runs code (F1)

# What a pure module may not import: the world outside the process, its clocks and its chances.
FILES = {"fcntl", "glob", "io", "mmap", "os", "pathlib", "shutil", "tempfile"}
STORES = {"alembic", "datasets", "huggingface_hub", "sqlalchemy", "sqlite3"}
NETWORK = {"fastapi", "http", "httpx", "requests", "select", "selectors", "socket", "ssl", "starlette", "uvicorn"}
PROCESSES = {"anyio", "asyncio", "concurrent", "ctypes", "multiprocessing", "signal", "subprocess", "threading"}
CHANCES = {"logging", "numpy.random", "random", "secrets", "structlog", "time", "urllib.request", "uuid"}
IMPURE_MODULES = FILES | STORES | NETWORK | PROCESSES | CHANCES
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint", "__import__"}
IMPURE_METHODS = {"now", "utcnow", "today"}  # of datetime and date: a clock is an argument


def impurities(path: Path) -> Iterator[str]:
    """What a module does that a pure one may not."""
    for line, name in imports(path):
        parts = name.split(".")
        if any(".".join(parts[: n + 1]) in IMPURE_MODULES for n in range(len(parts))):
            yield f"{place(path, line)}: imports {name}"
    for call in calls(path):
        if isinstance(call.func, ast.Name) and call.func.id in IMPURE_CALLS:
            yield f"{place(path, call.lineno)}: calls {call.func.id}"
        if isinstance(call.func, ast.Attribute) and call.func.attr in IMPURE_METHODS:
            yield f"{place(path, call.lineno)}: calls {call.func.attr}"


def unsafe_loads(path: Path) -> Iterator[str]:
    """Where a module could run code that a file holds (F1)."""
    for line, name in imports(path):
        if name.split(".")[0] in UNSAFE_MODULES:
            yield f"{place(path, line)}: imports {name}"
        if name in ("torch.load", "torch.serialization"):
            yield f"{place(path, line)}: imports {name}"
    for call in calls(path):
        if ast.unparse(call.func) == "torch.load":
            yield f"{place(path, call.lineno)}: calls torch.load"
        for keyword in call.keywords:
            if keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False":
                yield f"{place(path, call.lineno)}: allow_pickle={ast.unparse(keyword.value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What a fresh interpreter holds after some imports. modules: top-level names."""

    modules: frozenset[str]
    threads: int
    log_handlers: int
    printed: str


@cache
def after(statements: str) -> Aftermath:
    """Run `statements` in a fresh interpreter, once. Fails when they raise."""
    program = f"""
import logging, sys, threading
before = set(sys.modules)
{statements}
names = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print()
print(threading.active_count(), len(logging.root.handlers), *names)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed, _, facts = done.stdout.rstrip().rpartition("\n")
    threads, log_handlers, *names = facts.split()
    return Aftermath(
        modules=frozenset(names), threads=int(threads), log_handlers=int(log_handlers), printed=printed + done.stderr
    )


def import_statements(*folders: str) -> str:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in modules(*folders)
        if path.stem not in ("__init__", "__main__")
        and "migrations" not in path.parts  # Alembic executes those
        and not is_of_another_environment(path)
    ]
    return "\n".join(f"import {name}" for name in names)


def test_every_module_of_evidence_says_that_it_is_pure() -> None:
    found = [place(path) for path in modules("evidence") if path.stem != "__init__"]

    assert [one for one in found if not question_of(ROOT / one.partition(":")[0]).endswith("? (pure)")] == []


def test_a_module_that_says_it_is_pure_touches_nothing_outside_itself() -> None:
    found = [
        breach for path in modules(*PACKAGES) if question_of(path).endswith("(pure)") for breach in impurities(path)
    ]

    assert not found, "\n".join(found)


def test_nothing_loads_a_file_that_could_run_code() -> None:
    found = [breach for path in modules(*PACKAGES, "tests", "scripts") for breach in unsafe_loads(path)]

    assert not found, "\n".join(found)


def test_faiss_is_imported_in_one_module() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in modules(*PACKAGES)
        for _, name in imports(path)
        if name.split(".")[0] == "faiss"
    }

    peers = {"eval/bench/faiss_peer.py", "eval/bench/peers/glued_peer.py"}
    assert found <= {"index/faiss_scan.py", *peers}


def test_evidence_needs_the_standard_library_and_rfc8785_alone() -> None:
    loaded = after(import_statements("evidence")).modules

    assert {name for name in loaded if name not in sys.stdlib_module_names} == {"evidence", "rfc8785"}


def test_importing_the_packages_prints_nothing_starts_no_thread_and_sets_up_no_logging() -> None:
    aftermath = after(import_statements(*PACKAGES))

    assert {"evidence", "index", "models", "server"} <= aftermath.modules
    assert (aftermath.threads, aftermath.log_handlers, aftermath.printed) == (1, 0, "")


def test_nothing_that_reports_usage_over_the_network_is_loaded() -> None:
    """A plain `import openvino` sends an event from a thread, and leaves an identifier in the user's home (E5)."""
    assert not after(import_statements(*PACKAGES)).modules & {"openvino_telemetry"}
