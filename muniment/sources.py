"""What is in a catalog, and how does an operator take something out of it?"""

import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evidence.counted import counted
from muniment.failures import Negative, UsageFailure
from muniment.options import CatalogDir, print_json

if TYPE_CHECKING:
    from evidence.identity import Namespace
    from index.catalog import Catalog


class Action(StrEnum):
    """What to do."""

    LIST = "list"
    SHOW = "show"
    EXPORT = "export"
    DELETE = "delete"
    ROLLBACK = "rollback"


NAMED = {Action.SHOW: "a source ID", Action.DELETE: "a source ID", Action.ROLLBACK: "an INGEST_ID"}


def run(
    directory: CatalogDir,
    action: Annotated[
        str, typer.Argument(metavar="list|show|export|delete|rollback", help="what to do", show_default=False)
    ],
    name: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="the source to show or delete, or the ingest to undo"),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="in the public namespace")] = False,
    tenant: Annotated[str | None, typer.Option("--tenant", help="... or in this tenant's")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the answer as JSON")] = False,
) -> None:
    """List, show or export what the catalog holds, delete a source, or roll an ingest back.

    `list`, `show` and `export` cover every namespace unless one is said; `delete` needs it said where several have a
    source of that ID. `export` writes the JSON lines that `ingest` reads. What is deleted or rolled back is gone for
    every running server at once; the next reindex takes its traces out of the index files. A revoked revision that was
    deleted is revoked again when it comes in again; that it was is in no export.

    Example: muniment sources my-catalog delete SB-A-7 --tenant blue
    """
    from index.catalog import Catalog

    if action not in tuple(Action):
        raise UsageFailure(f"{action}: allowed are {', '.join(Action)}")
    asked = Action(action)
    if (name is not None) != (asked in NAMED):
        raise UsageFailure(f"{asked} needs {NAMED[asked]}" if asked in NAMED else f"{asked} takes no ID")
    if asked is Action.ROLLBACK and (public or tenant is not None):
        raise UsageFailure(
            "rollback undoes an ingest in whichever namespaces it was; say neither --public nor --tenant"
        )
    namespace = stated_namespace(public=public, tenant=tenant)
    with Catalog.open(Path(directory)) as catalog:
        _ACTIONS[asked](catalog, name or "", namespace, as_json)


def stated_namespace(*, public: bool, tenant: str | None) -> "Namespace | None":
    """The namespace that the options say, None for none. Raises UsageFailure for two at once."""
    from evidence.identity import PUBLIC, Namespace

    if public and tenant is not None:
        raise UsageFailure("say only one of --public and --tenant T")
    if tenant == PUBLIC:
        raise UsageFailure("no tenant is called 'public'; say --public")
    return PUBLIC if public else None if tenant is None else Namespace(tenant)


def namespace_of(catalog: "Catalog", source_id: str, stated: "Namespace | None") -> "Namespace":
    """The namespace whose source of that ID is meant. Raises Negative for no source, UsageFailure for several."""
    from server.inventory import namespaces_of

    held = namespaces_of(catalog, source_id)
    found = [namespace for namespace in held if stated in (None, namespace)]
    if not found:
        raise Negative(f"there is no source {source_id!r}" + ("" if stated is None else f" in {stated!r}"))
    if len(found) > 1:
        raise UsageFailure(f"source {source_id!r} is in {', '.join(found)}; say --public or --tenant T")
    return found[0]


def _list(catalog: "Catalog", _: str, namespace: "Namespace | None", as_json: bool) -> None:
    from server.inventory import list_sources

    listed = list(list_sources(catalog, namespace=namespace))
    if as_json:
        print_json({"sources": listed})
        return
    rows = [
        (str(one["namespace"]), str(one["source_id"]), str(one["revisions"]), str(one["units"]), _restrictions(one))
        for one in listed
    ]
    _print_table(("namespace", "source", "revisions", "units", "restricted to"), rows)


def _show(catalog: "Catalog", name: str, namespace: "Namespace | None", as_json: bool) -> None:
    from server.inventory import show_source

    found = show_source(catalog, name, namespace=namespace)
    if not found:
        raise Negative(f"there is no source {name!r}" + ("" if namespace is None else f" in {namespace!r}"))
    if as_json:
        print_json({"sources": found})
        return
    for source in found:
        print(f"{source['namespace']}/{source['source_id']}: {_restrictions(source) or 'unrestricted'}")
        revisions = source["revisions"]
        assert isinstance(revisions, list)
        fields = ("revision", "status", "effective_from", "effective_to", "units", "title", "ingest_id")
        _print_table(fields, [tuple(str(one[field] or "") for field in fields) for one in revisions])


def _export(catalog: "Catalog", _: str, namespace: "Namespace | None", as_json: bool) -> None:
    from server.inventory import export

    if as_json:
        raise UsageFailure("export writes JSON lines already; leave --json out")
    for line in export(catalog, namespace=namespace):
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _delete(catalog: "Catalog", name: str, namespace: "Namespace | None", as_json: bool) -> None:
    from evidence.identity import SourceKey

    key = SourceKey(namespace_of(catalog, name, namespace), name)
    removed = catalog.delete(key)
    if removed is None:
        raise Negative(f"there is no source {name!r} in {key.namespace!r}")
    if as_json:
        print_json({**key._asdict(), "revisions": removed.revisions, "units": removed.units})
    else:
        revisions, units = counted(removed.revisions, "revision"), counted(removed.units, "unit")
        print(f"deleted {key.namespace}/{name}: {revisions}, {units}")


def _rollback(catalog: "Catalog", name: str, _: "Namespace | None", as_json: bool) -> None:
    done = catalog.roll_back(name)
    if done is None:
        raise Negative(f"there is no ingest {name!r} that changed anything")
    removed = done.removed
    if as_json:
        print_json(
            {
                "ingest_id": name,
                "revisions": removed.revisions,
                "units": removed.units,
                "sources": removed.sources,
                "labels_restored": done.restored,
                "labels_kept": done.kept,
            }
        )
        return
    revisions, units = counted(removed.revisions, "revision"), counted(removed.units, "unit")
    have = "has" if removed.sources == 1 else "have"
    print(f"took out {revisions} ({units}); {counted(removed.sources, 'source')} {have} none left")
    if done.restored or done.kept:
        print(
            f"{done.restored} sources have their earlier label again; {done.kept} keep the one they have: they were"
            " relabelled since, or a revision came in under it"
        )


_ACTIONS: Mapping[Action, Callable[["Catalog", str, "Namespace | None", bool], None]] = {
    Action.LIST: _list,
    Action.SHOW: _show,
    Action.EXPORT: _export,
    Action.DELETE: _delete,
    Action.ROLLBACK: _rollback,
}


def _restrictions(source: Mapping[str, object]) -> str:
    label = source["label"]
    assert isinstance(label, Mapping)
    return "; ".join(f"{name} {', '.join(values)}" for name, values in label.items() if name != "namespace" and values)


def _print_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
