"""Who asks, and for what purpose may they?

Scope comes from verified credentials alone: the claims of a token, or a principal file of an operator who is on the
catalog's own machine. Nothing in a request body widens it (R1).
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeGuard

from evidence.access import Principal, Scope
from evidence.grants import Revocations, live_principal
from evidence.identity import PUBLIC, Namespace
from server.errors import Forbidden, ServerError, Unauthenticated

GRANTABLE = ("search", "ingest", "ingest-public", "revoke", "audit", "admin")
MAX_NAME = 512  # as of the labels that names are compared with
_NAME = f"string of 1 to {MAX_NAME} characters without control characters"
_LISTS = ("roles", "purposes", "regions", "cases")


class InvalidPrincipal(ServerError):
    """Claims or a principal file that name no principal; the message names the field."""


def principal_of_claims(claims: Mapping[str, object]) -> Principal:
    """The principal that verified token claims name. Raises Unauthenticated when they name none.

    `jti` may be missing: then the token itself cannot be revoked, only its subject.
    """
    scope = claims.get("scope", "")
    if not isinstance(scope, str):
        raise Unauthenticated("the token's scope is no space-separated string")
    token_id = claims.get("jti")
    if token_id is not None and not _is_name(token_id):
        raise Unauthenticated(f"the token's jti must be a {_NAME}")
    fields = {name: claims[name] for name in ("sub", "tenant", *_LISTS) if name in claims}
    try:
        return replace(principal_of_record({**fields, "scope": scope.split()}), token_id=token_id)
    except InvalidPrincipal as error:
        raise Unauthenticated(f"the token's claims name no principal: {error}") from None


def principal_of_record(record: object) -> Principal:
    """The principal that a principal file names; `scope` may be left out and is then `search`.

    Raises InvalidPrincipal: a missing tenant is an error, never "public" (null says public).
    """
    if not isinstance(record, Mapping):
        raise InvalidPrincipal("a principal is a JSON object")
    unknown = sorted(set(record) - {"sub", "tenant", "scope", *_LISTS})
    if unknown:
        raise InvalidPrincipal(f"unknown field {unknown[0]!r}; allowed: sub, tenant, {', '.join(_LISTS)}, scope")
    subject = record.get("sub")
    if not _is_name(subject):
        raise InvalidPrincipal(f"sub must be a {_NAME}")
    if "tenant" not in record:
        raise InvalidPrincipal("tenant is required: a name, or null for public only")
    tenant = record["tenant"]
    if tenant is not None and (not _is_name(tenant) or tenant == PUBLIC):
        raise InvalidPrincipal(f"tenant must be a {_NAME} and not 'public', or null")
    scope = _strings(record, "scope", default=("search",))
    foreign = sorted(set(scope) - set(GRANTABLE))
    if foreign:
        raise InvalidPrincipal(f"unknown scope {foreign[0]!r}; allowed: {', '.join(GRANTABLE)}")
    roles, purposes, regions, cases = (_strings(record, name, default=()) for name in _LISTS)
    return Principal(
        sub=subject,
        tenant=None if tenant is None else Namespace(tenant),
        roles=roles,
        purposes=purposes,
        regions=regions,
        cases=cases,
        scope=scope,
    )


def require(principal: Principal, *, granted: str) -> None:
    """Raise Forbidden unless the principal holds the scope `granted`."""
    if granted not in principal.scope:
        raise Forbidden(f"this needs the scope {granted!r}")


def still_granted(principal: Principal, revocations: Revocations) -> Principal:
    """The principal less the grants that were revoked. Raises Unauthenticated when its subject or token was (R1)."""
    live = live_principal(principal, revocations)
    if live is None:
        raise Unauthenticated("the bearer token or its subject was revoked")
    return live


def writable_namespace(principal: Principal, *, public: bool) -> Namespace:
    """Where a call that changes sources acts: in the caller's own namespace, on public only where the call says so.

    Raises Forbidden without the scope for it: `ingest`, or `ingest-public` for public.
    """
    require(principal, granted="ingest-public" if public else "ingest")
    return own_namespace(principal, public=public)


def may_write(principal: Principal, *, public: bool) -> Callable[[Revocations], object]:
    """Refuses as `writable_namespace` and `still_granted` do, by what is revoked in the state that is written."""
    return lambda revocations: writable_namespace(still_granted(principal, revocations), public=public)


def own_namespace(principal: Principal, *, public: bool) -> Namespace:
    """The namespace that a caller names by saying, or not saying, `public`. Raises Forbidden where that is none."""
    if public:
        return PUBLIC
    if principal.tenant is None:
        raise Forbidden("a principal without a tenant has no sources of its own; say public=true")
    return principal.tenant


def scope_for(principal: Principal, *, purpose: str | None) -> Scope:
    """What the principal may see for `purpose`. Raises Forbidden for one not granted, whatever the catalog holds."""
    if purpose is not None and purpose not in principal.purposes:
        raise Forbidden("the purpose was not granted to this principal", path="$.purpose")
    return Scope(principal=principal, purpose=purpose)


def _is_name(value: object) -> TypeGuard[str]:
    return (
        isinstance(value, str)
        and 1 <= len(value) <= MAX_NAME
        and not any(unicodedata.category(character) in ("Cc", "Cs") for character in value)
    )


def _strings(record: Mapping[object, object], name: str, *, default: tuple[str, ...]) -> tuple[str, ...]:
    if name not in record:
        return default
    value = record[name]
    if not isinstance(value, list) or not all(_is_name(item) for item in value):
        raise InvalidPrincipal(f"{name} must be a list, each entry a {_NAME}")
    return tuple(sorted(set(value)))
