"""Is what the documents say true of the code?

The generated pages are written again and compared. The command lines of the others are run, in order, in a folder that
looks like the checkout after `make serve` (`tests/shown_courses.py` says how), and what they print is compared with
what is shown.
"""

import ast
import functools
import importlib
import importlib.util
import json
import re
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
import typer

from evidence.access import Principal
from evidence.identity import Namespace
from models.registry import read_entry
from muniment.__main__ import app
from server.keys import load_key
from server.settings import Settings, load_settings
from server.tokens import issue
from tests.shown_commands import Command, Shell, agrees, blocks, commands, normalized, refreshed
from tests.shown_courses import CODES_FILE, COURSES, HOW_TO, Course, client_of
from tests.source_tree import ROOT

RENEW = "put them in with `python scripts/shown.py`"
WRITTEN = tuple(document for course in COURSES for document in course)
GENERATED = ("docs/configuration.md", "docs/reference/cli.md", "docs/reference/http.md")
DOCUMENTS = (*WRITTEN, *GENERATED, "docs/how-to.md", "docs/failure-modes.md", "docs/performance.md")

# What the documents must not hold: hosts of registries and hubs, and words of how this was made.
UNWANTED = re.compile(
    r"\b(?:pypi\.org|pythonhosted|huggingface\.co|hf\.co|pytorch\.org|github\.com|docker\.io|agents?|sessions?)\b"
    r"|\bissues? #?\d|(?<!UAX )(?<!\w)#\d+\b",
    re.IGNORECASE,
)


@functools.cache
def reference() -> ModuleType:
    """`scripts/reference.py`, which is no package."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def shown_in(document: str) -> list[Command]:
    """Every command of a document's console blocks, in order."""
    return [one for block in blocks(text_of(document)) if block.language == "console" for one in commands(block)]


# The reference


@pytest.mark.parametrize("page", [*GENERATED, "README.md"])
def test_a_generated_page_is_what_the_code_says_now(page: str) -> None:
    """Write it again with `python scripts/reference.py`."""
    assert text_of(page) == reference().pages()[ROOT / page]


def test_every_setting_has_a_row_with_its_variable() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text_of("docs/configuration.md"), re.MULTILINE)

    assert rows == [(name, f"MUNIMENT_{name.upper()}") for name in Settings.model_fields]


def test_the_example_of_a_list_in_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"`MUNIMENT_ALLOWED_HOSTS='(.+)'`", text_of("docs/configuration.md"))
    assert found is not None
    monkeypatch.setenv("MUNIMENT_ALLOWED_HOSTS", found[1])

    assert load_settings().allowed_hosts == ("search.example",)


def test_every_command_has_its_section_with_every_argument_and_option() -> None:
    sections = re.split(r"^## `muniment ", text_of("docs/reference/cli.md"), flags=re.MULTILINE)[1:]
    by_name = {re.split(r"[ `]", section, maxsplit=1)[0]: section for section in sections}

    described = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # typer exports no type of a group
    assert sorted(by_name) == sorted(described)
    missing = [
        f"{name}: {written}"
        for name, command in described.items()
        for one in command.params
        for written in ([one.metavar] if one.param_type_name == "argument" else [*one.opts, *one.secondary_opts])
        if f"`{written}`" not in by_name[name]
    ]
    assert missing == []


def test_every_command_of_the_reference_has_an_example_that_its_options_allow() -> None:
    found = [line for block in blocks(text_of("docs/reference/cli.md")) for line in block.text.splitlines()]

    assert {line.split()[1] for line in found} == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # as above
    for line in found:
        looked_up(line)


def test_every_route_has_its_section() -> None:
    headings = re.findall(r"^## `([A-Z]+ /\S*)`$", text_of("docs/reference/http.md"), re.MULTILINE)

    served = [
        f"{method} {route.path.replace(':path', '')}"
        for file in sorted((ROOT / "server").glob("routes*.py"))
        for route in importlib.import_module(f"server.{file.stem}").router.routes
        for method in route.methods
    ]
    assert sorted(headings) == sorted(served)


