"""Under which names may a caller ask, and which of them name something that is not theirs?

For each place that takes a name: a foreign one, one that never was, and one that nobody would give but that reads as
valid; all of one length, so that lengths may be compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.noninterference.generated_requests import citations, handle_of
from tests.noninterference.world import Asked, Record, Viewpoint
from tests.worlds import record

ELSEWHERE, HERE = "QX-7", "QH-7"
"""Source ids of another tenant, and of the caller's own namespace under a label that does not admit them."""
GONE = {ELSEWHERE: "QX-9", HERE: "QH-9"}
"""What the same sources are called in the world where those names never were."""
_TEXT = "upload limit case"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A place that takes a name. names: the foreign one first. echoes: whether the answer holds the request, and with
    it the name and digests over it."""

    place: str
    names: tuple[str, ...]
    ask: Callable[[str], Asked]
    echoes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRecord:
    """What other callers left on record, and the caller's own packet."""

    packet_id: str  # another tenant's
    colleague_packet_id: str  # another subject's of the caller's tenant
    review_id: str  # another tenant's
    request_id: str  # another tenant's
    own_packet_id: str


def planted(view: Viewpoint, called: Mapping[str, str] | None = None) -> tuple[Record, ...]:
    """The foreign sources, under their names or under what `called` makes of those."""
    tenant = view.who.tenant
    labels = {ELSEWHERE: ("red", {}), HERE: (tenant, {"roles": ["supervisor"]})}
    more: dict[str, Any] = {"claims": [{"key": "sealed", "value": "1", "quote": "limit"}], "family": "sealed"}
    return tuple(
        record((called or {}).get(name, name), _TEXT, tenant=owner, access=access, **more)
        for name, (owner, access) in labels.items()
    )


def together(view: Viewpoint, searches: Sequence[Asked]) -> Asked:
    """These searches in one call."""
    body = {"requests": [search.body for search in searches]}
    return Asked(who=view.who, method="POST", target="/v1/search/batch", body=body)


def _like(name: str) -> tuple[str, str, str]:
    """A name, one of the same form, and one of no form at all."""
    return name, name[:-1] + "8", "'../"[: len(name)]


def probes_of_sources(view: Viewpoint) -> tuple[Probe, ...]:
    """Every place that takes the name of a source, a unit, a passage or what a source says of itself."""
    return tuple(probe for name in (ELSEWHERE, HERE) for probe in _reading(view, name)) + _writing(view)


def _reading(view: Viewpoint, name: str) -> tuple[Probe, ...]:
    namespace = "red" if name == ELSEWHERE else view.who.namespace
    units = (f"{namespace}/{name}@1#0", f"{namespace}/{name}@1#7", f"{namespace}/{name}@2#0", f"{namespace}/{name}@1?0")
    handles = (*map(handle_of, _of_name(view, name)), "EV-0000000000000000", "EV-ZZZZZZZZZZZZZZZZ")

    def requiring(**match: Any) -> Asked:
        return view.packet("upload limit", requirements=[{"role": "r", "match": match}])

    def talk(handle: str) -> Asked:
        turns = [{"role": "assistant", "content": f"See {handle}."}]
        return view.packet("upload limit", k=1, adapter="openai", conversation=turns)

    def reranked(one: str) -> Asked:
        body = {"model": "shared-words", "query": "upload limit", "documents": ["limit", one]}
        return Asked(who=view.who, method="POST", target="/v1/rerank", body=body)

    return (
        Probe(
            place="packet of a whole source",
            names=_like(name),
            ask=lambda one: view.packet("upload limit", strategy="document", source_id=one),
            echoes=True,
        ),
        Probe(
            place="packet of a whole public source",
            names=_like(name),
            ask=lambda one: view.packet("upload limit", strategy="document", source_id=one, public=True),
            echoes=True,
        ),
        Probe(place="role by source", names=_like(name), ask=lambda one: requiring(source_id=one), echoes=True),
        Probe(
            place="role by public source",
            names=_like(name),
            ask=lambda one: requiring(source_id=one, public=True),
            echoes=True,
        ),
        Probe(place="role by unit", names=units, ask=lambda one: requiring(unit_id=one), echoes=True),
        Probe(
            place="role by claim",
            names=("sealed", "healed", "'--/?&"),
            ask=lambda one: requiring(claim=one),
            echoes=True,
        ),
        Probe(
            place="role by family",
            names=("sealed", "healed", "'--/?&"),
            ask=lambda one: requiring(family=one),
            echoes=True,
        ),
        Probe(
            place="filter of a search",
            names=_like(name),
            ask=lambda one: view.search("upload limit", filter={"source_id": [one]}),
            echoes=True,  # the digest of the set behind the statistics, which the filter is part of
        ),
        Probe(
            place="filter of a packet",
            names=_like(name),
            ask=lambda one: view.packet("upload limit", filter={"source_id": [one]}),
            echoes=True,
        ),
        Probe(
            place="filter of a search among others",
            names=_like(name),
            ask=lambda one: together(
                view, [view.search("upload"), view.search("upload limit", filter={"source_id": [one]})]
            ),
            echoes=True,
        ),
        Probe(place="document to rerank", names=_like(name), ask=reranked, echoes=True),
        Probe(place="handle to rerank", names=handles, ask=reranked, echoes=True),
        Probe(place="handle in a conversation", names=handles, ask=talk, echoes=True),
        Probe(place="cited handle", names=handles, ask=lambda one: _citing(view, name, one), echoes=True),
    )


