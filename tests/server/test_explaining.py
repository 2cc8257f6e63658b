"""Tests of `server/explaining.py`: each step at which a unit can leave, reached by a unit that leaves there."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Label, Principal
from evidence.citations import citation_handle
from evidence.errors import BrokenGuarantee
from evidence.grants import Dimension, Grant, Subject
from evidence.identity import Namespace, RevisionKey, UnitKey, unit_id
from server import explaining
from server.errors import Forbidden, UnknownUnit
from server.explaining import explain, label_decision
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest
from server.scope import scope_for
from tests.builders import revision
from tests.worlds import build, extend, opened, principal, record

BLUE = Namespace("blue")
ANN = principal("blue", roles=("staff",), purposes=("repair",))
QUERY = "How large may uploads be?"
RECORDS = [
    record("LIMIT", "Uploads may be 25 MB large.", claims=[{"key": "max", "value": "25", "quote": "25 MB"}]),
    record("OTHER", "Uploads may be 50 MB large.", claims=[{"key": "max", "value": "50", "quote": "50 MB"}]),
    record("SECRET", "Uploads of the board may be 99 MB large.", tenant="blue", access={"roles": ["board"]}),
    record("RED", "Uploads of red may be 7 MB large.", tenant="red"),
    record("DRAFT", "Uploads may one day be large.", tenant="blue", status="draft"),
    record("OLD", "Uploads may be 1 MB large.", effective_to="2026-01-01T00:00:00Z"),
    record("FAR", "Nothing to see."),
    record("NEAR", "How uploads are logged."),
]


@pytest.fixture(scope="module", name="pipeline")
def fixture_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """Read it; a test that writes takes `own`."""
    directory = tmp_path_factory.mktemp("explaining") / "catalog"
    build(directory, RECORDS)
    with opened(directory) as pipeline:
        yield pipeline


@pytest.fixture(name="own")
def fixture_own(tmp_path: Path) -> Iterator[Pipeline]:
    build(tmp_path / "catalog", RECORDS)
    with opened(tmp_path / "catalog") as pipeline:
        yield pipeline


def named(source_id: str, namespace: str = "public", *, version: str = "1") -> str:
    return unit_id(UnitKey(Namespace(namespace), source_id, version, 0))


def explained(pipeline: Pipeline, unit: str, *, who: Principal = ANN, **fields: Any) -> dict[str, Any]:
    request = parse({"query": QUERY, "k": 2, **fields}, PacketRequest)
    return dict(explain(pipeline, request, who, named=unit))


def packet(pipeline: Pipeline, **fields: Any) -> dict[str, Any]:
    return dict(pipeline.packet(parse({"query": QUERY, **fields}, PacketRequest), ANN))


def place(answer: Mapping[str, Any], channel: str) -> tuple[int | None, bool]:
    return answer["channels"][channel]["rank"], answer["channels"][channel]["offered"]


def test_an_included_unit_left_nowhere_and_shows_its_ranks_and_its_decision(pipeline: Pipeline) -> None:
    first = packet(pipeline, k=2)["manifest"]["inclusions"][0]

    answer = explained(pipeline, first["unit_id"])

    assert answer["left_at"] is None
    assert (answer["fused"]["rank"], answer["fused"]["score"]) == (1, first["trace"]["fused"])
    for channel in ("lexical", "dense"):
        assert answer["channels"][channel]["rank"] == first["trace"]["ranks"][channel]
        assert answer["channels"][channel]["score"] == first["trace"]["scores"][channel]
    assert answer["decision"] == first["decision"]


def test_a_handle_names_the_unit_as_its_id_does(pipeline: Pipeline) -> None:
    with pipeline.catalog.read() as reading:
        (unit,) = reading.units_of(RevisionKey(Namespace("public"), "LIMIT", "1"))

    assert explained(pipeline, citation_handle(unit)) == explained(pipeline, named("LIMIT"))


@pytest.mark.parametrize("unknown", ["EV-0000000000000000", "public/LIMIT@1#1", "public/NONE@1#0", "", "LIMIT"])
def test_what_names_no_unit_is_said_to_name_none(pipeline: Pipeline, unknown: str) -> None:
    with pytest.raises(UnknownUnit):
        explained(pipeline, unknown)


def test_a_label_that_does_not_admit_is_told_dimension_by_dimension(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("SECRET", "blue"))

    assert answer["left_at"] == "label"
    assert {one["dimension"]: one["meets"] for one in answer["label"]} == {
        "namespace": True,
        "roles": False,
        "purposes": True,
        "regions": True,
        "cases": True,
    }
    roles = answer["label"][1]
    assert (roles["needs"], roles["holds"]) == (["board"], ["staff", "user:ann"])
    assert "channels" not in answer  # R2: what is invisible was never scored


def test_another_tenants_unit_leaves_at_its_namespace(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("RED", "red"))

    assert answer["left_at"] == "label"
    assert [one["dimension"] for one in answer["label"] if not one["meets"]] == ["namespace"]


def test_a_draft_leaves_where_nobody_asked_for_drafts(pipeline: Pipeline) -> None:
    """R3."""
    author = principal("blue", scope=("ingest", "search"))

    assert explained(pipeline, named("DRAFT", "blue"))["left_at"] == "draft"
    assert explained(pipeline, named("DRAFT", "blue"), who=author)["left_at"] == "draft"
    assert explained(pipeline, named("DRAFT", "blue"), who=author, use="draft")["standing"] == "usable"


def test_a_stale_unit_says_why(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("OLD"))

    assert (answer["left_at"], answer["standing"]) == ("standing", "stale")
    assert answer["because"] == ["was effective until 2026-01-01T00:00:00Z"]


def test_a_filter_takes_a_unit_out_before_ranking(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("LIMIT"), filter={"source_id": ["OTHER"]})

    assert (answer["left_at"], answer["standing"]) == ("standing", "filtered")


def test_a_unit_that_no_channel_offers_is_no_candidate_and_its_deeper_ranks_are_told(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("FAR"), k=1, fusion={"depth": 1})

    assert answer["left_at"] == "candidates"
    assert answer["fused"]["rank"] is None
    assert place(answer, "lexical") == (None, False)  # it holds no term of the query
    rank, offered = place(answer, "dense")
    assert (offered, answer["channels"]["dense"]["of"]) == (False, 4)
    assert rank in (2, 3, 4)


def test_a_candidate_behind_the_k_best_leaves_at_the_selection(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("FAR"), k=1, filter={"source_id": ["FAR", "NEAR"]})

    assert (answer["left_at"], answer["fused"]["rank"]) == ("selection", 2)
    assert answer["omission"]["reason"] == "not-selected"


def test_a_refused_packet_holds_nothing_and_says_so(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("LIMIT"), budget={"max_bytes": 10})

    assert (answer["left_at"], answer["packet"]["disposition"]) == ("refusal", "refused-budget")


def test_a_unit_that_was_left_out_for_space_leaves_at_the_assembly(pipeline: Pipeline) -> None:
    fields: dict[str, Any] = {"k": 2, "filter": {"source_id": ["FAR", "NEAR"]}, "on_overflow": "omit-optional"}
    whole = packet(pipeline, **fields)["rendered"]["bytes"]

    answer = explained(pipeline, named("FAR"), **fields, budget={"max_bytes": whole - 100})

    assert (answer["left_at"], answer["omission"]["reason"]) == ("assembly", "omitted-budget")


def test_a_conflict_is_told_with_its_other_side(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("LIMIT"))

    (group,) = answer["conflict_groups"]
    assert group["members"] == [named("LIMIT"), named("OTHER")]
    assert answer["decision"]["reason"] == "conflicting"


def test_a_broad_packet_holds_a_unit_that_waits_for_its_rows(own: Pipeline) -> None:
    extend(own.catalog, [record("LATE", "Uploads may be late.")])

    assert explained(own, named("LATE"))["left_at"] == "index"
    assert explained(own, named("LATE"))["channels"] == {}
    assert explained(own, named("LATE"), strategy="broad", k=None)["left_at"] is None


def test_a_revoked_grant_and_a_revoked_subject_are_told(own: Pipeline) -> None:
    extend(own.catalog, [record("STAFF", "Uploads of staff.", tenant="blue", access={"roles": ["staff"]})])
    assert explained(own, named("STAFF", "blue"))["left_at"] == "index"

    own.catalog.revoke(Grant(BLUE, "ann", Dimension.ROLE, "staff"))
    assert explained(own, named("STAFF", "blue"))["left_at"] == "label"
    own.catalog.revoke(Subject(BLUE, "ann"))
    assert explained(own, named("STAFF", "blue"))["left_at"] == "credentials"


def test_a_purpose_that_was_not_granted_is_refused_to_an_operator_too(pipeline: Pipeline) -> None:
    with pytest.raises(Forbidden):
        explained(pipeline, named("LIMIT"), purpose="audit")


def test_only_the_channels_of_the_request_are_told(pipeline: Pipeline) -> None:
    answer = explained(pipeline, named("LIMIT"), channel="lexical")

    assert list(answer["channels"]) == ["lexical"]


@pytest.mark.parametrize("dimension", ["roles", "purposes", "regions", "cases"])
def test_each_dimension_is_decided_as_the_label_decides(dimension: str) -> None:
    """R1: any-of within a dimension, all dimensions together; `label_decision` checks itself against `admits`."""
    needs = Label(namespace=BLUE, **{dimension: ("x", "y")})
    facts = revision("A", under=needs)
    grants: dict[str, Any] = {dimension: ("y",)}
    holder = principal("blue", **grants)
    purpose = "y" if dimension == "purposes" else None

    met = label_decision(facts, scope_for(holder, purpose=purpose))
    unmet = label_decision(facts, scope_for(principal("blue"), purpose=None))
    assert [one["meets"] for one in met] == [True] * 5
    assert [one["dimension"] for one in unmet if not one["meets"]] == [dimension]


def test_dimensions_that_add_up_to_another_decision_are_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "admits", lambda *_: False)

    with pytest.raises(BrokenGuarantee):
        label_decision(revision("A"), scope_for(ANN, purpose=None))
