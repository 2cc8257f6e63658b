"""Is an input checked whole before anything is written, and refused when it changes meanwhile?"""

import itertools
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Label
from evidence.identity import PUBLIC, Namespace
from evidence.source_record import SourceRevision, parse_source
from server.source_place import Place, SourceFileError
from server.sources import SourceFormat, check, check_body, check_paths, detect_format

ANYONE = Label(namespace=PUBLIC)


def line(source_id: str, revision: str = "1", text: str = "Text.", **more: Any) -> str:
    return json.dumps({"source_id": source_id, "revision": revision, "text": text, "access": {"public": True}, **more})


def written(folder: Path, *lines: str, name: str = "in.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{text}\n" for text in lines))
    return path


def refused(*paths: Path, default_label: Label | None = None) -> str:
    with pytest.raises(SourceFileError) as caught:
        check_paths(paths, source_format=SourceFormat.AUTO, default_label=default_label)
    return str(caught.value)


def test_what_was_checked_is_read_again_in_order_with_its_places(tmp_path: Path) -> None:
    path = written(tmp_path, line("b", text="é"), "", line("a"))

    checked = check_paths([path], source_format=SourceFormat.AUTO, default_label=None)
    assert (checked.revisions, checked.text_bytes) == (2, 2 + 5)
    assert [(str(place), revision.facts.key.source_id) for place, revision in checked.read()] == [
        (f"{path}:1", "b"),
        (f"{path}:3", "a"),
    ]


def test_several_inputs_of_several_formats_are_one_input(tmp_path: Path) -> None:
    lines = written(tmp_path, line("a"))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "b.md").write_text("# B\n")
    (notes / "picture.png").write_bytes(b"\x89")
    beir = tmp_path / "beir"
    beir.mkdir()
    written(beir, '{"_id": "c", "text": "C."}', name="corpus.jsonl")

    checked = check_paths([lines, notes, beir], source_format=SourceFormat.AUTO, default_label=ANYONE)
    assert [revision.facts.key.source_id for _, revision in checked.read()] == ["a", "b", "c"]
    assert checked.ignored_files == 1


def test_the_last_bad_line_refuses_the_whole_input(tmp_path: Path) -> None:
    path = written(tmp_path, line("a"), line("b"), line("c", status="final"))

    assert refused(path).startswith(f"{path}:3: $.status: ")


def test_a_revision_offered_again_with_other_content_is_refused_naming_both_places(tmp_path: Path) -> None:
    one = written(tmp_path, line("x"), line("a"))
    two = written(tmp_path, line("a", text="Other."), name="two.jsonl")

    assert refused(one, two) == (
        f"{two}:1: $.revision: other content than the same revision has in {one}:2; a correction is a new revision"
    )


def test_a_revision_offered_again_word_for_word_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path, line("a", title="T"), line("a", title="T"))

    checked = check_paths([path], source_format=SourceFormat.AUTO, default_label=None)
    assert checked.revisions == len(list(checked.read())) == 2


def test_two_labels_for_one_source_are_refused_naming_both_places(tmp_path: Path) -> None:
    """The label belongs to the source: all its revisions share it."""
    path = written(tmp_path, line("a"), line("a", "2", access={"public": True, "roles": ["x"]}))

    assert refused(path) == f"{path}:2: $.access: another label than the same source has in {path}:1"


def test_the_same_source_id_in_two_namespaces_is_two_sources(tmp_path: Path) -> None:
    path = written(tmp_path, line("a"), line("a", text="Other.", access={"tenant": "blue"}))

    checked = check_paths([path], source_format=SourceFormat.AUTO, default_label=None)
    assert [revision.facts.key.namespace for _, revision in checked.read()] == [PUBLIC, Namespace("blue")]


