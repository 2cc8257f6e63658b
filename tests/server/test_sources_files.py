"""Which revisions does a folder of Markdown and text files offer?"""

import os
from pathlib import Path

import pytest

from evidence.access import Label
from evidence.identity import PUBLIC, Namespace
from evidence.instant import parse_instant
from evidence.source_record import MAX_TEXT_BYTES, SourceRevision
from server.source_place import SourceFileError
from server.sources_files import list_files, read_files

ANYONE = Label(namespace=PUBLIC)


def read(folder: Path) -> list[SourceRevision]:
    return [revision for _, revision in read_files(folder, default_label=ANYONE)]


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def refused(folder: Path) -> str:
    with pytest.raises(SourceFileError) as caught:
        read(folder)
    return str(caught.value)


def test_a_file_without_front_matter_is_named_by_its_path_and_first_heading(tmp_path: Path) -> None:
    put(tmp_path, "guides/desk.v2.md", "intro\n\n## Limits ##\n\nAt most 25 MB.\n")

    [revision] = read(tmp_path)
    facts = revision.facts
    assert (facts.key.source_id, facts.key.revision, facts.title) == ("guides/desk.v2", "1", "Limits")
    assert (revision.text, facts.label) == ("intro\n\n## Limits ##\n\nAt most 25 MB.\n", ANYONE)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("no heading\n", "a"),
        ("```sh\n# comment\n```\n# After\n", "After"),
        ("~~~~\n~~~\n# still code\n~~~~\n# After\n", "After"),
        ("Underlined\n==========\n", "Underlined"),
        ("# About C#\n", "About C#"),
        ("#hashtag\n\n####### seven\n\n###### six\n", "six"),
        ("    # code\n", "a"),
        ("# " + " " * 100_000 + "x", "x"),
    ],
)
def test_the_title_is_the_first_heading_outside_code_or_the_files_name(tmp_path: Path, text: str, title: str) -> None:
    put(tmp_path, "a.md", text)

    assert read(tmp_path)[0].facts.title == title


def test_a_text_file_has_no_headings(tmp_path: Path) -> None:
    put(tmp_path, "notes.TXT", "# not a heading\n")

    assert read(tmp_path)[0].facts.title == "notes"


def test_front_matter_states_any_field_and_the_text_follows_it_exactly(tmp_path: Path) -> None:
    put(
        tmp_path,
        "a.md",
        "---\nsource_id: SB-A-7\nrevision: '7'\ntitle: Latch\neffective_from: 2025-03-01T00:00:00Z\n"
        "access: {tenant: blue, roles: [tech]}\nclaims:\n  - {key: k, value: '25', quote: 25 MB}\n"
        "---\n\n# Head\r\n25 MB",
    )

    [revision] = read(tmp_path)
    facts = revision.facts
    assert (facts.key.namespace, facts.key.source_id, facts.key.revision) == ("blue", "SB-A-7", "7")
    assert facts.label == Label(namespace=Namespace("blue"), roles=("tech",))
    assert (facts.title, facts.effective_from) == ("Latch", parse_instant("2025-03-01T00:00:00Z"))
    assert (revision.text, revision.quotes) == ("\n# Head\r\n25 MB", ("25 MB",))


def test_files_are_read_in_the_order_of_their_paths_and_others_are_counted(tmp_path: Path) -> None:
    for name in ("b/z.md", "b.md", "a.txt", "B.md", ".hidden.md", ".git/x.md", "b/code.py", "data.json"):
        put(tmp_path, name, "Text.")

    assert [revision.facts.key.source_id for revision in read(tmp_path)] == ["B", "a", "b", "b/z"]
    assert list_files(tmp_path)[1] == 2


def test_one_file_is_read_alone(tmp_path: Path) -> None:
    path = put(tmp_path, "deep/a.md", "Text.")

    assert [revision.facts.key.source_id for revision in read(path)] == ["a"]


def test_a_folder_without_text_files_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.json", "{}")

    assert refused(tmp_path) == f"{tmp_path}: holds no file that ends in .md or .txt"


def test_a_link_within_the_folder_is_read_and_one_that_leads_out_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(folder, "a.md", "Text.")
    put(tmp_path, "secret.md", "Secret.")

    (folder / "b.md").symlink_to("a.md")
    assert [revision.text for revision in read(folder)] == ["Text.", "Text."]
    (folder / "c.md").symlink_to(tmp_path / "secret.md")
    assert refused(folder) == f"{folder / 'c.md'}: a symbolic link that leads out of the folder is not followed"


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (".", "a symbolic link to a folder is not followed"),
        ("/etc/hostname", "a symbolic link that leads out of the folder is not followed"),
        ("absent.md", "cannot be read: no such file or directory"),
        ("b.md", "a symbolic link that leads to itself"),
    ],
)
def test_any_other_link_is_one_clear_error(tmp_path: Path, target: str, problem: str) -> None:
    put(tmp_path, "a.md", "Text.")
    (tmp_path / "b.md").symlink_to(target)

    assert refused(tmp_path) == f"{tmp_path / 'b.md'}: {problem}"


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")

    assert refused(tmp_path) == f"{tmp_path / 'a.md'}: not a regular file"


def test_a_name_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md"))).write_text("Text.")

    assert refused(tmp_path) == f"{tmp_path}/\\udcff.md:1: $.source_id: a lone surrogate is no character"


def test_a_file_too_large_for_any_source_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "a.md").open("wb") as file:
        file.truncate(100 * MAX_TEXT_BYTES)  # a sparse file

    assert refused(tmp_path).startswith(f"{tmp_path / 'a.md'}: more than ")


def test_two_spellings_of_one_source_id_stay_apart_only_by_their_suffix(tmp_path: Path) -> None:
    """The check for clashes in `server.sources` then refuses them: the path without its suffix is the name."""
    put(tmp_path, "a.md", "One.")
    put(tmp_path, "a.txt", "Two.")

    assert [revision.facts.key.source_id for revision in read(tmp_path)] == ["a", "a"]
