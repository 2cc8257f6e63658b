"""What may a caller not see, in the shapes that most easily show through?

Each shape makes a record from one that is visible, or from the question; each way of hiding says why the caller may
not see it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from hypothesis import strategies as st

from tests.noninterference.generated_records import CLAIM_KEYS, CLAIM_VALUES, TIMES, Records
from tests.noninterference.world import Record, Viewpoint


class Shape(StrEnum):
    """What a hidden record is."""

    EXACT = "the same text, claims and relations as a visible one"
    NEAR = "a visible one's text, but for a word"
    QUERY = "the question itself, so that its code is that of the question"
    LOUD = "every word of the question, many times"
    SILENT = "no word of the question"
    LONG = "a hundred times longer than a visible one"
    CLAIM = "claims what a visible one claims, with another value"
    CONTRADICTS = "contradicts a visible one"
    SUPERSEDES = "supersedes a visible one"
    NEWER = "a newer revision of a visible one"
    ROLE = "what alone would fill a role"
    EDGE = "starts or stops to be effective around now"
    MANY = "a crowd of the question"


class Hiding(StrEnum):
    """Why the caller may not see it."""

    OTHER = "another tenant's"
    ANOTHER = "of a tenant with nearly the caller's name"
    DRAFT = "a draft of a visible source"
    WITHDRAWN = "a draft of a visible source that was revoked"
    ROLE = "for a role that the caller lacks"
    PERSONAL = "for one other person"
    PURPOSE = "for a purpose that the request does not have"
    REGION = "for another region"
    CASE = "of another case"
    PUBLIC_ROLE = "public, for a role that the caller lacks"
    PUBLIC_PERSONAL = "public, for one other person"


_DRAFTS: Mapping[Hiding, Mapping[str, Any]] = {
    Hiding.DRAFT: {"status": "draft"},
    Hiding.WITHDRAWN: {"status": "revoked", "was_draft": True},
}
RESTRICTED: Mapping[Hiding, Mapping[str, Any]] = {
    Hiding.ROLE: {"roles": ["supervisor"]},
    Hiding.PERSONAL: {"roles": ["user:bob"]},
    Hiding.PURPOSE: {"purposes": ["audit"]},
    Hiding.REGION: {"regions": ["US"]},
    Hiding.CASE: {"cases": ["C-2"]},
    Hiding.PUBLIC_ROLE: {"roles": ["supervisor"]},
    Hiding.PUBLIC_PERSONAL: {"roles": ["user:bob"]},
}
ROLE_CLAIM, ROLE_FAMILY, ROLE_SOURCE = "secret", "sealed", "H-1"
"""What only hidden records can fill."""
NAMESAKE = "Blue"
_PLAIN: Record = {"source_id": "S-1", "revision": "1", "text": "upload limit", "access": {"public": True}}
_CROWDS = (3, 11, 25)


@st.composite
def hidden_records(
    draw: st.DrawFn, kept: Records, asker: Viewpoint, seen: Sequence[Record], asked: Sequence[str]
) -> list[Record]:
    """One to eight hidden records, four as a rule; now and then one of them is a crowd."""
    hidings = st.sampled_from(ways_of_hiding(asker))
    number = draw(st.sampled_from((4, 3, 5, 2, 6, 8, 1)))
    shapes = draw(st.lists(st.sampled_from(Shape), min_size=number, max_size=number))
    found: list[Record] = []
    for shape in shapes:
        base = draw(st.sampled_from(seen)) if seen else _PLAIN
        query, hiding, variant = draw(st.sampled_from(asked)), draw(hidings), draw(st.integers(0, 3))
        count = _CROWDS[variant % len(_CROWDS)] if shape is Shape.MANY else 1
        found += [
            hidden(kept, asker, base, query=query, shape=shape, hiding=hiding, variant=variant + number)
            for number in range(count)
        ]
    return found


def ways_of_hiding(asker: Viewpoint) -> list[Hiding]:
    """The ways that hide something from this asker. Who asks for drafts may see them."""
    return [hiding for hiding in Hiding if not (asker.drafts and hiding in _DRAFTS)]


def hidden(
    kept: Records, asker: Viewpoint, base: Record, *, query: str, shape: Shape, hiding: Hiding, variant: int = 0
) -> Record:
    """One hidden record. variant: a number, for what a shape leaves open."""
    identity = _identity(kept, asker, base, hiding, shape)
    record = {**_body(base, query=query, shape=shape, variant=variant, identity=identity), **identity}
    if hiding in _DRAFTS:
        record |= _DRAFTS[hiding]
    elif record.get("status") == "draft":
        del record["status"]
    return record


def _identity(kept: Records, asker: Viewpoint, base: Record, hiding: Hiding, shape: Shape) -> dict[str, Any]:
    tenant, source_id, revision = asker.who.tenant, base["source_id"], int(base["revision"])
    if shape is Shape.NEWER:
        revision += 1
    if hiding in _DRAFTS:
        return kept.place(base["access"], source_id, revision)
    if hiding in (Hiding.OTHER, Hiding.ANOTHER):
        other: dict[str, Any] = {"tenant": "red" if hiding is Hiding.OTHER else NAMESAKE}
        return kept.place(other, ROLE_SOURCE if shape is Shape.ROLE else source_id, revision)
    public = tenant is None or hiding in (Hiding.PUBLIC_ROLE, Hiding.PUBLIC_PERSONAL)
    access: dict[str, Any] = {**({"public": True} if public else {"tenant": tenant}), **RESTRICTED[hiding]}
    if shape is not Shape.ROLE and kept.is_free(access, source_id):
        return kept.place(access, source_id, revision)
    number = 1
    while not (kept.is_free(access, f"H-{number}") or kept.place_holds(access, f"H-{number}")):
        number += 1
    return kept.place(access, f"H-{number}", revision)


def _body(base: Record, *, query: str, shape: Shape, variant: int, identity: Mapping[str, Any]) -> dict[str, Any]:
    text = base["text"]
    copied = {
        name: value for name, value in base.items() if name not in ("text", "claims", "contradicts", "supersedes")
    }
    start, end = TIMES[2 + variant % (len(TIMES) - 2)]
    match shape:
        case Shape.EXACT | Shape.NEWER:
            return {**base, "supersedes": [], "contradicts": []} if variant % 2 else _without_self(base, identity)
        case Shape.NEAR:
            return {**copied, "text": f"{text} latch"}
        case Shape.QUERY | Shape.MANY:
            return {"text": query}
        case Shape.LOUD:
            return {**copied, "text": f"{query}. " * 5}
        case Shape.SILENT:
            return {"text": ("zebra quartz", "violin", "zebra " * 30, "quartz")[variant % 4]}
        case Shape.LONG:
            return {"text": f"{text}. " * 100}
        case Shape.CLAIM:
            claim = (base.get("claims") or [{"key": CLAIM_KEYS[variant % 2], "value": CLAIM_VALUES[0]}])[0]
            return {"text": text, "claims": [{**claim, "value": f"{claim['value']}0", "quote": text.split()[0]}]}
        case Shape.CONTRADICTS:
            return {"text": text, "contradicts": [] if _is_own(base, identity) else [_reference(base)]}
        case Shape.SUPERSEDES:
            itself = _is_own(base, identity) and base["revision"] == identity["revision"]
            return {"text": text, "supersedes": [] if itself else [{**_reference(base), "revision": base["revision"]}]}
        case Shape.ROLE:
            claim = {"key": ROLE_CLAIM, "value": "1", "quote": query.split(maxsplit=1)[0]}
            return {"text": query, "claims": [claim], "family": ROLE_FAMILY}
        case Shape.EDGE:
            edges = {"effective_from": start, "effective_to": end}
            return {"text": text, **{name: value for name, value in edges.items() if value is not None}}


def _without_self(base: Record, identity: Mapping[str, Any]) -> dict[str, Any]:
    """A copy less what a record may not say of itself."""
    own = (identity["source_id"], identity["revision"])
    supersedes = [one for one in base.get("supersedes", ()) if (one["source_id"], one["revision"]) != own]
    contradicts = [one for one in base.get("contradicts", ()) if one["source_id"] != own[0]]
    return {**base, "supersedes": supersedes, "contradicts": contradicts}


def _reference(base: Record) -> dict[str, Any]:
    """How a hidden record names the visible one. From another tenant it names its own source of that id."""
    return {"source_id": base["source_id"], "public": bool(base["access"].get("public"))}


def _is_own(base: Record, identity: Mapping[str, Any]) -> bool:
    """Whether such a reference leads to the hidden record's own source."""
    elsewhere = base["access"].get("public") and not identity["access"].get("public")
    return bool(base["source_id"] == identity["source_id"] and not elsewhere)