def test_every_route_needs_the_scope_that_its_section_says(sample_catalog: Path, tmp_path: Path) -> None:
    """A token without any scope is told which one is missing."""
    sections = re.findall(
        r"^## `([A-Z]+) (/v1/\S*)`$.*?^Needs a token with the scope `([a-z-]+)`",
        text_of("docs/reference/http.md"),
        re.MULTILINE | re.DOTALL,
    )
    shutil.copytree(sample_catalog, tmp_path / "catalog")
    nobody = Principal(sub="nobody", tenant=Namespace("blue"), scope=())
    token = issue(nobody, key=load_key(tmp_path / "catalog"), now_s=int(time.time()), lifetime_s=600)

    with client_of(tmp_path / "catalog") as client:
        told = {
            f"{method} {path}": client.request(
                method, path, headers={"authorization": f"Bearer {token}"}, json={"tenant": "blue"}
            ).json()["detail"]
            for method, path, _ in sections
        }
    assert len(told) >= 3
    assert told == {f"{method} {path}": f"this needs the scope {scope!r}" for method, path, scope in sections}


def test_the_quality_table_shows_what_the_record_holds() -> None:
    channels = {name: {"nDCG@10": value} for name, value in (("lexical", 0.6834), ("dense", 0.645), ("hybrid", 0.73))}
    record = {
        "about": "On one machine.",
        "sets": [
            {"name": "Tiny", "sources": 3, "command": "muniment eval x", "report": {"queries": 2, "channels": channels}}
        ],
    }

    table = reference().quality_table(record)
    assert "| Tiny | 3 | 2 | nDCG@10 | 0.683 | 0.645 | 0.730 |" in table.splitlines()
    assert "On one machine." in table
    assert "muniment eval x" in table


# The documents' commands


@pytest.fixture(scope="module", name="course")
def fixture_course(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, Path]:
    """What follows the documents, and a sample catalog that it made."""
    course, sample = Course(root=ROOT), tmp_path_factory.mktemp("shown") / "sample"
    course.make_sample(sample)
    return course, sample


@pytest.mark.parametrize("documents", COURSES, ids=lambda documents: documents[0])
def test_the_commands_of_a_document_print_what_it_shows(
    documents: Sequence[str], course: tuple[Course, Path], tmp_path: Path
) -> None:
    """To the digit where the encoder gives the codes here that it gave there, else but for digests and scores."""
    follower, sample = course
    stale = []

    with follower.shell(tmp_path, sample=sample) as shell:
        for document in documents:
            ran = list(follower.run(document, shell))

            assert len(ran) >= 2
            for one in ran:
                place = f"{document}:{one.command.line}: {one.command.text}"
                shown, printed = one.command.shown, one.printed
                assert agrees(shown, printed.text), f"{place}\nprints\n{printed.text}"
                assert printed.status == 0 or one.status_is_shown, f"{place}: ends with {printed.status}, not shown"
                stale += [place] if refreshed(shown, printed.text) != shown else []
    shown_on, here = json.loads(text_of(str(CODES_FILE)))[documents[0]], follower.basis
    assert shown_on["texts"] == here.texts, f"other texts are encoded than those of {CODES_FILE}; {RENEW}"
    assert not stale or shown_on["codes"] != here.codes, "\n".join([f"stale digests; {RENEW}", *stale])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_line_names_a_target_and_variables_that_exist(document: str) -> None:
    makefile = text_of("Makefile")
    lines = re.findall(r"^(?:\$ )?make .*$", text_of(document), re.MULTILINE)

    for line in lines:
        for word in line.removeprefix("$ ").split()[1:]:
            name, is_variable, _ = word.partition("=")
            assert re.search(rf"^{name} \?=" if is_variable else rf"^{name}:", makefile, re.MULTILINE), line


@pytest.mark.parametrize("document", WRITTEN)
def test_a_console_block_shows_known_programs_alone(document: str) -> None:
    """What is passed over when commands are run is looked at by another test, or may not be shown."""
    programs = {re.sub(r"^\w+=\$\(|^(\w+=\S+ )+", "", one.text).split()[0] for one in shown_in(document)}

    assert programs <= {"muniment", "make", "curl", "echo"}


def test_what_the_how_to_saves_is_read_by_what_it_is_for(tmp_path: Path) -> None:
    saved = {
        block.saved_as: block.text
        for document in HOW_TO
        for block in blocks(text_of(document))
        if block.saved_as is not None
    }
    for name in ("server.toml", "models/my-e5.json", "models/my-reranker.json"):
        (tmp_path / Path(name).name).write_text(saved[name])

    assert load_settings(tmp_path / "server.toml").max_running == 2
    assert read_entry(tmp_path / "my-e5.json").name == "my-e5"
    assert read_entry(tmp_path / "my-reranker.json").name == "my-reranker"


