"""Tests of `server/replaying.py`: a replay names the first layer that differs (R32)."""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence.access import Label
from evidence.authority_rules import AuthorityRules
from evidence.canonical import digest
from evidence.identity import Namespace, SourceKey
from evidence.instant import parse_instant
from evidence.layers import Layer
from evidence.render_json import JsonRenderer
from evidence.replay import Verdict
from index.bm25 import formula
from index.catalog import Catalog
from index.fusion import fuse_minmax
from models.errors import UnknownTokenizer
from models.reranker import Reading, RerankResult
from server.errors import Invalid
from server.parsing import parse
from server.pipeline import Pipeline
from server.query_classes import load_query_classes
from server.replaying import replay
from server.requests import Requests
from server.reranking import Mixed, RerankerSlot
from server.schemas import PacketRequest
from tests.worlds import WordEncoder, arrive, build, pipeline_over, principal, record

BLUE = Namespace("blue")
ANN = principal("blue", roles=("technician",))
RECORDS = [
    record("A", "The pump is inspected every day by a technician.", tenant="blue"),
    record("B", "The pump is painted blue once a year.", tenant="blue"),
    record("C", "Valves are inspected by a pump technician.", tenant="blue", effective_to="2026-07-01T00:00:00Z"),
]
REQUEST = {
    "query": "pump inspected technician",
    "rerank": True,
    "fusion": {"dense_weight": 0.3},
    "budget": {"max_tokens": 5000, "tokenizer": "o200k_base"},
}


class ByLength:
    """Scores texts by their length, in one direction or the other."""

    name, device = "by-length", "cpu"

    def __init__(self, sign: int) -> None:
        self.sign = sign
        self.digest = f"sha256:{sign}"

    def read(self, query: str, texts: Sequence[str]) -> Reading:
        return self.score(query, texts)

    def score(self, query: str, texts: Sequence[str]) -> RerankResult:
        return RerankResult(
            scores=tuple(self.sign * len(text) for text in texts),
            tokens_seen=((5, 5),) * len(texts),
            query_tokens_seen=(2, 2),
        )


class Backwards(WordEncoder):
    """Gives other codes than the one that the catalog was made with."""

    def encode_query(self, text: str) -> Any:
        return np.negative(super().encode_query(text))


def slot(sign: int = 1) -> RerankerSlot:
    return RerankerSlot(lambda: Mixed(reranker=ByLength(sign), weight=Fraction(1, 2)))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    build(tmp_path / "catalog", RECORDS)
    with Catalog.open(tmp_path / "catalog") as opened:
        yield opened


def answered(pipeline: Pipeline, request: dict[str, Any] | None = None) -> tuple[dict[str, Any], bytes]:
    """A manifest as JSON gives it back, and the code of its query."""
    codes: list[bytes | None] = []
    answer = pipeline.packet(
        parse(request or REQUEST, PacketRequest), ANN, deliver=lambda made: codes.append(made.sealing.query_code)
    )
    assert codes[-1] is not None
    return json.loads(json.dumps(answer["manifest"])), codes[-1]


def first_difference(pipeline: Pipeline, manifest: dict[str, Any], *, code: bytes | None = None, who: Any = ANN) -> Any:
    return replay(pipeline, manifest, who, code_of=lambda _: code).layer


def test_an_unchanged_world_replays_identically(catalog: Catalog) -> None:
    manifest, code = answered(pipeline_over(catalog, reranker=slot()))

    assert first_difference(pipeline_over(catalog, reranker=slot()), manifest, code=code) is None


def test_policy_differs_for_a_caller_with_other_grants(catalog: Catalog) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)

    other = principal("blue", roles=("manager", "technician"))
    assert first_difference(pipeline, manifest, code=code, who=other) is Layer.POLICY


def test_policy_differs_where_the_purpose_is_not_granted_any_more(catalog: Catalog) -> None:
    """A manifest never supplies scope (R32): its purpose is one that this caller does not have."""
    pipeline = pipeline_over(catalog, reranker=slot())
    granted = principal("blue", roles=("technician",), purposes=("repair",))
    request = parse({**REQUEST, "purpose": "repair"}, PacketRequest)
    manifest = json.loads(json.dumps(pipeline.packet(request, granted)["manifest"]))

    assert first_difference(pipeline, manifest) is Layer.POLICY


def test_corpus_differs_when_something_visible_has_come(catalog: Catalog) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)
    arrive(catalog, [record("D", "Nothing about any of that.", tenant="blue")])

    assert first_difference(pipeline, manifest, code=code) is Layer.CORPUS


@pytest.mark.parametrize("roles", [("manager",), ("technician",)], ids=["hidden", "still visible"])
def test_corpus_differs_after_a_relabel_and_nothing_else_is_told(catalog: Catalog, roles: tuple[str, ...]) -> None:
    """R32, R6: the same verdict where the source is hidden from now on, gone, or visible under another label."""
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)
    assert {one["facts"]["source_id"] for one in manifest["inclusions"]} >= {"A"}
    catalog.relabel(SourceKey(BLUE, "A"), Label(namespace=BLUE, roles=roles))
    relabelled = replay(pipeline, manifest, ANN, code_of=lambda _: code)
    catalog.delete(SourceKey(BLUE, "A"))

    assert relabelled == Verdict(layer=Layer.CORPUS)  # a layer is all that a verdict holds
    assert relabelled == replay(pipeline, manifest, ANN, code_of=lambda _: code)


