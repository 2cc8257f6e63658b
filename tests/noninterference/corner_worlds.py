"""Which cases are tried first, because hardly any leak survives them?

Made by hand from the same shapes as the drawn ones; the first is the richest.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from evidence.grants import Dimension, Grant, Subject, Token
from evidence.identity import Namespace, RevisionKey
from tests.noninterference.generated_records import Records
from tests.noninterference.generated_requests import NEVER, citations, conversation, unit_id_of
from tests.noninterference.generators import VIEWPOINTS, Case, acyclic
from tests.noninterference.hidden_shapes import (
    ROLE_CLAIM,
    ROLE_FAMILY,
    ROLE_SOURCE,
    Hiding,
    Shape,
    hidden,
    ways_of_hiding,
)
from tests.noninterference.world import Asked, Record, Revocation, Viewpoint, World
from tests.worlds import record

QUERY = "upload limit"
_ANN, _TECHNICIAN, _REPAIR, _NOBODY, _INGEST_DRAFTS, _INGEST = VIEWPOINTS[:6]
_OF_OTHERS: tuple[Revocation, ...] = (
    Subject(Namespace("red"), "ann"),
    Token(None, "T-1"),
    Grant(Namespace("red"), "ann", Dimension.ROLE, "technician"),
    Grant(Namespace("blue"), "bob", Dimension.PURPOSE, "repair"),
    RevisionKey(Namespace("red"), "S-1", "1"),
)


def corner_cases() -> Iterator[Case]:
    """The cases by hand, always the same ones in the same order."""
    yield _everything()
    yield _crowd(_ANN, k=2, number=30)
    yield _statistics(_TECHNICIAN)
    yield _conflict(_ANN)
    yield _roles(_REPAIR)
    yield _successors(_ANN)
    yield _only_hidden(_ANN)
    yield _revoked(_TECHNICIAN)
    yield _everything(_INGEST_DRAFTS)
    yield _everything(_INGEST)
    yield _everything(_NOBODY)
    yield _alone(_NOBODY)
    yield _talk(_ANN)


def _seen(asker: Viewpoint) -> list[Record]:
    """Five sources of the caller's, of which two tie, across namespaces; one with two revisions, two in conflict."""
    own, claim = asker.who.tenant, {"key": "limit", "value": "10", "quote": "upload"}
    return [
        record("S-1", "upload limit case", tenant=own, claims=[claim], family="manual", owner="ops"),
        record("S-1", "upload limit case video", tenant=own, revision="2", effective_from="2025-01-01T00:00:00Z"),
        record("S-2", "upload limit case", family="bulletin", claims=[{**claim, "value": "20"}]),
        record("S-3", "upload limit case", tenant=own, title="Upload limit", metadata={"lang": "en"}),
        record("S-4", "video latch pump drum heat. " * 20, tenant=own),
        record("S-7", "upload limit case", tenant=own),
    ]


def _case(
    asker: Viewpoint,
    seen: Sequence[Record],
    hidings: Sequence[tuple[Shape, Hiding]],
    requests: Sequence[Asked],
    *,
    revocations: Sequence[Revocation] = (),
) -> Case:
    """Each shape made from each visible record in turn; hidden records stand between the visible ones."""
    kept, plain = Records(), record("S-1", QUERY)
    for one in seen:
        kept.place(one["access"], one["source_id"], int(one["revision"]))
    found = [
        hidden(
            kept, asker, seen[at % len(seen)] if seen else plain, query=QUERY, shape=shape, hiding=hiding, variant=at
        )
        for at, (shape, hiding) in enumerate(hidings)
    ]
    half = len(found) // 2
    world = World(records=acyclic([*found[:half], *seen, *found[half:]]), revocations=tuple(revocations))
    return Case(world=world, asker=asker, requests=tuple(requests), follow=True)


