"""Does the tree keep the house's rules on files, names and comments?

Each test gives every breach as `path:line: what`, so that one run shows all of them.
"""

import ast
import importlib.util
import re
import sys
import tokenize
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from tests.source_tree import PACKAGES, ROOT, modules, place, question_of, tree_of

MOST_LINES = 400  # aim at 60-200; past 300 split by question

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "core", "manager", "misc"}

LEFTOVERS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK")) + r")\b")
SUPPRESSION = re.compile(r"#\s*(noqa|type:\s*ignore)(?P<rest>.*)", re.IGNORECASE)
CODES = re.compile(r"(:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*|\[[a-z-]+(,\s*[a-z-]+)*\])(?P<reason>.*)")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def suppression_without_reason(comment: str) -> bool:
    """Whether a comment silences a checker without naming a code and, behind it, a reason of two words or more."""
    found = SUPPRESSION.search(comment)
    if found is None:
        return False
    coded = CODES.match(found["rest"])
    return coded is None or len(re.findall(r"\w+", coded["reason"])) < 2


@pytest.mark.parametrize("name", PACKAGES)
def test_each_package_resolves_into_the_checkout_and_to_no_other_distribution(name: str) -> None:
    spec = importlib.util.find_spec(name)

    assert spec is not None
    assert spec.origin == str(ROOT / name / "__init__.py")
    assert name not in sys.stdlib_module_names
    assert set(metadata.packages_distributions().get(name, [])) <= {"muniment"}


def test_every_folder_of_tests_that_holds_modules_is_a_package() -> None:
    folders = {path.parent for path in modules("tests")}

    assert [place(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_every_package_has_a_folder_of_tests() -> None:
    assert [name for name in PACKAGES if not (ROOT / "tests" / name / "__init__.py").is_file()] == []


def test_an_init_file_holds_a_docstring_and_nothing_else() -> None:
    found = []
    for path in modules(*PACKAGES, "tests"):
        if path.name == "__init__.py":
            body = tree_of(path).body
            if len(body) != 1 or ast.get_docstring(tree_of(path)) is None:
                found.append(f"{place(path)}: {len(body)} statements")

    assert not found, "\n".join(found)


def test_every_module_opens_with_the_question_it_answers() -> None:
    found = [
        f"{place(path)}: {question_of(path)!r}"
        for path in modules(*PACKAGES, "scripts")
        if not question_of(path).endswith(("?", "? (pure)"))
    ]

    assert not found, "\n".join(found)


def test_no_module_has_a_name_that_says_nothing() -> None:
    found = [place(path) for path in modules(*PACKAGES, "tests", "scripts") if path.stem in VAGUE_NAMES]

    assert not found, "\n".join(found)


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in modules(*PACKAGES, "tests", "scripts")}

    found = [f"{place(path)}: {length} lines" for path, length in lengths.items() if length > MOST_LINES]
    assert not found, "\n".join(found)


def test_nothing_is_left_for_later_in_a_comment() -> None:
    found = [
        f"{place(path, line)}: {text.strip()}"
        for path in modules(*PACKAGES, "tests", "scripts")
        for line, text in enumerate(path.read_text().splitlines(), start=1)
        if LEFTOVERS.search(text)
    ]

    assert not found, "\n".join(found)


def test_a_silenced_checker_is_named_by_code_and_given_a_reason() -> None:
    found = [
        f"{place(path, line)}: {comment}"
        for path in modules(*PACKAGES, "tests", "scripts")
        for line, comment in comments(path)
        if suppression_without_reason(comment)
    ]

    assert not found, "\n".join(found)


def test_arguments_are_named_and_not_passed_through() -> None:
    found = [
        f"{place(path, node.lineno)}: **{node.args.kwarg.arg}"
        for path in modules(*PACKAGES)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.kwarg is not None
    ]

    assert not found, "\n".join(found)


def test_no_function_changes_a_module_variable() -> None:
    found = [
        f"{place(path, node.lineno)}: global {', '.join(node.names)}"
        for path in modules(*PACKAGES, "scripts")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Global)
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("comment", "bare"),
    [
        ("# noqa", True),
        ("# noqa: S603", True),
        ("# noqa: S603, S607 -", True),
        ("# noqa: S603 - the command is ours", False),
        ("# type: ignore", True),
        ("# type: ignore[no-any-return]", True),
        ("# type: ignore[no-any-return]  # the library is untyped", False),
        ("# an ordinary comment", False),
    ],
)
def test_a_reason_is_looked_for_behind_the_code(comment: str, *, bare: bool) -> None:
    assert suppression_without_reason(comment) is bare
