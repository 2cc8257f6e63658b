"""What does a curator see of other tenants?

Who takes sources in, out and under other labels, revokes, and audits, has authority over the whole of their own
namespace (`server/routes_authority.py`): hidden from them is what lies in others. So their world is compared with the
same world without other tenants, and they write as well as read.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from evidence.access import Principal
from evidence.grants import Token
from evidence.identity import PUBLIC, RevisionKey
from server.in_process import HttpResponse
from tests.noninterference.bench import Bench, each_alike
from tests.noninterference.following import next_asked
from tests.noninterference.generated_records import SOURCES
from tests.noninterference.generators import Case, cases
from tests.noninterference.world import Asked, Record, Revocation, Viewpoint, World, key_of
from tests.worlds import principal

SCOPE = ("audit", "ingest", "ingest-public", "revoke", "search")
CURATORS = (
    Viewpoint(who=principal("blue", scope=SCOPE)),
    Viewpoint(who=principal("blue", scope=SCOPE), drafts=True),
    Viewpoint(who=principal(None, scope=SCOPE[1:])),
    Viewpoint(who=principal("blue", roles=("technician",), purposes=("repair",), scope=SCOPE), purpose="repair"),
)
"""An auditor without a tenant is everybody's, and left out: nothing on record is hidden from them."""
_LABELS: tuple[dict[str, Any], ...] = ({}, {"roles": ["supervisor"]}, {"tenant": "red", "public": False})
_IDS = (*SOURCES, "H-1", "N-1")


def own_namespace_only(bench: Bench, case: Case) -> None:
    """M1 for curators. Each packet is audited too; what was written stays written for the next request."""
    part = within(case.world, case.asker.who)
    with bench.application(case.world) as full, bench.application(part) as rest:
        each_alike(case.requests, full.ask, rest.ask, follow=_audited)


def within(world: World, who: Principal) -> World:
    """The world without the namespaces that this principal neither sees nor acts in."""
    namespaces = {PUBLIC, who.namespace}
    records = tuple(record for record in world.records if key_of(record).namespace in namespaces)
    return World(records=records, revocations=tuple(one for one in world.revocations if _meant(one, namespaces)))


@st.composite
def curator_cases(draw: st.DrawFn) -> Case:
    """Cases in which some of the requests write."""
    case = draw(cases(viewpoints=CURATORS))
    requests = list(case.requests[:3])
    for _ in range(draw(st.sampled_from((2, 1, 3)))):
        requests.insert(draw(st.integers(0, len(requests))), draw(_writes(case.asker.who, case.world.records)))
    world = replace(case.world, revocations=tuple(one for one in case.world.revocations if not isinstance(one, Token)))
    return replace(case, world=world, requests=tuple(requests))


@st.composite
def _writes(draw: st.DrawFn, who: Principal, records: Sequence[Record]) -> Asked:
    source_id, public = draw(st.sampled_from(_IDS)), draw(st.sampled_from((who.tenant is None, False, True)))
    suffix = "?public=true" if public else ""
    label: dict[str, Any] = {"public": True} if public else {"tenant": who.tenant or "blue"}

    def write(method: str, target: str, body: Any = None) -> Asked:
        return Asked(who=who, method=method, target=f"/v1/{target}", body=body)

    match draw(st.sampled_from(("take in", "take in", "delete", "relabel", "revoke", "revoke"))):
        case "take in":
            new = draw(st.lists(_new(label, records), min_size=1, max_size=2))
            return write("POST", f"sources{suffix}", b"\n".join(json.dumps(one).encode() for one in new))
        case "delete":
            return write("DELETE", f"sources/{quote(source_id, safe='')}{suffix}")
        case "relabel":
            access = {**label, **draw(st.sampled_from(_LABELS))}
            return write("PUT", f"sources/{quote(source_id, safe='')}/access{suffix}", access)
        case _:
            return write("POST", f"revocations{suffix}", draw(st.sampled_from(_revocable(who, source_id))))


@st.composite
def _new(draw: st.DrawFn, label: Record, records: Sequence[Record]) -> dict[str, Any]:
    """A record to be taken in: new, one that is there or hidden, changed, under another label, or another tenant's."""
    plain: Record = {"source_id": "N-1", "revision": "1", "text": "upload limit case"}
    base = draw(st.sampled_from([plain, *records]))
    changed = draw(
        st.sampled_from(
            (
                {},
                {"revision": "7"},
                {"text": f"{base['text']} pump"},
                {"access": {**label, "roles": ["supervisor"]}},
                {"access": {"tenant": "red"}},
                {"supersedes": [{"source_id": draw(st.sampled_from(_IDS)), "revision": "1"}]},
            )
        )
    )
    record = {**base, "access": dict(label), **changed}
    itself = {"source_id": record["source_id"], "revision": record["revision"]}
    record["supersedes"] = [one for one in record.get("supersedes", ()) if one != {**one, **itself}]
    record["contradicts"] = [one for one in record.get("contradicts", ()) if one["source_id"] != record["source_id"]]
    return record


def _revocable(who: Principal, source_id: str) -> list[dict[str, Any]]:
    return [
        *({"source_id": source_id, "revision": revision} for revision in ("1", "2")),
        {"subject": "bob"},
        {"token_id": "T-1"},
        {"grant": {"subject": who.sub, "role": "technician"}},
        {"grant": {"subject": "bob", "purpose": "repair"}},
    ]


def _meant(revocation: Revocation, namespaces: set[Any]) -> bool:
    if isinstance(revocation, RevisionKey):
        return revocation.namespace in namespaces
    return revocation.namespace is None or revocation.namespace in namespaces


def _audited(asked: Asked, answer: HttpResponse) -> Iterator[Asked]:
    """What follows from an answer, and every packet's runs, sealed."""
    yield from next_asked(asked, answer)
    if asked.target == "/v1/packets" and answer.status == 200:
        packet_id = json.loads(answer.body)["packet_id"]
        yield Asked(who=asked.who, method="GET", target=f"/v1/audit/{packet_id}")
