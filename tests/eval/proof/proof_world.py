"""A catalog with something of every kind for a proof: of several tenants, published, newer, waiting, and revoked."""

from pathlib import Path

from evidence.grants import Dimension, Grant, Subject
from evidence.identity import Namespace, RevisionKey, SourceKey
from index.catalog import Catalog
from index.reindex import reindex
from server.keys import create_key
from tests.noninterference.encoder import FastEncoder
from tests.worlds import ANALYZER, RECIPE, arrive, extend, principal, record

BLUE = Namespace("blue")
ANN = principal("blue", roles=("inspector", "technician"), purposes=("audit", "repair"), scope=("ingest", "search"))
LATCH, PUMP = "Check the drum latch before each repair.", "The pump filter is cleaned once a year."

PUBLISHED = [
    record("P-1", LATCH, title="Drum latch"),
    record("P-2", PUMP, access={"roles": ["supervisor"]}),
    record("B-1", f"{LATCH} {PUMP}", tenant="blue", title="Latch and pump", family="bulletin"),
    record("B-1", f"{LATCH} Then the pump.", tenant="blue", revision="2", effective_from="2026-01-01T00:00:00Z"),
    record("B-2", "Technicians measure the torque of each bolt.", tenant="blue", access={"roles": ["technician"]}),
    record("B-3", "Supervisors release a larger latch.", tenant="blue", access={"roles": ["supervisor"]}),
    record("B-4", "A repair is paid by the maker of the latch.", tenant="blue", access={"purposes": ["repair"]}),
    record("B-5", "An unfinished note on the latch.", tenant="blue", status="draft"),
    record("B-6", "The old filter of the pump.", tenant="blue"),
    record("B-7", "Only for Ann: the code of the panel.", tenant="blue", access={"roles": ["user:ann"]}),
    record("B-9", "Inspectors alone may open the drum.", tenant="blue", access={"roles": ["inspector"]}),
    record("B-40", "It goes, and comes again as it was.", tenant="blue"),
    record(
        "B-8",
        "This replaces the latch bulletin.",
        tenant="blue",
        access={"cases": ["hidden"]},
        supersedes=[{"source_id": "B-1", "revision": "2"}],
    ),
    *(record(f"B-{number}", f"{LATCH} Again. {'Drum. ' * 30}", tenant="red") for number in range(1, 9)),
    *(record(f"R-{number}", f"drum latch {number}", tenant="red", title="Drum latch") for number in range(30)),
]
LATER = [
    record("B-20", "A new latch came in with its codes.", tenant="blue"),
    record("B-21", "A new latch for supervisors.", tenant="blue", access={"roles": ["supervisor"]}),
    record("R-40", "A new latch of Red.", tenant="red"),
]
WAITING = [
    record("B-30", "A latch that waits for a reindex.", tenant="blue"),
    record("R-50", "A latch of Red that waits.", tenant="red"),
]
REVOKED: list[Subject | Grant | RevisionKey] = [
    RevisionKey(BLUE, "B-6", "1"),
    RevisionKey(Namespace("red"), "R-1", "1"),
    Grant(BLUE, "ann", Dimension.PURPOSE, "audit"),
    Grant(BLUE, "ann", Dimension.ROLE, "inspector"),
    Grant(BLUE, "cid", Dimension.ROLE, "technician"),
    Subject(BLUE, "bob"),
]


def make(directory: Path) -> Path:
    """The catalog in `directory`."""
    with Catalog.create(directory, RECIPE, prepare=create_key) as catalog:
        extend(catalog, PUBLISHED)
        reindex(catalog, encoder=FastEncoder(), analyzer=ANALYZER, progress=lambda _: None)
        arrive(catalog, LATER, encoder=FastEncoder())
        extend(catalog, WAITING)
        catalog.delete(SourceKey(BLUE, "B-40"))
        extend(catalog, [one for one in PUBLISHED if one["source_id"] == "B-40"])
        for what in REVOKED:
            catalog.revoke(what)
    return directory
