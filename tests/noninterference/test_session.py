"""Does a caller notice what strangers do while it works? (M6)"""

from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import pytest

from evidence.access import Scope
from evidence.eligibility import Use
from index.catalog import Catalog
from index.catalog_read import Holdings
from index.compartments import Visible, see
from server.in_process import HttpResponse
from server.recording import Recorder
from tests.noninterference.application import Application, running
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.company_suite import in_sessions
from tests.noninterference.relations import Relation
from tests.noninterference.relations_of_sessions import Session, Turn, undisturbed
from tests.noninterference.strangers import Stranger
from tests.noninterference.suite import IN_EVERY_RUN, SUITE
from tests.noninterference.world import Asked, Viewpoint, World
from tests.worlds import principal, record

ANN = Viewpoint(who=principal("blue"))
SEEN = [record("A", "The upload limit is 25 MB.", tenant="blue"), record("B", "Uploads, for everybody.")]
HIDDEN = [
    record("A", "The upload limit is 99 MB.", tenant="red"),
    record("C", "The upload limit of few.", tenant="blue", access={"roles": ["supervisor"]}),
]
WITHHELD = [record("A", "The upload limit is 98 MB.", tenant="red", revision="2"), record("D", "Upload", tenant="red")]
WORLD = World(records=(*SEEN, *HIDDEN))
ASKS = [replace(ANN, who=principal("red")).packet("upload limit"), replace(ANN, who=principal("green")).catalog()]


def stranger(elsewhere: Catalog) -> Stranger:
    return Stranger(
        ANN, present=WORLD.records, withheld=WITHHELD, spared=(), asks=ASKS, elsewhere=elsewhere, random=Random(5)
    )


def held(bench: Bench, *requests: Asked, few_runs: bool = False) -> None:
    """The session of these requests, each asked about a few times later."""
    turns = (*[Turn.ASK] * len(requests), *[Turn.LATER] * 4 * len(requests))
    session = Session(requests=requests, turns=turns, grows=(), few_runs=few_runs)
    undisturbed(bench, WORLD, session, stranger, random=Random(6), small_caches=False)


def test_a_session_goes_on_as_if_nobody_else_did_anything(bench: Bench) -> None:
    """R6, R29, R35: strangers act before every request and at every stage of it."""
    SUITE[Relation.M6](bench, IN_EVERY_RUN[Relation.M6])


@pytest.mark.soak
def test_a_session_goes_on_as_if_nobody_else_did_anything_in_many_worlds(bench: Bench) -> None:
    in_sessions(bench, 2000)


def test_strangers_do_all_that_they_can_and_are_refused_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[tuple[str, int]] = []
    ask = Application.ask

    def ask_and_remember(self: Application, asked: Asked) -> HttpResponse:
        answer = ask(self, asked)
        answered.append((asked.method, answer.status))
        return answer

    monkeypatch.setattr(Application, "ask", ask_and_remember)
    with bench.catalog(WORLD) as directory, Catalog.open(directory) as elsewhere:
        one = stranger(elsewhere)
        with running(directory, portal=bench.portal) as application:
            for _ in range(60):
                one.act(application)

    assert set(one.done) == {"_publish", "_delete", "_relabel", "_revoke", "_reindex", "_ask"}
    assert {("POST", 200), ("PUT", 200), ("DELETE", 200), ("GET", 200)} == set(answered)


def test_a_version_that_counts_what_is_written_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The relation can fail."""

    def see_and_count(holdings: Holdings, *, scope: Scope, use: Use) -> Visible:
        return replace(see(holdings, scope=scope, use=use), catalog_version=f"sha256:{holdings.change:064}")

    held(bench, ANN.search("upload limit"), ANN.packet("upload limit"))
    monkeypatch.setattr("index.snapshot.see", see_and_count)
    with pytest.raises(Difference, match="strangers did"):
        held(bench, ANN.search("upload limit"), ANN.packet("upload limit"))


def test_records_that_go_when_others_ask_are_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The relation can fail: how often others ask decides when a caller's own manifest is gone."""
    requests = [ANN.packet(query) for query in ("upload limit", "limit", "upload")]
    prune, asked = Recorder.prune, count(1)

    def prune_all(self: Recorder, _: Any = None) -> None:
        prune(self)

    held(bench, *requests, few_runs=True)
    monkeypatch.setattr(Recorder, "_completed_of", lambda *_: next(asked))
    monkeypatch.setattr(Recorder, "prune", prune_all)
    with pytest.raises(Difference, match="GET /v1/manifests/"):
        held(bench, *requests, few_runs=True)