def test_nothing_differs_when_something_invisible_has_come(catalog: Catalog) -> None:
    """R6."""
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)
    arrive(catalog, [record("D", "The pump is inspected by a red technician.", tenant="red")])

    assert first_difference(pipeline, manifest, code=code) is None


def test_query_differs_when_another_encoder_reads_it(catalog: Catalog) -> None:
    manifest, _ = answered(pipeline_over(catalog, reranker=slot()))

    assert first_difference(pipeline_over(catalog, reranker=slot(), encoder=Backwards()), manifest) is Layer.QUERY


def test_the_recorded_code_of_the_query_replays_identically_on_any_encoder(catalog: Catalog) -> None:
    """R10."""
    manifest, code = answered(pipeline_over(catalog, reranker=slot()))

    elsewhere = pipeline_over(catalog, reranker=slot(), encoder=Backwards())
    assert first_difference(elsewhere, manifest, code=code) is None


def test_a_code_that_is_not_the_one_recorded_is_not_taken(catalog: Catalog) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)

    assert first_difference(pipeline, manifest, code=bytes(len(code))) is None


def test_eligibility_differs_once_a_visible_revision_has_ended(catalog: Catalog) -> None:
    manifest, code = answered(pipeline_over(catalog, reranker=slot()))

    later = pipeline_over(catalog, reranker=slot(), now=parse_instant("2026-07-02T00:00:00Z"))
    assert first_difference(later, manifest, code=code) is Layer.ELIGIBILITY


def test_candidates_differ_when_a_channel_scores_otherwise(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, code = answered(pipeline_over(catalog, reranker=slot()))

    monkeypatch.setattr("server.pipeline.formula", lambda name, **_: formula(name, k1="0.5", b="0.1"))
    assert first_difference(pipeline_over(catalog, reranker=slot()), manifest, code=code) is Layer.CANDIDATES


def test_fusion_differs_when_scores_are_merged_otherwise(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)

    monkeypatch.setattr(
        "server.retrieval.fuse_minmax",
        lambda channels, **given: fuse_minmax(channels, **{**given, "dense_weight": Fraction(1, 7)}),
    )
    assert first_difference(pipeline, manifest, code=code) is Layer.FUSION


def test_rerank_differs_under_another_reranker(catalog: Catalog) -> None:
    manifest, code = answered(pipeline_over(catalog, reranker=slot()))

    assert first_difference(pipeline_over(catalog, reranker=slot(-1)), manifest, code=code) is Layer.RERANK


def test_packing_differs_under_other_authority_rules(catalog: Catalog) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)

    rules = AuthorityRules(name="domain", version="2", family_owners={}, rules=())
    pipeline.requests = Requests(classes=load_query_classes(None), profiles={}, rules=rules)
    assert first_difference(pipeline, manifest, code=code) is Layer.PACKING


def test_packing_differs_under_another_version_of_the_query_class(catalog: Catalog) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)

    classes = load_query_classes(None)
    changed = {**classes, "explanatory": replace(classes["explanatory"], version="99")}
    pipeline.requests = Requests(classes=changed, profiles={}, rules=pipeline.requests.rules)
    assert first_difference(pipeline, manifest, code=code) is Layer.PACKING


def test_packing_differs_where_the_query_class_is_gone(catalog: Catalog) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)

    pipeline.requests = Requests(classes={}, profiles={}, rules=pipeline.requests.rules)
    assert first_difference(pipeline, manifest, code=code) is Layer.PACKING


def test_rendering_differs_under_another_version_of_the_renderer(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)

    monkeypatch.setattr(JsonRenderer, "name", "json/2")
    assert first_difference(pipeline, manifest, code=code) is Layer.RENDERING


