"""Which tables let a catalog change after it was filled?

Revocations, the labels that ingests replaced, superseders by what they supersede, units by citation handle.
"""

import json

import sqlalchemy as sa
from alembic import op

from evidence.citations import citation_handle
from evidence.identity import Namespace, UnitKey
from evidence.unit import Unit

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
KEY = ("namespace", "source_id", "revision")
ROWS_A_QUERY = 1000


def upgrade() -> None:
    """Add tables and columns, and fill what follows from the rows that are there."""
    op.add_column("catalog_state", sa.Column("revocations", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("revision", sa.Column("revoked", sa.BigInteger))
    op.add_column("unit", sa.Column("handle", KEY_TEXT, nullable=False, server_default=""))
    op.create_index("unit_by_handle", "unit", ["handle"])
    _create_relabelling()
    _create_superseder()
    _create_revocation()
    _fill_handles(op.get_bind())
    _fill_superseders(op.get_bind())


def downgrade() -> None:
    """Take all of it out again. What was revoked would be in force again: nothing calls this by itself."""
    for table in ("revocation", "superseder", "relabelling"):
        op.drop_table(table)
    op.drop_index("unit_by_handle", "unit")
    op.drop_column("unit", "handle")
    op.drop_column("revision", "revoked")
    op.drop_column("catalog_state", "revocations")


def _create_relabelling() -> None:
    op.create_table(
        "relabelling",
        sa.Column(
            "change",
            sa.BigInteger,
            sa.ForeignKey("ingest.change", deferrable=True, initially="DEFERRED"),
            nullable=False,
        ),
        sa.Column("namespace", KEY_TEXT, nullable=False),
        sa.Column("source_id", KEY_TEXT, nullable=False),
        sa.Column("before", KEY_TEXT, sa.ForeignKey("label.digest"), nullable=False),
        sa.Column("after", KEY_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("change", "namespace", "source_id"),
    )
    op.create_index("relabelling_of_source", "relabelling", ["namespace", "source_id"])
    op.create_index("relabelling_from_label", "relabelling", ["before"])


def _create_superseder() -> None:
    op.create_table(
        "superseder",
        *(sa.Column(name, KEY_TEXT, nullable=False) for name in KEY),
        sa.Column("of_namespace", KEY_TEXT, nullable=False),
        sa.Column("of_source", KEY_TEXT, nullable=False),
        sa.Column("of_revision", KEY_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("of_namespace", "of_source", "of_revision", *KEY),
        sa.ForeignKeyConstraint(KEY, [f"revision.{name}" for name in KEY]),
    )
    op.create_index("superseder_by_revision", "superseder", list(KEY))


def _create_revocation() -> None:
    op.create_table(
        "revocation",
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("namespace", KEY_TEXT, nullable=False),
        sa.Column("name", KEY_TEXT, nullable=False),
        sa.Column("dimension", sa.Text, nullable=False),
        sa.Column("value", KEY_TEXT, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column("change", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("kind", "namespace", "name", "dimension", "value"),
    )
    op.create_index("revocation_by_name", "revocation", ["name"])


def _fill_handles(connection: sa.Connection) -> None:
    named = (*KEY, "ordinal", "start", "end", "digest", "handle")
    unit = sa.table("unit", sa.column("number"), *(sa.column(name) for name in named))
    query = sa.select(unit).where(unit.c.number > sa.bindparam("after")).order_by(unit.c.number).limit(ROWS_A_QUERY)
    fill = sa.update(unit).where(unit.c.number == sa.bindparam("of_number")).values(handle=sa.bindparam("found"))
    rows = connection.execute(query, {"after": -(2**63)}).all()
    while rows:
        connection.execute(fill, [{"of_number": row.number, "found": _handle(row)} for row in rows])
        rows = connection.execute(query, {"after": rows[-1].number}).all()


def _handle(row: sa.Row[tuple[object, ...]]) -> str:
    """A handle depends on names and span alone, so the rest of the unit is left empty."""
    return citation_handle(
        Unit(
            key=UnitKey(Namespace(row.namespace), row.source_id, row.revision, row.ordinal),
            start=row.start,
            end=row.end,
            heading=(),
            text="",
            digest=row.digest,
            prefix="",
            prefix_tokens=0,
            prefix_tokens_cut=0,
            tokens=0,
        )
    )


def _fill_superseders(connection: sa.Connection) -> None:
    held = sa.table("revision", *(sa.column(name) for name in KEY), sa.column("relations"))
    named = (*KEY, "of_namespace", "of_source", "of_revision")
    superseder = sa.table("superseder", *(sa.column(name) for name in named))
    rows = [
        dict(zip(named, (*row[:3], *target), strict=True))
        for row in connection.execute(sa.select(held))
        for target in json.loads(row.relations)["supersedes"]
    ]
    if rows:
        connection.execute(sa.insert(superseder), rows)
