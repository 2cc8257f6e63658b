"""What is left of a principal once revocations are taken off? (pure)

Useful wherever credentials are about to count: at authentication, and again when an answer is assembled (R1, R5).
A revocation only ever takes away, so that applying the same ones twice changes nothing.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from evidence.access import Principal
from evidence.identity import Namespace


class Dimension(StrEnum):
    """What a grant is of."""

    ROLE = "role"
    PURPOSE = "purpose"
    REGION = "region"
    CASE = "case"
    SCOPE = "scope"


class Subject(NamedTuple):
    """A subject, with all its tokens. `namespace` None: in every namespace."""

    namespace: Namespace | None
    sub: str


class Token(NamedTuple):
    """One token. `namespace` None: in every namespace."""

    namespace: Namespace | None
    token_id: str


class Grant(NamedTuple):
    """Something that a subject was granted. `namespace` None: in every namespace."""

    namespace: Namespace | None
    subject: str
    dimension: Dimension
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocations:
    """Everything that was revoked, revisions apart: their status says it."""

    subjects: frozenset[Subject] = frozenset()
    token_ids: frozenset[Token] = frozenset()
    grants: frozenset[Grant] = frozenset()


def live_principal(principal: Principal, revocations: Revocations) -> Principal | None:
    """`principal` less the grants that were revoked; None when its subject or its token was.

    A principal without a token, as one from an operator's file, is known by its subject alone. Revoking the role
    `user:<sub>` takes the role that every subject holds by itself.
    """
    own, token_id = principal.namespace, principal.token_id
    if any(Subject(namespace, principal.sub) in revocations.subjects for namespace in (None, own)):
        return None
    if token_id is not None and any(Token(namespace, token_id) in revocations.token_ids for namespace in (None, own)):
        return None
    lost = revocations.grants
    kept = replace(
        principal,
        roles=_kept(principal, Dimension.ROLE, principal.roles, lost),
        purposes=_kept(principal, Dimension.PURPOSE, principal.purposes, lost),
        regions=_kept(principal, Dimension.REGION, principal.regions, lost),
        cases=_kept(principal, Dimension.CASE, principal.cases, lost),
        scope=_kept(principal, Dimension.SCOPE, principal.scope, lost),
        personal=principal.personal and not _is_lost(principal, Dimension.ROLE, principal.personal_role, lost),
    )
    return principal if kept == principal else kept


def _kept(principal: Principal, dimension: Dimension, held: tuple[str, ...], lost: frozenset[Grant]) -> tuple[str, ...]:
    return tuple(value for value in held if not _is_lost(principal, dimension, value, lost))


def _is_lost(principal: Principal, dimension: Dimension, value: str, lost: frozenset[Grant]) -> bool:
    return any(Grant(namespace, principal.sub, dimension, value) in lost for namespace in (None, principal.namespace))
