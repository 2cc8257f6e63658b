"""Tests of `evidence/named.py`: whatever a manifest names is found in it (R35)."""

from typing import Any

import pytest

from evidence.identity import Namespace, RevisionKey, SourceKey, UnitKey
from evidence.named import named_in

BLUE = Namespace("blue")
UNIT = UnitKey(BLUE, "SB A", "7", 2)
UNIT_ID = "blue/SB%20A@7#2"
REVISION = RevisionKey(BLUE, "SB A", "7")
REVISION_RECORD = {"namespace": "blue", "source_id": "SB A", "revision": "7"}


@pytest.mark.parametrize(
    "manifest",
    [
        {"inclusions": [{"unit_id": UNIT_ID}]},
        {"omissions": {"items": [{"reason": "omitted-duplicate", "of": UNIT_ID}]}},
        {"conflict_groups": [{"members": [UNIT_ID, "a text"]}]},
        {"conflict_groups": ({"pairs": ((UNIT_ID, 3),)},)},
    ],
)
def test_a_unit_is_found_wherever_its_id_stands(manifest: dict[str, Any]) -> None:
    assert named_in(manifest).units == {UNIT}
    assert named_in(manifest).every_revision() == {REVISION}


def test_a_revision_is_found_by_its_three_fields() -> None:
    found = named_in({"omissions": {"items": [{"reason": "stale", **REVISION_RECORD}]}})

    assert found.revisions == {REVISION}
    assert not found.units
    assert not found.sources


def test_a_relation_to_a_source_names_the_source() -> None:
    found = named_in({"facts": {"contradicts": [{"namespace": "public", "source_id": "C", "here": None}]}})

    assert found.sources == {SourceKey(Namespace("public"), "C")}


def test_the_text_of_an_included_revision_is_known_by_its_digest() -> None:
    found = named_in({"inclusions": [{"facts": {**REVISION_RECORD, "text_digest": "sha256:1"}}]})

    assert found.texts == {REVISION: "sha256:1"}


def test_what_the_request_and_the_query_class_name_is_not_shown_by_the_manifest() -> None:
    """A request may name a unit that is not there, or not the caller's; the manifest is the same for both (R7)."""
    named: Any = {"requirements": [{"match": {"unit_id": UNIT_ID}}], "source": REVISION_RECORD}

    found = named_in({"request": named, "query_class": named})
    assert not found.units | found.revisions | found.sources


def test_a_text_that_only_has_the_marks_of_a_unit_id_names_none() -> None:
    assert named_in({"a": "x@y#z", "b": "blue/A@1#-1", "c": "#@"}).units == set()
