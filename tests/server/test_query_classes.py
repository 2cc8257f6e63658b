"""Which query classes a server has."""

import json
from pathlib import Path
from typing import Any

import pytest

from evidence.slots import Slot
from evidence.state import State
from server.errors import StartError
from server.query_classes import load_query_classes

SHIPPED = ["cross-section", "decision", "enumerate", "explanatory", "lookup", "synthesis"]


def write(folder: Path, file: str, **changed: Any) -> Path:
    """A class as a file: the default one, with other fields."""
    path = folder / file
    path.write_text(json.dumps({**load_query_classes(None)["explanatory"].record(), **changed}))
    return path


def test_the_shipped_classes_are_found_by_their_names() -> None:
    classes = load_query_classes(None)

    assert list(classes) == SHIPPED
    assert all(query_class.name == name for name, query_class in classes.items())


def test_each_shipped_class_keeps_the_budgets_of_the_instructions_and_of_the_turn() -> None:
    """R24."""
    for query_class in load_query_classes(None).values():
        fixed = [query_class.budgets[slot] for slot in (Slot.SYSTEM_POLICY, Slot.TASK, Slot.CALLER_TURN)]
        assert fixed == [700, 400, 300]


def test_the_shipped_classes_share_one_policy() -> None:
    assert len({query_class.policy.record()["text"] for query_class in load_query_classes(None).values()}) == 1


def test_cross_section_and_synthesis_widen_and_enumerate_asks_for_all() -> None:
    """R36."""
    classes = load_query_classes(None)

    assert [name for name, found in classes.items() if found.widens] == ["cross-section", "synthesis"]
    assert [name for name, found in classes.items() if found.exhaustive] == ["enumerate"]


def test_absence_closes_a_decision() -> None:
    assert load_query_classes(None)["decision"].behaviours[State.ABSENT] == "fail-closed"


def test_a_class_of_the_operator_comes_on_top_and_replaces_the_shipped_one_of_its_name(tmp_path: Path) -> None:
    write(tmp_path, "ours.json", name="ours", k=3)
    write(tmp_path, "default.json", name="explanatory", version="ours-7")

    classes = load_query_classes(tmp_path)
    assert list(classes) == sorted([*SHIPPED, "ours"])
    assert classes["ours"].k == 3
    assert classes["explanatory"].version == "ours-7"


def test_a_file_that_is_no_class_is_one_line_that_names_it_and_the_place(tmp_path: Path) -> None:
    path = write(tmp_path, "bad.json", k=0)

    with pytest.raises(StartError) as caught:
        load_query_classes(tmp_path)
    assert str(caught.value) == f"{path}: $.k: got 0, allowed is 1 to 200"


@pytest.mark.parametrize("data", [b"", b"[]", b'{"name": "a", "name": "b"}', b"\xff"])
def test_a_file_that_is_no_strict_json_object_is_one_line_that_names_it(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.json").write_bytes(data)

    with pytest.raises(StartError) as caught:
        load_query_classes(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'bad.json'}: $")
    assert "\n" not in str(caught.value)


def test_two_files_with_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.json", name="ours")
    second = write(tmp_path, "b.json", name="ours")

    with pytest.raises(StartError, match=r"another file of the folder has this name") as caught:
        load_query_classes(tmp_path)
    assert str(caught.value).startswith(str(second))


def test_a_folder_that_is_not_there_is_refused_and_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    """R3."""
    with pytest.raises(StartError, match="no folder of query classes"):
        load_query_classes(tmp_path / "missing")


def test_the_classes_cannot_be_changed_once_loaded() -> None:
    with pytest.raises(TypeError):
        load_query_classes(None)["new"] = load_query_classes(None)["lookup"]  # type: ignore[index]  # that is the test
