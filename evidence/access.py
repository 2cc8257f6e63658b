"""Who asks, under which label does a source lie, and does the label admit them? (pure)

Useful for the one visibility decision (R1, R2, R3). Not useful for time, status or subject: see eligibility.
"""

from dataclasses import dataclass, field

from evidence.canonical import Json, digest
from evidence.identity import PUBLIC, Namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The access label of a source. Each tuple is sorted and free of repeats; an empty one restricts nothing."""

    namespace: Namespace
    roles: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    def record(self) -> dict[str, Json]:
        """The label as a canonical record."""
        return {
            "namespace": self.namespace,
            "roles": self.roles,
            "purposes": self.purposes,
            "regions": self.regions,
            "cases": self.cases,
        }

    @property
    def digest(self) -> str:
        return digest(self.record())


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks, from verified credentials only. `tenant` None sees public only. Tuples are sorted, without repeats.

    personal: whether the role `user:<sub>` is held; only a revocation takes it (`evidence/grants.py`).
    token_id: of the token that named the principal. It decides whether that token is still good, and nothing else:
    it is in no record, and two principals that differ in it are equal.
    """

    sub: str
    tenant: Namespace | None
    roles: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    scope: tuple[str, ...] = ("search",)
    personal: bool = True
    token_id: str | None = field(default=None, compare=False)

    @property
    def namespace(self) -> Namespace:
        """The namespace this principal acts in."""
        return PUBLIC if self.tenant is None else self.tenant

    @property
    def personal_role(self) -> str:
        """The role of this subject alone."""
        return f"user:{self.sub}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a principal may see for one purpose. The purpose was granted: `server/scope.py` refuses others (R1)."""

    principal: Principal
    purpose: str | None

    def record(self) -> dict[str, Json]:
        """Everything that visibility may depend on, as a canonical record."""
        principal = self.principal
        return {
            "sub": principal.sub,
            "tenant": principal.tenant,
            "roles": principal.roles,
            "purposes": principal.purposes,
            "regions": principal.regions,
            "cases": principal.cases,
            "scope": principal.scope,
            "purpose": self.purpose,
            **({} if principal.personal else {"personal": False}),
        }

    @property
    def digest(self) -> str:
        return digest(self.record())


def admits(label: Label, scope: Scope) -> bool:
    """Whether a source under `label` is visible in `scope`: any-of within a dimension, all dimensions together.

    Every principal also holds the role `user:<sub>`. A purpose of None admits only labels without purposes.
    """
    principal = scope.principal
    own = (principal.personal_role,) if principal.personal else ()
    return (
        label.namespace in (PUBLIC, principal.tenant)
        and _meets(label.roles, (*principal.roles, *own))
        and (not label.purposes or scope.purpose in label.purposes)
        and _meets(label.regions, principal.regions)
        and _meets(label.cases, principal.cases)
    )


def _meets(restriction: tuple[str, ...], held: tuple[str, ...]) -> bool:
    return not restriction or not set(restriction).isdisjoint(held)
