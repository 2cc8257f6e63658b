"""Which modules does the checkout hold, and what does each of them say and import?"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("evidence", "index", "models", "server", "eval", "muniment")


def modules(*folders: str) -> list[Path]:
    """Every Python file under the given top-level folders, folder by folder, in order of path."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def is_of_another_environment(path: Path) -> bool:
    """Whether a module is a peer's script: it runs where that peer is installed, and our process never imports it."""
    return path.parent == ROOT / "eval" / "bench" / "peers" and path.stem.endswith("_peer")


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, line: int = 1) -> str:
    """`index/dense.py:12`: what editors and people can follow."""
    return f"{path.relative_to(ROOT)}:{line}"


def question_of(path: Path) -> str:
    """The first line of a module's docstring, or nothing."""
    return (ast.get_docstring(tree_of(path)) or "").partition("\n")[0]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of each absolute import, wherever it stands; `from a import b` gives both a and a.b."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def calls(path: Path) -> Iterator[ast.Call]:
    """Each call in a module."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            yield node