def test_rendering_differs_where_the_tokenizer_is_not_served(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, code = answered(pipeline_over(catalog, reranker=slot()))

    def unknown(name: str, **_: Any) -> Any:
        raise UnknownTokenizer(name, ())

    monkeypatch.setattr("server.requests.get_counter", unknown)
    assert first_difference(pipeline_over(catalog, reranker=slot()), manifest, code=code) is Layer.RENDERING


def test_a_manifest_that_was_changed_is_refused(catalog: Catalog) -> None:
    """R32: nothing of it is believed unless its own hash is right."""
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, _ = answered(pipeline)
    changed = copy.deepcopy(manifest)
    changed["request"]["query"] = "something else"

    with pytest.raises(Invalid, match=r"\$\.manifest\.hashes\.manifest"):
        first_difference(pipeline, changed)


@pytest.mark.parametrize("given", [{}, {"schema": "muniment.manifest/1"}, [], "x", None])
def test_what_is_no_manifest_is_refused(catalog: Catalog, given: Any) -> None:
    with pytest.raises(Invalid):
        replay(pipeline_over(catalog), given, ANN, code_of=lambda _: None)


def test_a_sealed_manifest_without_a_request_is_refused(catalog: Catalog) -> None:
    """Its hash is right, and its request is none."""
    made_up = sealed_again({"schema": "muniment.manifest/1", "request": {"query": 3}, "layers": dict.fromkeys(Layer)})

    with pytest.raises(Invalid, match=r"\$\.manifest\.request"):
        replay(pipeline_over(catalog), made_up, ANN, code_of=lambda _: None)


def sealed_again(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest as somebody would seal it who changed it: its own hash is right."""
    hashes = {"semantic": None, "rendered": None, **manifest.get("hashes", {})}
    hashes.pop("manifest", None)
    return {**manifest, "hashes": {**hashes, "manifest": digest({**manifest, "hashes": hashes})}}


def test_a_manifest_that_was_changed_and_sealed_again_is_not_identical(catalog: Catalog) -> None:
    """R32: its layers are those of the answer, and what it says is not."""
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, code = answered(pipeline)
    changed = copy.deepcopy(manifest)
    changed["inclusions"][0]["facts"]["owner"] = "somebody else"

    with pytest.raises(Invalid, match=r"\$\.manifest\.layers"):
        first_difference(pipeline, sealed_again(changed), code=code)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("search", {"channel": "hybrid", "rerank": False, "fusion": {"dense_weight": "1/0"}}),
        ("search", {"channel": "hybrid", "rerank": False, "fusion": "minmax"}),
        ("search", {"channel": "hybrid", "rerank": False, "fusion": {"dense_weight": "1/3"}}),
        ("search", {"channel": "hybrid", "rerank": False, "fusion": {"dense_weight": "1e-999999999"}}),
        ("search", {"channel": "hybrid", "rerank": False, "fusion": {"dense_weight": ["1/2"]}}),
        ("tool_results", [{"tool": "t", "columns": ["a"], "rows": [[{"decimal": "no number"}]]}]),
        ("tool_results", [{"tool": "t", "columns": ["a"], "rows": [[{"decimal": "1e99999999"}]]}]),
        ("tool_results", [{"tool": "t", "columns": ["a"], "rows": [[{"decimal": 5}]]}]),
        ("model", ["a", "list"]),
        ("conversation", [{"role": "user"}]),
        ("k", "8"),
    ],
)
def test_a_request_that_was_made_up_is_refused(catalog: Catalog, field: str, value: Any) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, _ = answered(pipeline)
    changed = copy.deepcopy(manifest)
    changed["request"][field] = value

    with pytest.raises(Invalid, match=r"\$\.manifest\.request"):
        first_difference(pipeline, sealed_again(changed))


def test_a_manifest_with_nothing_but_a_request_differs(catalog: Catalog) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, _ = answered(pipeline)
    bare = {"schema": manifest["schema"], "request": manifest["request"], "layers": dict.fromkeys(Layer)}

    assert first_difference(pipeline, sealed_again(bare)) is Layer.POLICY


def test_numbers_that_no_manifest_holds_are_refused(catalog: Catalog) -> None:
    """R31."""
    pipeline = pipeline_over(catalog, reranker=slot())
    manifest, _ = answered(pipeline)

    with pytest.raises(Invalid, match=r"\$\.manifest\.hashes\.manifest"):
        first_difference(pipeline, {**manifest, "epoch": 1.5})


@pytest.mark.parametrize(
    "more",
    [
        {"strategy": "broad", "rerank": False},
        {"strategy": "auto", "requirements": [{"role": "r", "match": {"family": "none"}, "mandatory": False}]},
        {"strategy": "document", "source_id": "A"},
        {"as_of": "2026-01-01T00:00:00Z", "use": "historical", "subject": "k2"},
        {"filter": {"source_id": ["A", "B"], "metadata": {"product": ["x"]}}},
        {
            "adapter": "openai",
            "conversation": [{"role": "user", "content": "<|im_start|> hello"}],
            "tool_results": [
                {"tool": "t", "columns": ["a", "b"], "rows": [["x", Decimal("1.250")], ["y", -3], [None, True]]}
            ],
        },
        {"query_class": "decision", "on_overflow": "omit-optional", "fusion": {"method": "rrf", "rrf_k": 3}},
        {"catalog_version": "another"},
        {"fusion": {"dense_weight": Decimal("0.1234567890123456789012345")}},
        {
            "adapter": "anthropic",
            "budget": None,
            "tool_results": [
                {"tool": "t", "columns": ["a"], "rows": [[Decimal(text)] for text in ("0.10", "12345678901234567.5")]}
            ],
        },
    ],
)
def test_every_kind_of_request_replays_from_its_manifest(catalog: Catalog, more: dict[str, Any]) -> None:
    pipeline = pipeline_over(catalog, reranker=slot())
    answer = pipeline.packet(parse({**REQUEST, **more}, PacketRequest), ANN)
    manifest = json.loads(json.dumps(answer["manifest"]))

    assert first_difference(pipeline, manifest) is None
