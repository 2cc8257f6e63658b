"""What does a caller ask next, about what an answer gave them? (pure)"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from server.in_process import HttpResponse
from tests.noninterference.world import Asked


def next_asked(asked: Asked, answer: HttpResponse) -> Iterator[Asked]:
    """After a packet: its manifest, a replay of it, its citations judged. After the catalog's facts: a search and a
    packet of that very version. After anything else: nothing."""
    if answer.status != 200:
        return
    body = json.loads(answer.body)
    if asked.target == "/v1/packets":
        yield Asked(who=asked.who, method="GET", target=f"/v1/manifests/{body['packet_id']}")
        yield replace(asked, target="/v1/manifests/replay", body={"manifest": body["manifest"]})
        if body["packet"] is not None:
            yield replace(asked, target="/v1/citations/validate", body=cited(asked.body, body["packet"]))
    elif asked.target.startswith("/v1/catalog"):
        purpose = asked.target.partition("purpose=")[2]
        wanted = {"query": "upload limit", "catalog_version": body["catalog_version"]}
        wanted |= {"purpose": purpose} if purpose else {}
        for target in ("/v1/search", "/v1/packets"):
            yield replace(asked, method="POST", target=target, body=wanted)


def cited(request: dict[str, Any], packet: dict[str, Any]) -> dict[str, Any]:
    """The body that has the citations of a packet judged: each passage quoted, and one handle made up."""
    shown = packet["evidence"]
    occurrences = [{"handle": item["handle"], "quote": item["text"]} for item in shown]
    occurrences.append({"handle": "EV-0000000000000000", "quote": "upload"})
    kept = {name: request[name] for name in ("purpose", "subject") if request.get(name) is not None}
    return {"packet": packet, "occurrences": occurrences, **kept}
