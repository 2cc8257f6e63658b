"""How long are runs and manifests kept, and what is known of those that are gone?

Each namespace has its own limits: how many answers one tenant asks for decides nothing about another one's records.
The oldest runs go first; a manifest goes with its last run. What was removed is counted and stays stated. Reviews are
never removed. The file does not shrink: its freed pages are overwritten and used again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from evidence.identity import Namespace
from evidence.instant import Instant
from index.records import Records
from index.records_tables import manifest, pruned, run

REMOVED_AT_ONCE = 64  # runs in one transaction: about 10 ms, since what is freed is overwritten


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What pruning took out of the records so far. `newest`: the latest moment of a run that was removed."""

    runs: int
    manifests: int
    newest: Instant | None


def prune(records: Records, *, max_runs: int, oldest: Instant, namespace: Namespace | None = None) -> Removed:
    """Remove what lies before the newest `max_runs` runs of a namespace, or was before `oldest`; of all for None.

    In short transactions, so that answers being kept meanwhile never wait for long. Returns what this call removed.
    """
    gone = Removed(runs=0, manifests=0, newest=None)
    with records.reading() as connection:
        pruned_now = list(_namespaces(connection)) if namespace is None else [namespace]
    for one in pruned_now:
        while True:
            with records.writing() as connection:
                step = _remove_some(connection, one, max_runs=max_runs, oldest=oldest)
            gone = _added(gone, step)
            if step.runs < REMOVED_AT_ONCE:
                break
    return gone


def removed(records: Records, *, namespace: Namespace | None) -> Removed:
    """All that pruning ever took out of a namespace, or out of all of them for None."""
    query = select(func.sum(pruned.c.runs), func.sum(pruned.c.manifests), func.max(pruned.c.newest))
    if namespace is not None:
        query = query.where(pruned.c.namespace == namespace)
    with records.reading() as connection:
        runs, manifests, newest = connection.execute(query).one()
    return Removed(runs=runs or 0, manifests=manifests or 0, newest=None if newest is None else Instant(newest))


def _remove_some(connection: Connection, namespace: str, *, max_runs: int, oldest: Instant) -> Removed:
    """Remove at most REMOVED_AT_ONCE runs from the front of a namespace, and the manifests they alone named."""
    mine = run.c.namespace == namespace
    beyond = select(run.c.number).where(mine).order_by(run.c.number.desc()).offset(max_runs).limit(1)
    last = connection.execute(beyond).scalar()
    front = select(run.c.number, run.c.manifest, run.c.at).where(mine).order_by(run.c.number).limit(REMOVED_AT_ONCE)
    going = []
    for row in connection.execute(front):
        if not (row.at < oldest or (last is not None and row.number <= last)):
            break
        going.append(row)
    if not going:
        return Removed(runs=0, manifests=0, newest=None)
    connection.execute(delete(run).where(mine, run.c.number <= going[-1].number))
    named = exists().where(run.c.manifest == manifest.c.number)
    manifests = sum(
        connection.execute(delete(manifest).where(manifest.c.number == number, ~named)).rowcount
        for number in sorted({row.manifest for row in going})
    )
    step = Removed(runs=len(going), manifests=manifests, newest=Instant(max(row.at for row in going)))
    _state(connection, namespace, step)
    return step


def _state(connection: Connection, namespace: str, step: Removed) -> None:
    """Add what was removed to what is stated of the namespace."""
    row = connection.execute(select(pruned).where(pruned.c.namespace == namespace)).first()
    if row is None:
        values = {"runs": step.runs, "manifests": step.manifests, "newest": step.newest}
        connection.execute(insert(pruned).values(namespace=namespace, **values))
        return
    so_far = Removed(runs=row.runs, manifests=row.manifests, newest=Instant(row.newest))
    total = _added(so_far, step)
    connection.execute(
        update(pruned)
        .where(pruned.c.namespace == namespace)
        .values(runs=total.runs, manifests=total.manifests, newest=total.newest)
    )


def _namespaces(connection: Connection) -> Iterator[str]:
    """Each namespace that has runs, one step down the index each."""
    namespace = connection.execute(select(func.min(run.c.namespace))).scalar()
    while namespace is not None:
        yield namespace
        namespace = connection.execute(select(func.min(run.c.namespace)).where(run.c.namespace > namespace)).scalar()


def _added(one: Removed, other: Removed) -> Removed:
    moments = [at for at in (one.newest, other.newest) if at is not None]
    return Removed(
        runs=one.runs + other.runs, manifests=one.manifests + other.manifests, newest=max(moments, default=None)
    )