def _writing(view: Viewpoint) -> tuple[Probe, ...]:
    """In its own namespace the scope `ingest` is authority over every source: foreign is what lies in another."""
    names = _like(ELSEWHERE)

    def write(method: str, target: str, body: Any = None) -> Asked:
        return Asked(who=view.who, method=method, target=target, body=body)

    label = {"public": True} if view.who.tenant is None else {"tenant": view.who.tenant}
    return (
        Probe(place="delete", names=names, ask=lambda one: write("DELETE", f"/v1/sources/{quote(one, safe='')}")),
        Probe(
            place="delete public",
            names=names,
            ask=lambda one: write("DELETE", f"/v1/sources/{quote(one, safe='')}?public=true"),
        ),
        Probe(
            place="relabel",
            names=names,
            ask=lambda one: write("PUT", f"/v1/sources/{quote(one, safe='')}/access", label),
        ),
        Probe(
            place="relabel to another tenant's",
            names=names,
            ask=lambda one: write("PUT", f"/v1/sources/{quote(one, safe='')}/access", {"tenant": "red"}),
        ),
        Probe(
            place="revoke a revision",
            names=names,
            ask=lambda one: write("POST", "/v1/revocations", {"source_id": one, "revision": "1"}),
        ),
    )


def probes_of_records(view: Viewpoint, kept: OnRecord) -> tuple[Probe, ...]:
    """Every place that takes the name of a packet, a run or a review."""
    packets = (kept.packet_id, "sha256:" + "0" * 64, "sha256:" + "z" * 64, "x" * len(kept.packet_id))
    mine = (kept.colleague_packet_id, *packets[1:])
    reviews = (kept.review_id, "RV-" + "0" * 20, "x" * len(kept.review_id))
    runs = (kept.request_id, "0" * 32, "x" * 32)

    def read(target: str) -> Asked:
        return Asked(who=view.who, method="GET", target=target)

    def write(target: str, body: Any) -> Asked:
        return Asked(who=view.who, method="POST", target=target, body=body)

    def dispute(packet_id: str) -> Asked:
        named = {"packet_id": packet_id, "handle": "EV-0000000000000000", "claim": "so", "authority": "board"}
        return write("/v1/reviews", named)

    decision = {"state": "supported", "authority": "board"}
    return (
        Probe(place="manifest", names=packets, ask=lambda one: read(f"/v1/manifests/{one}")),
        Probe(place="manifest of a colleague", names=mine, ask=lambda one: read(f"/v1/manifests/{one}")),
        Probe(place="audit", names=packets, ask=lambda one: read(f"/v1/audit/{one}")),
        Probe(
            place="audit behind a run", names=runs, ask=lambda one: read(f"/v1/audit/{kept.own_packet_id}?after={one}")
        ),
        Probe(place="dispute", names=packets, ask=dispute),
        Probe(place="decide", names=reviews, ask=lambda one: write(f"/v1/reviews/{one}", decision)),
        Probe(
            place="decide in another's name",
            names=reviews,
            ask=lambda one: write(f"/v1/reviews/{one}", {**decision, "authority": "nobody"}),
        ),
        Probe(place="reviews of a packet", names=packets, ask=lambda one: read(f"/v1/reviews?packet_id={one}")),
        Probe(place="reviews behind one", names=reviews, ask=lambda one: read(f"/v1/reviews?after={one}")),
    )


def _of_name(view: Viewpoint, name: str) -> list[Record]:
    return [one for one in planted(view) if one["source_id"] == name]


def _citing(view: Viewpoint, name: str, handle: str) -> Asked:
    """A citation of the foreign passage as it would be shown, under one handle or another."""
    asked = citations(view, _of_name(view, name))
    (shown,) = asked.body["packet"]["evidence"]
    body = {
        **asked.body,
        "packet": {**asked.body["packet"], "evidence": [{**shown, "handle": handle}]},
        "occurrences": [{"handle": handle, "quote": shown["text"]}],
    }
    return Asked(who=view.who, method="POST", target=asked.target, body=body)
