"""How does an operator make a development token?"""

import time
from pathlib import Path
from typing import Annotated

import typer

from muniment.failures import UsageFailure
from muniment.options import CatalogDir, parse_duration_s

Texts = list[str]


def run(
    directory: CatalogDir,
    tenant: Annotated[str | None, typer.Option("--tenant", help="the tenant the token acts for")] = None,
    no_tenant: Annotated[bool, typer.Option("--no-tenant", help="sees public only")] = False,
    sub: Annotated[str, typer.Option("--sub", help="the subject")] = "developer",
    role: Annotated[Texts | None, typer.Option("--role", help="a role (repeat)")] = None,
    purpose: Annotated[Texts | None, typer.Option("--purpose", help="a purpose (repeat)")] = None,
    region: Annotated[Texts | None, typer.Option("--region", help="a region (repeat)")] = None,
    case: Annotated[Texts | None, typer.Option("--case", help="a case (repeat)")] = None,
    scope: Annotated[Texts | None, typer.Option("--scope", help="a scope (repeat); search unless given")] = None,
    ttl: Annotated[str, typer.Option("--ttl", help="how long it is in force: 90s, 30m, 1h, 7d")] = "1h",
) -> None:
    """Print a development token signed with the catalog's own key.

    Example: muniment token my-catalog --tenant blue --role technician --ttl 8h
    """
    from server.keys import load_key
    from server.scope import InvalidPrincipal, principal_of_record
    from server.tokens import MAX_TOKEN_BYTES, issue

    if (tenant is None) != no_tenant:
        raise UsageFailure("say exactly one of --tenant T and --no-tenant")
    record = {
        "sub": sub,
        "tenant": tenant,
        "roles": role or [],
        "purposes": purpose or [],
        "regions": region or [],
        "cases": case or [],
        "scope": scope or ["search"],
    }
    try:
        principal = principal_of_record(record)
    except InvalidPrincipal as error:
        raise UsageFailure(str(error)) from None
    key = load_key(Path(directory))
    token = issue(principal, key=key, now_s=int(time.time()), lifetime_s=parse_duration_s(ttl))
    if len(token) > MAX_TOKEN_BYTES:
        raise UsageFailure(f"the token would have {len(token)} bytes, the server takes {MAX_TOKEN_BYTES}; say less")
    print(token)
