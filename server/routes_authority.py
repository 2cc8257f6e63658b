"""Which URLs take sources out, put them under another label, and revoke?

A caller acts in its own namespace, on public where the call says so, and reaches every source there, whatever its
label: whoever may take sources in may take them out. What is not there and what is another's end in the same 404 (R7).

So the scope `ingest` is authority over every source of its namespace, drafts and what no role of the holder opens
among them. Its holder can tell that a source of an id exists (by a 200 here, or by the refusals of `POST /v1/sources`:
another label, other bytes), and can put it under a label that admits the holder. `revoke` tells the same of revisions.
Both are for those who may see everything there; neither reaches another namespace, nor widens a search (R1). That a
revision was revoked outlives it: deleting it and posting it again brings back what is revoked (R4), and until then
each call answers as for a source that never was (R6).
"""

from fastapi import APIRouter, Request, Response

from evidence.access import Label, Principal
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey
from index.catalog import Catalog
from index.catalog_revocations import Revoked
from server.authority_schemas import (
    AccessAnswer,
    AccessBody,
    DeletedAnswer,
    RevocationAnswer,
    RevocationBody,
    access_record,
)
from server.errors import Invalid, NotFound
from server.routes import answer, caller, read_body
from server.scope import may_write, own_namespace, require, still_granted, writable_namespace
from server.url_query import PublicQuery, parameters, read_query

router = APIRouter()


@router.delete(
    "/v1/sources/{source_id:path}",
    response_model=DeletedAnswer,
    openapi_extra=parameters(PublicQuery),
    tags=["sources"],
)
async def delete_source(request: Request, source_id: str) -> Response:
    """Take a source out with all its revisions. A second call finds nothing, as one for a source that never was."""
    principal = await caller(request, granted=None)
    public = read_query(request, PublicQuery).public
    writable_namespace(principal, public=public)
    return await answer(
        request,
        principal,
        lambda pipeline: _delete(pipeline.catalog, principal, source_id, public=public),
        changes=True,
    )


@router.put(
    "/v1/sources/{source_id:path}/access",
    response_model=AccessAnswer,
    openapi_extra={"x-body": "AccessBody", **parameters(PublicQuery)},
    tags=["sources"],
)
async def relabel_source(request: Request, source_id: str) -> Response:
    """Put a source with all its revisions under another label."""
    principal = await caller(request, granted=None)
    public = read_query(request, PublicQuery).public
    label = (await read_body(request, AccessBody)).label()
    public = public or label.namespace == PUBLIC
    writable_namespace(principal, public=public)
    return await answer(
        request,
        principal,
        lambda pipeline: _relabel(pipeline.catalog, principal, source_id, label, public=public),
        changes=True,
    )


@router.post(
    "/v1/revocations",
    response_model=RevocationAnswer,
    openapi_extra={"x-body": "RevocationBody", **parameters(PublicQuery)},
    tags=["sources"],
)
async def revoke(request: Request) -> Response:
    """Revoke a subject, a token, a grant or a revision."""
    principal = await caller(request, granted="revoke")
    public = read_query(request, PublicQuery).public
    body = await read_body(request, RevocationBody)
    return await answer(
        request,
        principal,
        lambda pipeline: _revoke(pipeline.catalog, principal, body, public=public or body.public),
        changes=True,
    )


def _delete(catalog: Catalog, principal: Principal, source_id: str, *, public: bool) -> dict[str, object]:
    namespace = writable_namespace(principal, public=public)
    allowed = catalog.while_allowed(may_write(principal, public=public))
    removed = allowed.delete(SourceKey(namespace, source_id))
    if removed is None:
        raise _no_source()
    return {
        "namespace": namespace,
        "source_id": source_id,
        "revisions": removed.revisions,
        "units": removed.units,
    }


def _relabel(
    catalog: Catalog, principal: Principal, source_id: str, label: Label, *, public: bool
) -> dict[str, object]:
    namespace = writable_namespace(principal, public=public)
    if label.namespace != namespace:
        raise Invalid("a source keeps its namespace: this label is of another one", path="$.tenant")
    allowed = catalog.while_allowed(may_write(principal, public=public))
    done = allowed.relabel(SourceKey(namespace, source_id), label)
    if done is None:
        raise _no_source()
    return {
        "namespace": namespace,
        "source_id": source_id,
        "access": access_record(done.label),
        "revisions": done.revisions,
        "changed": done.changed,
    }


def _revoke(catalog: Catalog, principal: Principal, body: RevocationBody, *, public: bool) -> dict[str, object]:
    def namespace_of(live: Principal) -> Namespace:
        require(live, granted="revoke")
        return _revocable_namespace(live, of_source=body.source_id is not None, public=public)

    namespace = namespace_of(principal)
    allowed = catalog.while_allowed(lambda revocations: namespace_of(still_granted(principal, revocations)))
    what = body.of_principal(namespace)
    if what is None:
        assert body.source_id is not None
        assert body.revision is not None
        found = allowed.revoke(RevisionKey(namespace, body.source_id, body.revision))
    else:
        found = allowed.revoke(what)
    if found is Revoked.ABSENT:
        raise _no_source()
    kind = "revision" if what is None else type(what).__name__.lower()
    return {"namespace": namespace, "revoked": kind, "changed": found is Revoked.NOW}


def _revocable_namespace(principal: Principal, *, of_source: bool, public: bool) -> Namespace:
    """Principals without a tenant are those of the public namespace, whose sources need a word and a scope more."""
    if public:
        require(principal, granted="ingest-public")
        return PUBLIC
    return own_namespace(principal, public=False) if of_source else principal.namespace


def _no_source() -> NotFound:
    return NotFound("there is no such source, or no such revision of it, in this namespace")
