"""What is in a world, who asks there, and what of it does that caller see?

What is visible is worked out here by rules of their own, from the records as they are offered: none of the product's
code decides what the comparison is made against.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evidence.access import Principal
from evidence.grants import Grant, Subject, Token
from evidence.identity import Namespace, RevisionKey

Record = Mapping[str, Any]
"""A source revision as a JSON line says it."""
Revocation = Subject | Token | Grant | RevisionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """records: in the order in which they came. revocations: what was revoked once all of them were there."""

    records: tuple[Record, ...]
    revocations: tuple[Revocation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `who` None: without credentials. `body`: JSON, or bytes sent as they are."""

    who: Principal | None
    method: str
    target: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{self.method} {self.target} {self.body!r} as {self.who!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewpoint:
    """From where a world is looked at: visibility depends on these and on nothing else."""

    who: Principal
    purpose: str | None = None
    drafts: bool = False  # whether the requests say `"use": "draft"`

    def search(self, query: str, **more: Any) -> Asked:
        return self._asked("/v1/search", query, more)

    def packet(self, query: str, **more: Any) -> Asked:
        return self._asked("/v1/packets", query, more)

    def catalog(self) -> Asked:
        """Always of what is published."""
        return Asked(
            who=self.who,
            method="GET",
            target="/v1/catalog" + ("" if self.purpose is None else f"?purpose={self.purpose}"),
        )

    def _asked(self, target: str, query: str, more: Mapping[str, Any]) -> Asked:
        body = {"query": query, **({} if self.purpose is None else {"purpose": self.purpose})}
        if self.drafts:
            body["use"] = "draft"
        return Asked(who=self.who, method="POST", target=target, body={**body, **more})


def visible_part(world: World, view: Viewpoint) -> World:
    """The world without everything that this caller may not see: documents, revocations of others, other drafts."""
    records = tuple(record for record in world.records if is_visible(record, view))
    seen = {key_of(record) for record in records}
    return World(
        records=records,
        revocations=tuple(one for one in world.revocations if _concerns(one, view.who, seen)),
    )


def is_visible(record: Record, view: Viewpoint) -> bool:
    """Whether the caller may know that this revision exists. A record's own label is that of its source."""
    access, who = record["access"], view.who
    own = not access.get("public") and who.tenant is not None and access.get("tenant") == who.tenant
    if not (access.get("public") or own):
        return False
    held: dict[str, Sequence[str]] = {
        "roles": (*who.roles, *((f"user:{who.sub}",) if who.personal else ())),
        "purposes": () if view.purpose is None else (view.purpose,),
        "regions": who.regions,
        "cases": who.cases,
    }
    if any(access.get(name) and not set(access[name]) & set(values) for name, values in held.items()):
        return False
    if record.get("status") == "draft" or record.get("was_draft"):
        acting = access.get("tenant") if not access.get("public") else None
        return view.drafts and "ingest" in who.scope and acting == who.tenant
    return True


def key_of(record: Record) -> RevisionKey:
    """The identity of a record."""
    access = record["access"]
    namespace = Namespace("public" if access.get("public") else access["tenant"])
    return RevisionKey(namespace, record["source_id"], record["revision"])


def without(world: World, keys: Iterable[RevisionKey]) -> World:
    """The world less some revisions."""
    gone = set(keys)
    return replace(world, records=tuple(record for record in world.records if key_of(record) not in gone))


def _concerns(revocation: Revocation, who: Principal, seen: set[RevisionKey]) -> bool:
    if isinstance(revocation, RevisionKey):
        return revocation in seen
    if isinstance(revocation, Token):
        return revocation.token_id == who.token_id
    subject = revocation.sub if isinstance(revocation, Subject) else revocation.subject
    return subject == who.sub and revocation.namespace in (None, who.namespace)