def looked_up(line: str) -> None:
    """Raises when a `muniment` line names a command, an argument or an option that does not exist."""
    _, name, *arguments = shlex.split(line)
    typer.main.get_command(app).commands[name].make_context(name, arguments)  # type: ignore[attr-defined]  # typer exports no type of a group


# The comparing itself


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("one\ntwo\n", "one\ntwo\n", True),
        ("one\ntwo\n", "one\n", False),
        ("one\n", "one\ntwo\n", False),
        ("", "one\n", False),
        ("", "", True),
        ("one\n…\nfour\n", "one\ntwo\nthree\nfour\n", True),
        ("one\n…\n", "one\n", True),
        ("one\n…\nfour\n", "one\ntwo\n", False),
        ("ok … end\n", "ok and so on end\n", True),
        ("ok … end\n", "ok and so on\n", False),
        ("1315 bytes\n", "1314 bytes\n", False),
        (f"packet sha256:{'0' * 64}\n", f"packet sha256:{'a' * 64}  \n", True),
        ("score 123456\n", "score 654321\n", True),
        ("rank 1\n", "rank 2\n", False),
    ],
)
def test_shown_and_printed_are_told_apart(shown: str, printed: str, *, expected: bool) -> None:
    assert agrees(shown, printed) is expected


def test_digests_and_scores_are_put_in_where_the_rest_agrees() -> None:
    old, new = "a" * 64, "b" * 64
    shown = f"packet sha256:{old}\n…\nscore 123456 in 1.5 s … {old}\n"

    assert refreshed(shown, f"packet sha256:{new}\none\nscore 654321 in 2.5 s of {new}\n") == (
        f"packet sha256:{new}\n…\nscore 654321 in 1.5 s … {new}\n"
    )
    assert refreshed(shown, f"packet sha256:{old}\none\nscore 123456 in 2.5 s of {old}\n") == shown
    assert refreshed(shown, f"packet sha256:{new}\none\nrank 654321 in 2.5 s of {new}\n") == shown


def test_what_differs_between_runs_is_named_and_nothing_else_is_lost() -> None:
    token = "eyJhbGciOi.eyJpc3M.c2ln"

    assert normalized(f"g-{'a' * 32} in 1.5 s by openvino-2026.4.1-f32 for {token}, 25 MB") == (
        "g-# in # s by RUNTIME for TOKEN, 25 MB"
    )


def test_what_is_chosen_and_kept_is_what_the_program_answered(tmp_path: Path) -> None:
    shell = Shell(folder=tmp_path, request=lambda *_: '{"runs": [{"id": "a", "n": 1}]}')

    chosen = shell.run("curl -s http://127.0.0.1/ | jq '.runs[0] | {n}'")
    assert chosen is not None
    assert chosen.text == '{\n  "n": 1\n}\n'
    kept = shell.run("curl -s http://127.0.0.1/ | jq -r '.runs[0].id' > kept")
    assert kept is not None
    assert (kept.text, (tmp_path / "kept").read_text()) == ("", "a\n")


# Links, words, names


@pytest.mark.parametrize("document", [*DOCUMENTS, "ARCHITECTURE.md", "docs/dependencies.md"])
def test_relative_links_lead_to_a_file_and_a_heading(document: str) -> None:
    here = ROOT / document
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(document)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (here.parent / path).resolve() if path else here
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def anchors(path: Path) -> set[str]:
    """The anchors that a Markdown page has for its headings."""
    headings = re.findall(r"^#{1,6} (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_document_names_a_registry_or_how_it_was_made(document: str) -> None:
    found = [line for line in text_of(document).splitlines() if UNWANTED.search(line)]

    assert found == []


def test_each_failure_names_tests_that_exist() -> None:
    rows = [line for line in text_of("docs/failure-modes.md").splitlines() if line.startswith("| ") and "::" in line]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row) for row in rows]

    assert len(rows) > 20
    assert all(named)
    for file, name in [pair for pairs in named for pair in pairs]:
        tree = ast.parse(text_of(file))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, f"{file}::{name}"