def _everything(asker: Viewpoint = _ANN) -> Case:
    """Every shape, hidden in turn in every way."""
    ways = ways_of_hiding(asker)
    shapes = [*Shape, *Shape]
    hidings = [(shape, ways[at % len(ways)]) for at, shape in enumerate(shapes)]
    requests = [
        asker.search(QUERY, k=2),
        asker.search("upload limit video latch", k=10, fusion={"method": "rrf", "depth": 10}),
        asker.packet(QUERY, strategy="broad", requirements=_roles_of((ROLE_CLAIM, ROLE_FAMILY, ROLE_SOURCE))),
        asker.packet(QUERY, k=1, requirements=[{"role": "limit", "match": {"claim": "limit", "value": "10"}}]),
        asker.catalog(),
        asker.search("zebra", k=1, channel="dense"),
        asker.search("upload case", k=3, rerank=True),
    ]
    return _case(asker, _seen(asker), hidings, requests, revocations=_OF_OTHERS)


def _crowd(asker: Viewpoint, *, k: int, number: int) -> Case:
    """More hidden than ten times k, all of them better."""
    ways = (Hiding.OTHER, Hiding.ROLE, Hiding.PUBLIC_PERSONAL)
    hidings = [(Shape.QUERY, ways[at % len(ways)]) for at in range(number)]
    requests = [
        *(asker.search(QUERY, k=k, channel=channel) for channel in ("lexical", "dense", "hybrid")),
        asker.search(QUERY, k=k, fusion={"depth": 3}),
        asker.packet(QUERY, k=k),
    ]
    return _case(asker, _seen(asker), hidings, requests)


def _statistics(asker: Viewpoint) -> Case:
    """Frequencies, lengths and counts of hidden texts, and nothing else hidden."""
    shapes = (Shape.LOUD, Shape.SILENT, Shape.LONG, Shape.NEAR)
    hidings = [(shape, hiding) for shape in shapes for hiding in (Hiding.OTHER, Hiding.PURPOSE)]
    requests = [asker.search(query, channel="lexical") for query in (QUERY, "video latch", "case")]
    return _case(asker, _seen(asker), hidings, [*requests, asker.packet("case")])


def _conflict(asker: Viewpoint) -> Case:
    """A claim, a contradiction and a duplicate on the hidden side alone."""
    own = asker.who.tenant
    seen = [
        record("S-1", "upload limit case", tenant=own, claims=[{"key": "limit", "value": "10", "quote": "limit"}]),
        record("S-3", "video latch", tenant=own, contradicts=[{"source_id": "H-1"}]),
    ]
    shapes = (Shape.CLAIM, Shape.CLAIM, Shape.CONTRADICTS, Shape.CONTRADICTS, Shape.EXACT, Shape.EXACT)
    hidings = [*zip(shapes, (Hiding.ROLE, Hiding.OTHER) * 3, strict=True), (Shape.CLAIM, Hiding.PUBLIC_ROLE)]
    needed = [{"role": "limit", "match": {"claim": "limit"}}]
    requests = [
        asker.packet("upload limit", requirements=needed),
        asker.packet("video latch", strategy="auto"),
        asker.packet("upload limit", strategy="document", source_id="S-1", requirements=needed),
    ]
    return _case(asker, seen, hidings, requests)


def _roles(asker: Viewpoint) -> Case:
    """Roles that only hidden records fill, beside the same for names of nothing."""
    hidings = [(Shape.ROLE, hiding) for hiding in (Hiding.PURPOSE, Hiding.OTHER, Hiding.PERSONAL, Hiding.PUBLIC_ROLE)]
    seen = _seen(asker)
    requests = [
        asker.packet(QUERY, requirements=_roles_of((ROLE_CLAIM, ROLE_FAMILY, ROLE_SOURCE))),
        asker.packet(QUERY, requirements=_roles_of((NEVER, NEVER, NEVER))),
        asker.packet(QUERY, strategy="auto", requirements=_roles_of((ROLE_CLAIM, ROLE_FAMILY, "S-1"))),
        asker.packet(QUERY, strategy="document", source_id=ROLE_SOURCE),
        asker.packet(QUERY, strategy="document", source_id=ROLE_SOURCE, public=True),
        asker.packet(QUERY, requirements=[{"role": "unit", "match": {"unit_id": f"red/{ROLE_SOURCE}@1#0"}}]),
        asker.search(QUERY, filter={"source_id": ["H-1", "S-3"]}),
        asker.search(QUERY, filter={"family": [ROLE_FAMILY]}),
    ]
    return _case(asker, seen, hidings, requests)


