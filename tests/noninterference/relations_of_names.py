"""What does a caller learn by asking for a name? (R7)

M7, in two comparisons. In one world: the foreign name, the one that never was and the one that nobody would give have
the same status, headers, length, and the same body but for the name itself where the answer holds the request; digests
over the request differ with it and are left out there. In two worlds: the same request, where its name is foreign and
where it never was, and then not one byte may differ, digests included.
"""

import json
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from evidence.access import Principal
from server.in_process import HttpResponse
from tests.noninterference.application import Application
from tests.noninterference.bench import Bench, Difference, each_alike, require_equal
from tests.noninterference.names import GONE, OnRecord, Probe, planted, probes_of_records, probes_of_sources
from tests.noninterference.world import Asked, Viewpoint, World
from tests.worlds import principal

_DIGEST = re.compile(rb"sha256:[0-9a-f]{64}")
_QUERY = "upload limit"
CALLERS = (
    Viewpoint(who=principal("blue", scope=("audit", "ingest", "ingest-public", "revoke", "search"))),
    Viewpoint(who=principal(None, scope=("ingest", "ingest-public", "revoke", "search"))),
    Viewpoint(who=principal("blue", scope=("search",), purposes=("repair",)), purpose="repair"),
)
"""Who may do everything in their own namespace, with and without a tenant; and who may only search. An auditor without
a tenant is everybody's: nothing on record is foreign to them."""
OF_SOURCES, PLACES = 33, 42  # so many places take the name of a source, and so many a name


def foreign_names(bench: Bench, world: World, view: Viewpoint, chosen: Collection[int]) -> None:
    """M7, over those places that take a name which are chosen by number. Every one of the caller's requests is
    made of one application: what is asked by one name may not show in what another gets either."""
    called_so, called_otherwise = (World(records=(*planted(view, called), *world.records)) for called in (None, GONE))
    with bench.application(called_so) as with_names, bench.application(called_otherwise) as without:
        of_sources = [probe for place, probe in enumerate(probes_of_sources(view)) if place in chosen]
        for probe in of_sources:
            names_alike(with_names, probe)
        if any(place >= OF_SOURCES for place in chosen):
            of_records = probes_of_records(view, _leave_on_record(with_names, view))
            for place in range(OF_SOURCES, PLACES):
                if place in chosen:
                    names_alike(with_names, of_records[place - OF_SOURCES])
        each_alike([probe.ask(probe.names[0]) for probe in of_sources], with_names.ask, without.ask)


def names_alike(application: Application, probe: Probe) -> None:
    """Raise Difference unless all names of a probe are answered alike."""
    foreign, *others = (_told(application, probe, name) for name in probe.names)
    for asked, answer in others:
        try:
            require_equal(asked, foreign[1], answer)
        except Difference as difference:
            raise Difference(f"{probe.place}: {foreign[0]} against\n{difference}") from None


def replayed_alike(bench: Bench, world: World, view: Viewpoint) -> None:
    """M7 for manifests: another tenant's, replayed by the caller, is answered alike whether it is on record or not."""
    other = Viewpoint(who=_other_tenant(view.who))
    unrevoked = World(records=world.records)
    with bench.application(unrevoked) as told, bench.application(unrevoked) as untold:
        made = json.loads(told.ask(other.packet(_QUERY)).body)
        body = {"manifest": made["manifest"]}
        require = Asked(who=view.who, method="POST", target="/v1/manifests/replay", body=body)
        each_alike([require], told.ask, untold.ask)


def _told(application: Application, probe: Probe, name: str) -> tuple[Asked, HttpResponse]:
    asked = probe.ask(name)
    answer = application.ask(asked)
    return asked, _without(answer, name) if probe.echoes and answer.status == 200 else answer


def _without(answer: HttpResponse, name: str) -> HttpResponse:
    """The answer with a blank in place of the name, as JSON or a unit id spells it, and of every digest. Lengths were
    declared before, and stay as they were."""
    body = answer.body
    for spelled in (name, quote(name, safe="")):
        body = body.replace(spelled.encode(), b"?" * len(name))
    return replace(answer, body=_DIGEST.sub(b"sha256:" + b"?" * 64, body))


def _leave_on_record(application: Application, view: Viewpoint) -> OnRecord:
    """Other callers ask, and dispute; then the caller asks."""
    other = Viewpoint(who=_other_tenant(view.who))
    colleague = replace(view, who=replace(view.who, sub="bob"))
    asked = application.ask(other.packet(_QUERY))
    foreign = json.loads(asked.body)
    handle = foreign["packet"]["evidence"][0]["handle"]
    dispute = {"packet_id": foreign["packet_id"], "handle": handle, "claim": "so", "authority": "board"}
    review = application.ask(Asked(who=other.who, method="POST", target="/v1/reviews", body=dispute))
    return OnRecord(
        packet_id=foreign["packet_id"],
        colleague_packet_id=_packet_id(application.ask(colleague.packet(_QUERY))),
        review_id=json.loads(review.body)["review_id"],
        request_id=dict(asked.headers)[b"x-request-id"].decode(),
        own_packet_id=_packet_id(application.ask(view.packet(_QUERY))),
    )


def _packet_id(answer: HttpResponse) -> Any:
    return json.loads(answer.body)["packet_id"]


def _other_tenant(who: Principal) -> Principal:
    return principal("red", sub=who.sub, scope=("audit", "search"))