@pytest.mark.parametrize(
    "later",
    [
        [line("a", text="Changed."), line("b")],
        [line("a")],
        [line("a"), line("b"), line("c")],
        [line("a"), line("b"), line("b")],
        [line("a"), line("a")],
    ],
    ids=["changed", "shorter", "longer", "a line twice", "another in its place"],
)
def test_an_input_that_changed_since_it_was_checked_is_refused(tmp_path: Path, later: list[str]) -> None:
    checked = check_paths(
        [written(tmp_path, line("a"), line("b"))], source_format=SourceFormat.AUTO, default_label=None
    )

    written(tmp_path, *later)
    with pytest.raises(SourceFileError, match="changed since it was checked"):
        list(checked.read())


def test_a_changed_revision_is_refused_before_the_writer_sees_it(tmp_path: Path) -> None:
    checked = check_paths(
        [written(tmp_path, line("a"), line("b"))], source_format=SourceFormat.AUTO, default_label=None
    )
    written(tmp_path, line("a"), line("b", text="Changed."))
    reading = checked.read()

    assert next(reading)[1].facts.key.source_id == "a"
    with pytest.raises(SourceFileError, match=r"in\.jsonl:2: \$: changed since it was checked"):
        next(reading)


class Text(str):
    """A text that can be watched."""

    __slots__ = ("__weakref__",)


def test_checking_holds_no_texts() -> None:
    texts: list[weakref.ref[Text]] = []

    def revisions() -> Iterator[tuple[Place, SourceRevision]]:
        for number in range(50):
            record = {**json.loads(line(str(number))), "text": Text("x" * 1000)}
            texts.append(weakref.ref(record["text"]))
            yield Place(file="made", line=number + 1), parse_source(record, default_label=None)
            assert sum(text() is not None for text in texts) == 1

    assert check(revisions).revisions == 50


def test_the_body_of_a_request_is_checked_as_a_file_is() -> None:
    checked = check_body(f"{line('a')}\n{line('b')}".encode(), default_label=None)

    assert [str(place) for place, _ in checked.read()] == ["body:1", "body:2"]
    with pytest.raises(SourceFileError, match=r"^body:1: \$: holds no record$"):
        check_body(b"", default_label=None)


def test_the_format_follows_from_the_name_or_the_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "beir").mkdir()
    written(tmp_path / "beir", name="corpus.jsonl")
    written(tmp_path, name="a.JSONL")
    written(tmp_path, name="a.md")

    assert detect_format(tmp_path / "notes") is SourceFormat.FILES
    assert detect_format(tmp_path / "beir") is SourceFormat.BEIR
    assert detect_format(tmp_path / "a.JSONL") is SourceFormat.JSONL
    assert detect_format(tmp_path / "a.md") is SourceFormat.FILES


def test_a_stated_format_is_taken_whatever_the_name(tmp_path: Path) -> None:
    path = written(tmp_path, line("a"), name="export.ndjson")

    assert check_paths([path], source_format=SourceFormat.JSONL, default_label=None).revisions == 1
    with pytest.raises(SourceFileError, match=r"neither a folder nor a file that ends in \.jsonl, \.md or \.txt"):
        detect_format(path)


@pytest.mark.parametrize("source_format", SourceFormat)
@pytest.mark.parametrize("name", ["absent.jsonl", "absent", "x" * 300, "\x00", "in.jsonl/below"])
def test_a_path_that_cannot_be_read_is_one_clear_error(tmp_path: Path, name: str, source_format: SourceFormat) -> None:
    written(tmp_path, line("a"))

    with pytest.raises(SourceFileError, match="cannot be read: ") as caught:
        check_paths([tmp_path / name], source_format=source_format, default_label=ANYONE)
    assert str(caught.value).isprintable()


def test_devices_and_pipes_are_refused_without_waiting() -> None:
    for source_format in (SourceFormat.JSONL, SourceFormat.FILES):
        with pytest.raises(SourceFileError, match="not a regular file"):
            check_paths([Path("/dev/zero")], source_format=source_format, default_label=ANYONE)


def test_a_place_prints_on_one_line_whatever_the_files_name() -> None:
    assert str(Place(file="a\nb\x1b[31m\udc80é.md", line=3)) == "a\\nb\\x1b[31m\\udc80é.md:3"
    assert all(str(Place(file=chr(code), line=None)).isprintable() for code in itertools.chain(range(0x3000)))
