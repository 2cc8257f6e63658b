"""Tests of `evidence/named.py`: whatever a manifest names is found in it (R35)."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evidence.assembly import assemble
from evidence.budget import Budget
from evidence.identity import Namespace, RevisionKey, SourceKey, UnitKey, parse_unit_id
from evidence.named import named_in
from evidence.packing import Overflow
from tests.builders import candidates, means, request, retrieval
from tests.evidence.answers import WIDE, answer, holding, units_of, wire
from tests.evidence.disputes import MANUFACTURER_FIRST, facts_of, passages, rules, saying

BLUE = Namespace("blue")
UNIT = UnitKey(BLUE, "SB A", "7", 2)
UNIT_ID = "blue/SB%20A@7#2"
REVISION = RevisionKey(BLUE, "SB A", "7")
REVISION_RECORD = {"namespace": "blue", "source_id": "SB A", "revision": "7"}


@pytest.mark.parametrize(
    "manifest",
    [
        {"inclusions": [{"unit_id": UNIT_ID}]},
        {"handles": [{"handle": "EV-1", "unit_id": UNIT_ID}]},
        {"omissions": {"items": [{"reason": "omitted-duplicate", "unit_id": UNIT_ID, "duplicate_of": UNIT_ID}]}},
        {"omissions": {"items": [{"duplicate_of": UNIT_ID}]}},
        {"conflict_groups": [{"members": [UNIT_ID, "a text"]}]},
        {"conflict_groups": ({"disagreements": ({"keys": ("k",), "sides": ((UNIT_ID,), ("a text",))},)},)},
        {"conflict_groups": [{"resolution": {"prevails": [UNIT_ID], "overruled": []}}]},
        {"conflict_groups": [{"resolution": {"prevails": [], "overruled": [UNIT_ID]}}]},
    ],
)
def test_a_unit_is_found_in_each_field_that_holds_ids(manifest: dict[str, Any]) -> None:
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


@pytest.mark.parametrize(
    "manifest",
    [
        {"inclusions": [{"facts": {"title": UNIT_ID, "owner": UNIT_ID, "family": UNIT_ID, "metadata": UNIT_ID}}]},
        {"inclusions": [{"facts": {"claims": [{"key": UNIT_ID, "value": UNIT_ID}], "applies_to": [UNIT_ID]}}]},
        {"inclusions": [{"unit": {"heading": [UNIT_ID]}, "decision": {"roles": [UNIT_ID]}}]},
        {"handles": [{"display": {"title": UNIT_ID, "heading": [UNIT_ID]}}]},
        {"coverage": {"roles": [{"role": UNIT_ID}], "prohibited_claims": [UNIT_ID]}},
        {"conflict_groups": [{"keys": [UNIT_ID], "owners": [UNIT_ID], "disagreements": [{"keys": [UNIT_ID]}]}]},
        {"conflict_groups": [{"resolution": {"rule": UNIT_ID, "rules": UNIT_ID, "version": UNIT_ID}}]},
        {"strategy": {"widened": [{"because": "role", "role": UNIT_ID}]}},
    ],
)
def test_free_text_that_reads_like_a_unit_id_names_no_unit(manifest: dict[str, Any]) -> None:
    """R35: titles, owners, values of claims and a caller's own names of roles are anybody's words."""
    found = named_in(manifest)

    assert not found.units | found.revisions | found.sources


def test_what_is_no_unit_id_names_none() -> None:
    assert named_in({"members": ["x@y#z", "blue/A@1#-1", "#@", "blue/A@1"]}).units == set()


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def test_no_unit_of_a_manifest_stands_in_a_field_that_is_not_read() -> None:
    """R35: every kind of inclusion, omission and conflict, in a world where only ids of units read like them."""
    sides = [saying("A", "25", authority="manufacturer"), saying("C", "30", authority="forum")]
    twice = passages(facts_of("T"), "the same words", "the same words")
    plain, unselected = candidates("a plain passage", "another one"), candidates("far", "farther", namespace="public")
    selection = [*sides, *twice, *plain]
    assembled = assemble(
        request(query_class=WIDE),
        snapshot=holding([*selection, *unselected]),
        retrieval=retrieval(selection, unselected=[unselected[0].unit.key], capped=[unselected[1].unit.key]),
        means=means(rules=rules(MANUFACTURER_FIRST)),
        units_of=units_of([*selection, *unselected]),
    )
    whole = wire(assembled)
    below = Budget(max_bytes=wire(answer(selection))["rendered"]["bytes"] - 1)
    cut = wire(answer(selection, request(query_class=WIDE, budget=below, on_overflow=Overflow.OMIT_OPTIONAL)))

    reasons = {item["reason"] for one in (whole, cut) for item in one["manifest"]["omissions"]["items"]}
    assert reasons == {"omitted-budget", "omitted-duplicate", "omitted-policy", "not-selected"}
    assert whole["manifest"]["conflict_groups"][0]["resolution"] is not None
    for one in (whole, cut):
        read = {name: value for name, value in one["manifest"].items() if name not in ("request", "query_class")}
        found = {unit for text in texts_in(read) if (unit := parse_unit_id(text)) is not None}
        assert named_in(one["manifest"]).units == found
