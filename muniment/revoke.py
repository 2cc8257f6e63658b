"""How does an operator take back what a principal may do, or what a revision says?"""

from pathlib import Path
from typing import Annotated

import typer

from muniment.failures import Negative, UsageFailure
from muniment.options import CatalogDir, print_json, read_json_option
from muniment.sources import namespace_of, stated_namespace


def run(
    directory: CatalogDir,
    subject: Annotated[str | None, typer.Option("--subject", help="every token of this subject, now and later")] = None,
    token_id: Annotated[str | None, typer.Option("--token-id", help="the token with this `jti`")] = None,
    source: Annotated[str | None, typer.Option("--source", help="with --revision: a revision of this source")] = None,
    revision: Annotated[str | None, typer.Option("--revision", help="with --source")] = None,
    grant: Annotated[
        str | None,
        typer.Option("--grant", metavar="JSON", help="a subject, and its role, purpose, region, case or scope"),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="in the public namespace alone")] = False,
    tenant: Annotated[str | None, typer.Option("--tenant", help="... or in this tenant's alone")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the answer as JSON")] = False,
) -> None:
    """Revoke a subject, a token, a grant or a revision. It is in force at once, and cannot be taken back.

    A revision stays revoked when its source is deleted and taken in again; a revoked draft stays unpublished.

    Subjects, tokens and grants are revoked in every namespace unless one is said. Principals without a tenant are those
    of the public one.

    Example: muniment revoke my-catalog --grant '{"subject": "ann", "role": "technician"}' --tenant blue
    """
    from evidence.identity import RevisionKey
    from index.catalog import Catalog
    from index.catalog_revocations import Revoked
    from server.authority_schemas import RevocationBody
    from server.parsing import parse

    named = {"subject": subject, "token_id": token_id, "source_id": source, "revision": revision}
    body: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    if grant is not None:
        body["grant"] = read_json_option(grant, "--grant")
    if not body:
        raise UsageFailure("say one of --subject, --token-id, --source with --revision, --grant")
    asked = parse(body, RevocationBody)
    namespace = stated_namespace(public=public, tenant=tenant)
    with Catalog.open(Path(directory)) as catalog:
        what = asked.of_principal(namespace)
        if what is not None:
            found, kind = catalog.revoke(what), type(what).__name__.lower()
        else:
            assert source is not None
            assert revision is not None
            namespace = namespace_of(catalog, source, namespace)
            found, kind = catalog.revoke(RevisionKey(namespace, source, revision)), "revision"
    if found is Revoked.ABSENT:
        raise Negative(f"source {source!r} in {namespace!r} has no revision {revision!r}")
    if as_json:
        print_json({"namespace": namespace, "revoked": kind, "changed": found is Revoked.NOW})
    else:
        print(f"{kind} revoked" if found is Revoked.NOW else f"{kind} was revoked already")
