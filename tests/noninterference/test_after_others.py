"""Does it show who else asked, or wrote, on the same application? (M6)"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from evidence.eligibility import Filter, Use
from evidence.grants import Dimension, Grant
from index.catalog_read import KeptHoldings
from index.catalog_revocations import KeptRevocations
from index.delta import _Kept
from index.snapshot import Snapshots
from server.queries import QueryReader
from server.searchable import SearchableRows
from server.views import Views
from tests.noninterference.bench import Bench
from tests.noninterference.callers_suite import OTHERS
from tests.noninterference.careless import forgetting
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.relations_of_callers import after_others, others_than, while_others_wrote
from tests.noninterference.world import Viewpoint, World
from tests.worlds import principal, record

ANN = Viewpoint(who=principal("blue", roles=("technician",), purposes=("audit",), scope=("ingest", "search")))
RECORDS = (
    record("A", "The pump needs oil.", tenant="blue", family="manual", effective_from="2025-01-01T00:00:00Z"),
    record(
        "B",
        "The pump needs water, and oil.",
        tenant="blue",
        access={"roles": ["supervisor"]},
        supersedes=[{"source_id": "F", "revision": "1", "public": True}],
    ),
    record("C", "An audit of the pump.", tenant="blue", access={"purposes": ["audit"]}),
    record("D", "The pump, in a draft.", tenant="blue", status="draft"),
    record("E", "Red's pump needs no oil.", tenant="red", access={"roles": ["technician"]}),
    record("F", "A pump, for everybody.", applies_to=["k1"]),
    record("G", "A pump for one.", tenant="blue", access={"roles": ["user:bob"]}),
    record("H", "Oil for the newest pump.", tenant="blue", status="superseded"),
    record("I", "Oil for the newest pump of all.", tenant="blue", access={"roles": ["technician"]}),
)
WORLD = World(records=RECORDS)
OTHERS_THAN_ANN = (*others_than(ANN), replace(ANN, who=replace(ANN.who, regions=("EU",))))
"""The last one sees just what the caller sees."""
LOST = Grant(None, "ann", Dimension.ROLE, "technician")
REQUESTS = (
    ANN.search("pump audit", filter={"family": ["manual"]}),
    ANN.search("pump audit", subject="k2"),
    ANN.search("pump audit", as_of="2026-01-01T00:00:00Z"),
    ANN.search("pump oil", k=3),
    ANN.packet("pump oil", strategy="broad"),
)
"""What restricts comes first; where they are asked backwards, it comes last."""
Switch = Callable[[], AbstractContextManager[None]]
Relation = Callable[[Bench], None]


def after(bench: Bench) -> None:
    after_others(bench, WORLD, ANN, OTHERS_THAN_ANN, REQUESTS)


def meanwhile(bench: Bench) -> None:
    while_others_wrote(bench, replace(WORLD, revocations=(LOST,)), ANN, OTHERS_THAN_ANN[:2], REQUESTS[::3])


def of_the_first_state(at: Any) -> Any:
    """As `at`, forever in the state that was kept first."""

    def at_first(self: Any, change: int, connection: Any) -> Any:
        return at(self, next(iter(self._kept), change), connection)

    return at_first


FORGOTTEN: dict[str, tuple[Relation, Switch]] = {
    "visible: purpose": (
        after,
        forgetting(Snapshots, "_visible", lambda key: replace(key, scope=replace(key.scope, purpose=None))),
    ),
    "visible: use": (after, forgetting(Snapshots, "_visible", lambda key: replace(key, use=Use.CURRENT))),
    "usable: filter": (after, forgetting(Snapshots, "_eligible", lambda key: replace(key, filter=Filter()))),
    "usable: subject": (after, forgetting(Snapshots, "_eligible", lambda key: replace(key, subject=None))),
    "usable: moment": (after, forgetting(Snapshots, "_eligible", lambda key: replace(key, as_of=None))),
    "tables: version": (after, forgetting(Views, "_visible", lambda _: "")),
    "epoch: scope": (after, forgetting(Views, "_epochs", lambda key: key[0])),
    "statistics: rows": (after, forgetting(SearchableRows, "_statistics", lambda key: key[0])),
    "codes: text": (after, forgetting(QueryReader, "_codes", lambda key: key[0])),
    "delta: state": (meanwhile, forgetting(_Kept, "states", lambda key: key[0])),
    "delta's index: name": (meanwhile, forgetting(SearchableRows, "_deltas", lambda _: "")),
    "holdings: state": (meanwhile, replacing(KeptHoldings, "at", of_the_first_state(KeptHoldings.at))),
    "revocations: state": (meanwhile, replacing(KeptRevocations, "at", of_the_first_state(KeptRevocations.at))),
}
"""Everything that is kept, each under a key from which one part is missing."""
ROOM = (
    "index.catalog_read.STATES_KEPT",
    "index.catalog_revocations.STATES_KEPT",
    "index.delta.STATES_KEPT",
    "index.delta.TEXTS_REMEMBERED",
    "index.snapshot.REVISIONS_KEPT",
    "server.queries.CODES_KEPT",
    "server.searchable.GENERATIONS_KEPT",
    "server.searchable.SCOPES_KEPT",
    "server.views.VIEWS_KEPT",
)
"""How much is kept of each."""


def test_who_asked_or_wrote_before_changes_no_answer(bench: Bench) -> None:
    """R6, R35: of the same name, tenant or grants; every second world grew meanwhile."""
    OTHERS(bench, 16)


@pytest.mark.soak
def test_who_asked_or_wrote_before_changes_no_answer_in_many_worlds(bench: Bench) -> None:
    OTHERS(bench, 1000)


@pytest.mark.parametrize("relation", [after, meanwhile])
def test_nothing_that_is_kept_shows_to_the_next_caller(bench: Bench, relation: Relation) -> None:
    relation(bench)


@pytest.mark.parametrize("relation", [after, meanwhile])
def test_what_had_to_make_room_shows_to_nobody(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, relation: Relation
) -> None:
    """Wherever something is kept there is room for one: each caller drives out what the one before left."""
    for place in ROOM:
        monkeypatch.setattr(place, 1)

    relation(bench)


@pytest.mark.parametrize("forgotten", FORGOTTEN)
def test_each_part_of_the_key_under_which_something_is_kept_is_missed(bench: Bench, forgotten: str) -> None:
    """The comparison has teeth: with any part forgotten, a request is served what was kept for another one, or fails
    where the index itself sees that what it was given does not belong together."""
    relation, switched_on = FORGOTTEN[forgotten]

    with switched_on(), pytest.raises(AssertionError):
        relation(bench)
