"""Tests of `evidence/replay.py`: what is a manifest of ours, and where do two of them differ first (R32)?"""

import copy
from typing import Any

import pytest

from evidence.budget import Budget
from evidence.canonical import digest
from evidence.errors import InvalidManifest
from evidence.layers import Layer
from evidence.replay import Verdict, check_manifest, compare
from tests.builders import request
from tests.evidence.answers import BOTH, LIMIT, RULE, answer, wire

MANIFEST = wire(answer([LIMIT, RULE], request(requirements=BOTH)))["manifest"]


def with_layers(*changed: Layer) -> dict[str, Any]:
    """The manifest of another answer, of which only the layers matter here."""
    return {**MANIFEST, "layers": {**MANIFEST["layers"], **dict.fromkeys(changed, "sha256:other")}}


def sealed_again(manifest: dict[str, Any]) -> dict[str, Any]:
    hashes = {name: manifest["hashes"][name] for name in ("semantic", "rendered")}
    return {**manifest, "hashes": {**hashes, "manifest": digest({**manifest, "hashes": hashes})}}


def test_a_manifest_that_was_sealed_here_is_one() -> None:
    assert check_manifest(MANIFEST) == MANIFEST


def test_a_manifest_of_a_refusal_is_one_too() -> None:
    refused = wire(answer([LIMIT], request(budget=Budget(max_bytes=1))))["manifest"]

    assert check_manifest(refused) == refused


@pytest.mark.parametrize(
    ("manifest", "path"),
    [
        (None, "schema"),
        ([], "schema"),
        ({}, "schema"),
        ({**MANIFEST, "schema": "muniment.manifest/2"}, "schema"),
        ({**MANIFEST, "hashes": None}, "hashes"),
        ({**MANIFEST, "hashes": {"manifest": MANIFEST["hashes"]["manifest"]}}, "hashes"),
        ({**MANIFEST, "layers": None}, "layers"),
        ({**MANIFEST, "layers": {"policy": "sha256:0"}}, "layers"),
        ({**MANIFEST, "epoch": "another"}, "hashes.manifest"),
        ({**MANIFEST, "epoch": 0.5}, "hashes.manifest"),
        ({**MANIFEST, "epoch": 2**60}, "hashes.manifest"),
    ],
)
def test_what_is_no_manifest_or_was_changed_is_refused_with_its_place(manifest: Any, path: str) -> None:
    with pytest.raises(InvalidManifest) as caught:
        check_manifest(manifest)

    assert caught.value.path == path


def test_every_field_of_a_manifest_is_under_its_hash() -> None:
    for field in set(MANIFEST) - {"schema", "hashes", "layers"}:
        changed = copy.deepcopy(MANIFEST)
        changed[field] = [changed[field], "changed"]

        with pytest.raises(InvalidManifest):
            check_manifest(changed)


def test_the_same_answer_is_identical() -> None:
    assert compare(MANIFEST, copy.deepcopy(MANIFEST)).record() == {"verdict": "identical"}


@pytest.mark.parametrize("layer", Layer)
def test_the_layer_that_differs_is_named(layer: Layer) -> None:
    assert compare(MANIFEST, with_layers(layer)).record() == {"verdict": "differs", "layer": layer.value}


def test_the_first_in_the_order_of_the_work_is_named() -> None:
    order = list(Layer)
    for place, layer in enumerate(order):
        assert compare(MANIFEST, with_layers(*reversed(order[place:]))) == Verdict(layer=layer)


def test_a_manifest_with_the_layers_of_another_one_is_found_out() -> None:
    """Sealed again, its own hash is right; what it says is not what its layers say."""
    forged = sealed_again({**MANIFEST, "state": "supported", "behaviour": "escalate"})

    assert check_manifest(forged) == forged
    with pytest.raises(InvalidManifest, match="layers"):
        compare(forged, MANIFEST)