def _successors(asker: Viewpoint) -> Case:
    """Revisions that replace visible ones, come after them, and begin or end around now; all hidden."""
    seen = [
        *_seen(asker),
        record("S-5", QUERY, tenant=asker.who.tenant, supersedes=[{"source_id": "H-1", "revision": "1"}]),
    ]
    ways = (Hiding.ROLE, Hiding.OTHER, Hiding.DRAFT, Hiding.CASE, Hiding.WITHDRAWN)
    shapes = (Shape.SUPERSEDES, Shape.NEWER, Shape.EDGE)
    hidings = [(shape, hiding) for shape in shapes for hiding in ways]
    requests = [
        asker.packet(QUERY, requirements=[{"role": "one", "match": {"source_id": "S-1"}}]),
        asker.search(QUERY),
        asker.search(QUERY, as_of="2025-06-01T00:00:00Z"),
        asker.packet(QUERY, strategy="broad", use="historical"),
        asker.catalog(),
    ]
    return _case(asker, seen, hidings, requests)


def _only_hidden(asker: Viewpoint) -> Case:
    """Nothing is visible."""
    hidings = [(shape, hiding) for shape in (Shape.QUERY, Shape.LOUD) for hiding in (Hiding.OTHER, Hiding.REGION)]
    requests = [asker.search(QUERY), asker.packet(QUERY), asker.packet(QUERY, strategy="broad"), asker.catalog()]
    return _case(asker, (), hidings, requests)


def _alone(asker: Viewpoint) -> Case:
    """One record is visible, and nothing is hidden."""
    return _case(asker, [record("S-1", QUERY)], (), [asker.search(QUERY), asker.packet(QUERY), asker.catalog()])


def _revoked(asker: Viewpoint) -> Case:
    """What others lost, and what the caller lost: a role that opened one of the sources."""
    own = asker.who.tenant
    seen = [*_seen(asker), record("S-6", "upload limit", tenant=own, access={"roles": ["technician"]})]
    lost = Grant(Namespace("blue"), "ann", Dimension.ROLE, "technician")
    gone = RevisionKey(Namespace("blue"), "S-1", "2")
    requests = [asker.search(QUERY, k=3), asker.packet(QUERY, strategy="broad"), asker.catalog()]
    return _case(
        asker,
        seen,
        [(Shape.EXACT, Hiding.OTHER), (Shape.QUERY, Hiding.ROLE)],
        requests,
        revocations=(*_OF_OTHERS, lost, gone),
    )


def _talk(asker: Viewpoint) -> Case:
    """Handles of visible and of hidden passages, in a conversation and in citations."""
    seen = _seen(asker)
    named = [seen[1], record("S-1", QUERY, tenant="red"), record(NEVER, QUERY, tenant="blue")]
    hidings = [(Shape.QUERY, Hiding.OTHER), (Shape.EXACT, Hiding.ROLE)]
    requests = [
        asker.packet(QUERY, k=1, adapter="openai", conversation=conversation(named)),
        citations(asker, named),
        asker.packet(QUERY, requirements=[{"role": "unit", "match": {"unit_id": unit_id_of(named[1])}}]),
    ]
    return _case(asker, seen, hidings, requests)


def _roles_of(names: tuple[str, str, str]) -> list[dict[str, Any]]:
    claim, family, source_id = names
    matches: list[dict[str, Any]] = [{"claim": claim}, {"family": family}, {"source_id": source_id}]
    return [{"role": f"r{at}", "match": match, "mandatory": at != 2} for at, match in enumerate(matches)]
