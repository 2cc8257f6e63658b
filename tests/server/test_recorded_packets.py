"""Do whole packets, as the pipeline makes them, stay on record and come back?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from server.errors import NotFound
from server.parsing import parse
from server.pipeline import Pipeline
from server.recalling import audit, own_manifest, query_code_of
from server.record_schemas import AuditQuery
from server.recording import Recorder
from server.schemas import PacketRequest
from tests.server.recorded import recorder
from tests.worlds import NOW, WordEncoder, build, extend, opened, principal, record

ANN = principal("blue")
EVE = principal("blue", sub="eve", scope=("audit",))
QUERY = "upload limit"
LIMIT = record("limit", "The upload limit is 25 MB.", tenant="blue", revision="2")
RECORDS = [
    LIMIT,
    record("limit", "The upload limit was 10 MB.", tenant="blue", revision="1"),
    record("guide", "How an upload works, in general."),
    record("secret", "The upload limit of the board is 99 MB.", tenant="blue", access={"roles": ["board"]}),
]


@pytest.fixture(name="pipeline")
def fixture_pipeline(tmp_path: Path) -> Iterator[Pipeline]:
    build(tmp_path / "catalog", RECORDS)
    with opened(tmp_path / "catalog") as pipeline:
        yield pipeline


@pytest.fixture(name="kept_by")
def fixture_kept_by(pipeline: Pipeline) -> Iterator[Recorder]:
    made = recorder(pipeline.catalog.directory, pipeline.catalog, now=NOW)
    with made.records:
        yield made


def answered(pipeline: Pipeline, kept_by: Recorder, **asked: Any) -> Any:
    """An answer that was put on record before it left, and sealed afterwards."""
    recording = kept_by.begin("r-1")
    body = pipeline.packet(
        parse({"query": QUERY, **asked}, PacketRequest),
        ANN,
        deliver=lambda prepared: recording.keep(prepared.body, prepared.sealing),
    )
    recording.seal()
    return body


def test_a_manifest_comes_back_with_the_bytes_it_was_answered_with(pipeline: Pipeline, kept_by: Recorder) -> None:
    body = answered(pipeline, kept_by)

    again = own_manifest(body["packet_id"], ANN, records=kept_by.records, catalog=pipeline.catalog, now=NOW)
    assert msgspec.json.encode(again) == msgspec.json.encode(body["manifest"])


def test_a_manifest_is_gone_when_a_unit_in_it_was_put_under_another_label(
    pipeline: Pipeline, kept_by: Recorder
) -> None:
    """R35."""
    body = answered(pipeline, kept_by)
    restricted = {**LIMIT, "access": {"tenant": "blue", "roles": ["board"]}}
    extend(pipeline.catalog, [restricted], relabel=True)

    with pytest.raises(NotFound):
        own_manifest(body["packet_id"], ANN, records=kept_by.records, catalog=pipeline.catalog, now=NOW)


HOSTILE = "red/elsewhere@1#0"  # reads like the id of a unit that is not there


@pytest.mark.parametrize(
    "record_of",
    [
        {"title": HOSTILE},
        {"owner": HOSTILE},
        {"family": HOSTILE},
        {"claims": [{"key": "upload.limit", "value": HOSTILE, "quote": "30 MB"}]},
        {"claims": [{"key": HOSTILE, "value": "30", "quote": "30 MB"}]},
        {"metadata": {"note": HOSTILE}},
        {"applies_to": [HOSTILE]},
        {},
    ],
)
def test_words_that_read_like_a_unit_id_never_take_a_manifest_from_its_caller(
    record_of: dict[str, Any], pipeline: Pipeline, kept_by: Recorder
) -> None:
    """R35: free text of sources, and the caller's own name of a role."""
    extend(pipeline.catalog, [record("odd", "The upload limit is 30 MB.", tenant="blue", **record_of)])

    role = {"role": HOSTILE, "match": {"source_id": "odd"}}
    body = answered(pipeline, kept_by, requirements=[role], strategy="auto", k=1)
    again = own_manifest(body["packet_id"], ANN, records=kept_by.records, catalog=pipeline.catalog, now=NOW)
    assert HOSTILE in str(again)
    assert again["disposition"] == "accepted"


@pytest.mark.parametrize("strategy", ["narrow", "broad"])
def test_what_the_caller_reads_as_absent_is_unauthorized_on_record(
    strategy: str, pipeline: Pipeline, kept_by: Recorder
) -> None:
    """R7: for two roles of which neither is filled, one exists and is hidden."""
    matches = {"hidden": {"source_id": "secret"}, "missing": {"source_id": "nowhere"}}
    requirements = [{"role": role, "match": match} for role, match in matches.items()]
    body = answered(pipeline, kept_by, requirements=requirements, strategy=strategy)

    states = {role["role"]: role["state"] for role in body["manifest"]["coverage"]["roles"]}
    assert states == {"hidden": "absent", "missing": "absent"}
    read: Any = audit(body["packet_id"], EVE, AuditQuery(), recorder=kept_by)
    assert [finding["role"] for finding in read["runs"][0]["unauthorized"]] == ["hidden"]


def test_the_query_code_on_record_is_the_one_that_was_searched_with(pipeline: Pipeline, kept_by: Recorder) -> None:
    """R10."""
    body = answered(pipeline, kept_by)

    kept = query_code_of(body["packet_id"], ANN, records=kept_by.records)
    assert kept == WordEncoder().encode_query(QUERY).tobytes()


def test_two_runs_of_one_question_share_a_manifest(pipeline: Pipeline, kept_by: Recorder) -> None:
    first, second = answered(pipeline, kept_by), answered(pipeline, kept_by)

    assert first["packet_id"] == second["packet_id"]
    read: Any = audit(first["packet_id"], EVE, AuditQuery(), recorder=kept_by)
    assert len(read["runs"]) == 2
