"""Tests of `server/routes.py`, `server/intake.py` and `Catalog.while_allowed`: what a caller lost while its body came
in, or while it was worked on, is lost for this request too (R1)."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from evidence.access import Label, Principal
from evidence.grants import Dimension, Grant, Revocations, Subject
from evidence.identity import Namespace, RevisionKey, SourceKey
from index.catalog import Catalog
from index.records import Records
from server.admission import Admission
from server.app import create_app
from server.authority_schemas import RevocationBody
from server.errors import Forbidden, NotFound, Unauthenticated
from server.in_process import HttpRequest, connection, response_of
from server.intake import Intake
from server.keys import SigningKey, load_key
from server.parsing import parse
from server.pipeline import Pipeline
from server.recalling import own_manifest
from server.recording import Recorder
from server.routes_authority import _delete, _relabel, _revoke
from server.schemas import PacketRequest
from server.scope import may_write
from server.search_batches import SearchBatch
from server.settings import Settings
from server.tokens import LEEWAY_S, issue
from tests.worlds import NOW, WordEncoder, build, pipeline_over, principal, record

BLUE = Namespace("blue")
SCOPES = ("search", "ingest", "revoke", "audit")
ANN = principal("blue", scope=SCOPES)
SUBJECT = Subject(BLUE, "ann")
SOURCE = record("B", "The upload limit is 30 MB.", tenant="blue")
SEARCH = {"query": "upload limit"}
RERANK = {"model": "late-interaction", "query": "upload", "documents": ["limit"]}
POSTS = [
    ("/v1/search", SEARCH, "search"),
    ("/v1/search/batch", {"requests": [SEARCH, SEARCH]}, "search"),
    ("/v1/packets", {**SEARCH, "budget": {"max_tokens": 500, "tokenizer": "o200k_base"}}, "search"),
    ("/v1/embeddings", {"model": "all-MiniLM-L6-v2", "input": "upload"}, "search"),
    ("/v1/rerank", RERANK, "search"),
    ("/v2/rerank", RERANK, "search"),
    ("/v1/sources", SOURCE, "ingest"),
    ("/v1/revocations", {"subject": "bob"}, "revoke"),
    ("/v1/sources/A/access", {"tenant": "blue", "roles": ["engineer"]}, "ingest"),
    ("/v1/reviews", {"packet_id": "p", "handle": "h", "claim": "c", "authority": "bob"}, "audit"),
]


@dataclass(frozen=True)
class Served:
    """An application over a catalog with one source."""

    app: ASGIApp
    catalog: Catalog
    pipeline: Pipeline
    recorder: Recorder
    key: SigningKey

    def ask(self, path: str, body: object, *, meanwhile: Callable[[], object], lifetime_s: int = 60) -> int:
        """The status of an answer to ANN. meanwhile: between the first byte of the body and the others."""
        token = issue(ANN, key=self.key, now_s=int(time.time()), lifetime_s=lifetime_s)
        raw = json.dumps(body).encode()
        method = "PUT" if path.endswith("/access") else "POST"
        request = HttpRequest(method=method, target=path, headers={"authorization": f"Bearer {token}"}, body=raw)
        parts = iter([raw[:1], raw[1:]])
        sent: list[Message] = []

        async def receive() -> Message:
            part = next(parts, None)
            if part is None:
                await asyncio.get_running_loop().create_future()
            if part == raw[1:]:
                meanwhile()
            return {"type": "http.request", "body": part, "more_body": part != raw[1:]}

        async def send(message: Message) -> None:
            sent.append(message)

        asyncio.run(self.app(connection(request), receive, send))  # type: ignore[arg-type]  # an application of ours
        return response_of(sent).status

    def runs(self, packet_id: str) -> list[bytes]:
        """What is on record of a packet."""
        return list(self.recorder.records.runs_of(packet_id, namespace=BLUE, after=None, limit=9))

    def holds(self, source_id: str) -> bool:
        with self.catalog.read() as reading:
            return RevisionKey(BLUE, source_id, "1") in reading.holdings.facts


@pytest.fixture(name="served")
def fixture_served(tmp_path: Path) -> Iterator[Served]:
    directory = tmp_path / "catalog"
    build(directory, [record("A", "The upload limit is 25 MB.", tenant="blue")])
    with Catalog.open(directory) as catalog, Records.open(directory) as records:
        recorder = Recorder(records, catalog, max_runs=10, max_days=30, clock=lambda: NOW)
        pipeline, key = pipeline_over(catalog), load_key(directory)
        app = create_app(Settings(), pipeline=pipeline, recorder=recorder, key=key)
        yield Served(app=app, catalog=catalog, pipeline=pipeline, recorder=recorder, key=key)


@pytest.mark.parametrize(("path", "body", "scope"), POSTS)
def test_who_is_revoked_while_the_body_comes_in_is_refused(served: Served, path: str, body: Any, scope: str) -> None:
    assert served.ask(path, body, meanwhile=lambda: served.catalog.revoke(SUBJECT)) == 401
    assert not served.holds("B")


@pytest.mark.parametrize(("path", "body", "scope"), POSTS)
def test_who_loses_the_scope_while_the_body_comes_in_is_refused(
    served: Served, path: str, body: Any, scope: str
) -> None:
    taken = Grant(BLUE, "ann", Dimension.SCOPE, scope)

    assert served.ask(path, body, meanwhile=lambda: served.catalog.revoke(taken)) == 403
    assert not served.holds("B")


@pytest.mark.parametrize(("path", "body", "scope"), POSTS)
def test_a_token_whose_time_passes_while_the_body_comes_in_is_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, scope: str
) -> None:
    later = time.time() + 1 + LEEWAY_S

    def wait() -> None:
        monkeypatch.setattr(time, "time", lambda: later)

    assert served.ask(path, body, meanwhile=wait, lifetime_s=1) == 401
    assert not served.holds("B")


@pytest.mark.parametrize(
    ("lost", "write"),
    [
        ("ingest", lambda catalog: _delete(catalog, ANN, "A", public=False)),
        ("ingest", lambda catalog: _relabel(catalog, ANN, "A", Label(namespace=BLUE, roles=("x",)), public=False)),
        ("revoke", lambda catalog: _revoke(catalog, ANN, RevocationBody(subject="bob"), public=False)),
    ],
)
def test_what_was_lost_since_the_last_look_is_found_by_the_write_itself(
    served: Served, lost: str, write: Callable[[Catalog], object]
) -> None:
    served.catalog.revoke(Grant(BLUE, "ann", Dimension.SCOPE, lost))

    with pytest.raises(Forbidden):
        write(served.catalog)
    with served.catalog.read() as reading:
        facts = reading.holdings.facts[RevisionKey(BLUE, "A", "1")]
        assert (facts.label.roles, reading.revocations.subjects) == ((), frozenset())


def test_a_packet_that_its_caller_may_not_have_any_more_is_on_record_as_withdrawn(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = served.pipeline.packet
    made: list[str] = []

    def make_and_revoke(*arguments: Any, **named: Any) -> Any:
        body = packet(*arguments, **named)
        made.append(str(body["packet_id"]))
        served.catalog.revoke(SUBJECT)
        return body

    monkeypatch.setattr(served.pipeline, "packet", make_and_revoke)
    assert served.ask(*POSTS[2][:2], meanwhile=lambda: None) == 401
    runs = served.runs(made[0])
    assert [json.loads(run)["delivery"] for run in runs] == ["withdrawn"]


def test_a_manifest_is_judged_by_the_grants_of_the_moment(served: Served) -> None:
    """The principal is the one of before: it waited for its place."""
    engineer = principal("blue", roles=("engineer",))
    served.catalog.relabel(SourceKey(BLUE, "A"), Label(namespace=BLUE, roles=("engineer",)))
    recording = served.recorder.begin("r")
    body = served.pipeline.packet(
        parse(POSTS[2][1], PacketRequest), engineer, deliver=lambda made: recording.keep(made.body, made.sealing)
    )
    records, packet_id = served.recorder.records, str(body["packet_id"])
    assert own_manifest(packet_id, engineer, records=records, catalog=served.catalog, now=NOW)

    served.catalog.revoke(Grant(BLUE, "ann", Dimension.ROLE, "engineer"))
    with pytest.raises(NotFound):
        own_manifest(packet_id, engineer, records=records, catalog=served.catalog, now=NOW)


def test_who_is_revoked_between_two_steps_gets_no_further_one(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = SearchBatch.make

    def make_and_revoke(batch: SearchBatch, place: int) -> None:
        make(batch, place)
        made.append(place)
        served.catalog.revoke(Grant(BLUE, "ann", Dimension.SCOPE, "search"))

    monkeypatch.setattr(SearchBatch, "make", make_and_revoke)
    assert served.ask(*POSTS[1][:2], meanwhile=lambda: None) == 403
    assert made == [0]


def test_who_loses_the_scope_while_a_search_runs_gets_no_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = served.pipeline.search

    def search_and_revoke(*arguments: Any, **named: Any) -> Any:
        found = search(*arguments, **named)
        served.catalog.revoke(Grant(BLUE, "ann", Dimension.SCOPE, "search"))
        return found

    monkeypatch.setattr(served.pipeline, "search", search_and_revoke)
    assert served.ask("/v1/search", SEARCH, meanwhile=lambda: None) == 403


def test_a_source_is_not_written_for_who_was_revoked_while_it_was_encoded(served: Served) -> None:
    class Slow(WordEncoder):
        def encode_documents(self, texts: Any) -> Any:
            served.catalog.revoke(SUBJECT)
            return super().encode_documents(texts)

    line = json.dumps(SOURCE).encode()
    with pytest.raises(Unauthenticated):
        Intake(served.catalog, encoder=Slow()).take(line, namespace=BLUE, allow=may_write(ANN, public=False))
    assert not served.holds("B")


def test_each_write_begins_with_what_is_revoked_in_that_state(served: Served) -> None:
    """Also what was revoked after the catalog was handed out."""
    heard: list[frozenset[Subject]] = []

    def refuse(revocations: Revocations) -> None:
        heard.append(frozenset(revocations.subjects))
        raise Forbidden("no")

    allowed = served.catalog.while_allowed(refuse)
    served.catalog.revoke(SUBJECT)
    with pytest.raises(Forbidden):
        allowed.revoke(Subject(BLUE, "bob"))

    assert heard == [frozenset({SUBJECT})]
    with served.catalog.read() as reading:
        assert reading.revocations.subjects == {SUBJECT}


def test_long_work_lets_those_who_wait_go_first_between_its_steps() -> None:
    """One place: whoever came while the first step was worked on is served before the second."""
    admission = Admission(max_running=1, max_running_per_tenant=1, max_waiting=9, max_waiting_per_tenant=9)
    order: list[str] = []

    async def long_work() -> None:
        async with admission.admit(BLUE) as place:
            order.append("first step")
            await asyncio.sleep(0.01)
            await place.pass_on()
            order.append("second step")

    async def short_work(who: Principal) -> None:
        async with admission.admit(who.namespace):
            order.append("another")

    async def scenario() -> None:
        await asyncio.gather(long_work(), short_work(principal("red")), short_work(ANN))

    asyncio.run(scenario())
    assert order == ["first step", "another", "another", "second step"]
    assert (admission.inside, admission.free) == (0, 1)


def test_who_is_cancelled_while_it_waits_for_its_place_again_holds_none() -> None:
    admission = Admission(max_running=1, max_running_per_tenant=1, max_waiting=9, max_waiting_per_tenant=9)

    async def long_work() -> None:
        async with admission.admit(BLUE) as place:
            await asyncio.sleep(0.01)
            await place.pass_on()

    async def scenario() -> None:
        first = asyncio.create_task(long_work())
        await asyncio.sleep(0)
        async with admission.admit(Namespace("red")):
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert admission.free == 0

    asyncio.run(scenario())
    assert (admission.inside, admission.free) == (0, 1)
