"""What may a caller not use, one of each kind, and how do both gates let one of it through?"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import index.compartments
import server.gate
from evidence.eligibility import Eligibility, Standing, is_visible, judge
from evidence.identity import Namespace, RevisionKey
from evidence.revision import RevisionFacts
from tests.worlds import build, principal, record

CANARY = "zanzibar"
BLUE, RED = Namespace("blue"), Namespace(f"{CANARY}-tenant")
ANN = principal("blue", roles=("technician",), purposes=("repair",), scope=("ingest", "search"))
ASKED = {"query": "how is the seal reset", "purpose": "repair", "subject": "valve", "filter": {"family": ["seals"]}}
OWN = record(
    "OWN", "The seal is reset with tool nine.", tenant="blue", family="seals", access={"roles": ["technician"]}
)


def kept(name: str, **more: Any) -> dict[str, Any]:
    """A source that has the canary in its id, its title, its owner and its text."""
    tenant = more.pop("tenant", "blue")
    said = {"title": f"{CANARY} {name}", "owner": CANARY, "family": "seals", **more}
    return record(f"{CANARY}-{name}", f"The {CANARY} seal is reset by {name}.", tenant=tenant, **said)


KINDS: dict[str, list[dict[str, Any]]] = {
    "another tenant's": [kept("foreign", tenant=RED)],
    "for another role": [kept("role", access={"roles": ["surgeon"]})],
    "for another purpose": [kept("purpose", access={"purposes": ["audit"]})],
    "of another region": [kept("region", access={"regions": ["north"]})],
    "of another case": [kept("case", access={"cases": ["17"]})],
    "a draft": [kept("draft", status="draft")],
    "revoked": [kept("revoked", status="revoked")],
    "over": [kept("over", effective_to="2025-01-01T00:00:00Z")],
    "yet to come": [kept("to-come", effective_from="2027-01-01T00:00:00Z")],
    "replaced by a newer revision": [
        kept("replaced"),
        kept("replaced", revision="2", effective_from="2026-01-01T00:00:00Z", access={}),
    ],
    "superseded by another source": [
        kept("superseded"),
        kept("superseder", family="valves", supersedes=[{"source_id": f"{CANARY}-superseded", "revision": "1"}]),
    ],
    "for another subject": [kept("subject", applies_to=["pump"])],
    "left out by the filter": [kept("filtered", family="valves")],
}


def key_of(one: Mapping[str, Any]) -> RevisionKey:
    return RevisionKey(Namespace(one["access"]["tenant"]), one["source_id"], one["revision"])


HELD_BACK = {name: key_of(records[0]) for name, records in KINDS.items()}


def build_kinds(directory: Path) -> Path:
    """One catalog of all kinds, beside what the caller may use."""
    build(directory, [OWN, *(one for records in KINDS.values() for one in records)])
    return directory


@contextmanager
def admitted(key: RevisionKey) -> Iterator[None]:
    """Both gates let one revision through, as if it were usable, for as long as this lasts."""

    def see(facts: RevisionFacts, **asked: Any) -> bool:
        return facts.key == key or is_visible(facts, **asked)

    def stand(visible: Iterable[RevisionFacts], eligibility: Eligibility) -> dict[RevisionKey, Standing]:
        found = judge(visible, eligibility)
        return found | ({key: Standing.USABLE} if key in found else {})

    with (
        mock.patch.object(index.compartments, "admits", return_value=True),
        mock.patch.object(index.compartments, "is_visible", see),
        mock.patch.object(index.compartments, "judge", stand),
        mock.patch.object(server.gate, "live_standings", everything),
    ):
        yield


def everything(reading: Any, keys: Iterable[RevisionKey], _: Eligibility) -> dict[RevisionKey, Any]:
    """What `live_standings` gives where it lets everything through."""
    return {key: (reading.facts()[key], Standing.USABLE) for key in keys if key in reading.facts()}
