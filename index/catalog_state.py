"""How does a write become visible to every reader, in every process?

By its number. Readers compare it in front of everything else, and reload when it has moved.
"""

from sqlalchemy import Connection, select, update

from index.catalog_tables import catalog_state


def next_change(connection: Connection) -> int:
    """The number of the change that is being written. The caller holds the only write transaction."""
    change: int = connection.execute(select(catalog_state.c.change)).scalar_one()
    return change + 1


def record_change(
    connection: Connection, change: int, *, revisions: int = 0, revocations: int = 0, revoked_revisions: int = 0
) -> None:
    """State `change`, and how many more (or fewer) rows of each table that is counted there are than before it."""
    connection.execute(
        update(catalog_state).values(
            change=change,
            revisions=catalog_state.c.revisions + revisions,
            revocations=catalog_state.c.revocations + revocations,
            revoked_revisions=catalog_state.c.revoked_revisions + revoked_revisions,
        )
    )
