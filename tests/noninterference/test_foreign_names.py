"""Does a name of something foreign tell more than a name of nothing? (M7, R7)"""

from typing import Any

import pytest

from evidence.access import Principal
from evidence.identity import SourceKey
from index.catalog import Catalog
from index.catalog_removal import Removed
from index.records import Records
from server.errors import Forbidden, NotFound
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.names import OnRecord, probes_of_records, probes_of_sources
from tests.noninterference.relations import Relation
from tests.noninterference.relations_of_names import CALLERS, OF_SOURCES, PLACES, foreign_names
from tests.noninterference.suite import IN_EVERY_RUN, SUITE
from tests.noninterference.world import World


def test_a_foreign_name_is_answered_as_one_that_never_was(bench: Bench) -> None:
    SUITE[Relation.M7](bench, IN_EVERY_RUN[Relation.M7])


def test_every_place_that_takes_a_name_is_tried() -> None:
    view = CALLERS[0]
    on_record = OnRecord(packet_id="a", colleague_packet_id="b", review_id="c", request_id="d", own_packet_id="e")

    of_sources = probes_of_sources(view)
    assert len(of_sources) == OF_SOURCES
    assert len(of_sources) + len(probes_of_records(view, on_record)) == PLACES


def test_the_names_of_a_place_have_one_length() -> None:
    for view in CALLERS:
        for probe in probes_of_sources(view):
            assert len({len(name) for name in probe.names}) == 1, probe.place


def test_another_answer_for_a_foreign_source_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """R7: as in a server that looks for the source first, and for who may change it after that."""

    def anywhere(self: Catalog, key: SourceKey) -> Removed | None:
        with self.read() as reading:
            if any(held.source_id == key.source_id and held.namespace != key.namespace for held in reading.facts()):
                raise Forbidden("this source is another tenant's")
        return None

    monkeypatch.setattr(Catalog, "delete", anywhere)

    with pytest.raises(Difference, match=r"^delete: DELETE /v1/sources/QX-7"):
        foreign_names(bench, World(records=()), CALLERS[0], range(PLACES))


def test_a_longer_refusal_of_a_foreign_packet_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(packet_id: str, principal: Principal, *, records: Records, **_: Any) -> Any:
        found = records.manifest_of(packet_id) is not None
        raise NotFound("no such manifest" + " of yours" * found)

    monkeypatch.setattr("server.routes_records.own_manifest", telling)

    with pytest.raises(Difference, match=r"^manifest: GET /v1/manifests/sha256:"):
        foreign_names(bench, World(records=()), CALLERS[0], range(OF_SOURCES, PLACES))
