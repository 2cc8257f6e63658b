"""Tests of `evidence/layers.py`: whatever a manifest says, some layer of a replay covers it (R32)."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from evidence.adapters import Adapter
from evidence.budget import Budget
from evidence.conversation import number_turns
from evidence.layers import LAYER_OF, Layer, divided, layer_digests
from evidence.packing import Overflow
from evidence.ranking import LayerDigests
from evidence.request import Strategy
from evidence.tool_results import ToolResult
from tests.builders import (
    candidate,
    candidates,
    claim,
    eligibility,
    family,
    means,
    request,
    requires,
    revision,
    with_evidence_tokens,
    word_meter,
)
from tests.evidence.answers import answer, wire
from tests.evidence.disputes import saying
from tests.evidence.prompts import chat_template

NOTHING_GIVEN = LayerDigests(policy="p", corpus="c")


def rich_manifest() -> dict[str, Any]:
    """A manifest in which every field says something, but for its refusal: less its layers and its own hash."""
    query_class = with_evidence_tokens(10**6)
    asked_for = replace(
        request(
            strategy=Strategy.AUTO,
            query_class=query_class,
            requirements=[requires("rule", family("policy")), requires("limit", claim("max"), mandatory=False)],
            budget=Budget(max_tokens=10**6, window=10**6, reserved_output_tokens=5),
            on_overflow=Overflow.OMIT_OPTIONAL,
            adapter=Adapter.HF_CHAT,
            conversation=number_turns([("user", "hello"), ("assistant", "and good day")]),
            tool_results=[ToolResult(tool="t", columns=("a",), rows=((1,), (None,)))],
        ),
        model="local",
    )
    found = answer(
        [saying("A", "25"), *candidates("first", "second")],
        asked_for,
        others=[saying("B", "30"), candidate(revision("C", family="policy"), "no executables")],
        asked=eligibility(subject="k2"),
        by=means(meter=word_meter(), template=chat_template(), model={"name": "local", "digests": {"t": "sha256:1"}}),
    )
    manifest: dict[str, Any] = wire(found)["manifest"]
    del manifest["layers"], manifest["hashes"]["manifest"]
    return manifest


RICH = rich_manifest()


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every string, number and null, empty lists and objects too, with the way to it."""
    inside = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    if not inside:
        yield path, value
    for name, item in inside:
        yield from leaves(item, (*path, name))


def changed(path: tuple[Any, ...]) -> dict[str, Any]:
    """The manifest with another value at the end of this way."""
    whole = copy.deepcopy(RICH)
    at: Any = whole
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = [at[path[-1]], "changed"]
    return whole


def layer_of(path: tuple[Any, ...]) -> Layer:
    """The layer of a leaf, by the longest way of the table that leads there."""
    names = [name for name in path if isinstance(name, str)]
    ways = [".".join(names[:length]) for length in range(len(names), 0, -1)]
    return next((LAYER_OF[way] for way in ways if way in LAYER_OF), Layer.PACKING)


def test_any_leaf_that_changes_shows_in_its_own_layer_and_in_no_other() -> None:
    before = layer_digests(RICH, given=NOTHING_GIVEN)
    paths = [path for path, _ in leaves(RICH)]

    assert len(paths) > 300
    for path in paths:
        after = layer_digests(changed(path), given=NOTHING_GIVEN)
        assert {layer for layer in Layer if before[layer] != after[layer]} == {layer_of(path)}, path


def test_every_piece_is_in_one_layer_and_nothing_is_lost() -> None:
    def atoms(value: Any) -> list[str]:
        return sorted(repr(leaf) for _, leaf in leaves(value) if leaf not in ([], {}))

    assert atoms(list(divided(RICH).values())) == atoms(RICH)


def test_a_field_that_nobody_assigned_is_part_of_packing() -> None:
    before = layer_digests(RICH, given=NOTHING_GIVEN)
    after = layer_digests({**RICH, "something_new": 1}, given=NOTHING_GIVEN)

    assert {layer for layer in Layer if before[layer] != after[layer]} == {Layer.PACKING}


def test_every_path_that_is_assigned_leads_somewhere() -> None:
    """So that a field which is renamed does not lose its layer in silence. What only a server states is apart."""
    stated_by_retrieval = {f"strategy.parameters.{name}" for name in ("query", "lexical", "dense", "reranker")}
    found = {path for part in divided(RICH).values() for path in part}

    assert set(LAYER_OF) - found == stated_by_retrieval


@pytest.mark.parametrize("layer", [layer for layer in Layer if layer not in (Layer.PACKING, Layer.RENDERING)])
def test_what_retrieval_says_of_a_layer_shows_in_that_layer_and_in_no_other(layer: Layer) -> None:
    """Packing and rendering are assembly's own."""
    before = layer_digests(RICH, given=NOTHING_GIVEN)
    after = layer_digests(RICH, given=replace(NOTHING_GIVEN, **{layer.value: "another"}))

    assert {one for one in Layer if before[one] != after[one]} == {layer}


def test_a_layer_that_had_nothing_to_do_has_no_digest() -> None:
    parameters = {"fusion": None, "reranker": None}
    record = {**RICH, "strategy": {**RICH["strategy"], "parameters": parameters}, "stats_scope": None, "degraded": []}

    digests = layer_digests(record, given=NOTHING_GIVEN)
    assert tuple(digests) == tuple(Layer)
    assert {layer for layer in Layer if digests[layer] is None} == {Layer.CANDIDATES, Layer.FUSION, Layer.RERANK}
