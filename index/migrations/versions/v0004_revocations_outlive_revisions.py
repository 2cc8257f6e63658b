"""Which revisions are revoked for good, and which of them were drafts?

The keys of revoked revisions stand in a table of their own, which outlives them.
"""

import hashlib

import sqlalchemy as sa
from alembic import op

from evidence.canonical import canonical

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEY_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
KEY = ("namespace", "source_id", "revision")


def upgrade() -> None:
    """Remember what is revoked and still there; what was deleted before this format is forgotten."""
    op.add_column("revision", sa.Column("was_draft", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("catalog_state", sa.Column("revoked_revisions", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "revoked_revision",
        *(sa.Column(name, KEY_TEXT, nullable=False) for name in KEY),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column("change", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(*KEY),
    )
    _fill(op.get_bind())


def downgrade() -> None:
    """Take it out again. What was revoked and deleted could come in again as usable: nothing calls this by itself."""
    op.drop_table("revoked_revision")
    op.drop_column("catalog_state", "revoked_revisions")
    op.drop_column("revision", "was_draft")


def _fill(connection: sa.Connection) -> None:
    held = sa.table("revision", *(sa.column(name) for name in (*KEY, "revoked")))
    kept = sa.table("revoked_revision", *(sa.column(name) for name in (*KEY, "change", "seal")))
    state = sa.table("catalog_state", sa.column("revoked_revisions"))
    rows = [
        {
            **{name: row._mapping[name] for name in KEY},
            "change": row.revoked,
            "seal": hashlib.sha256(canonical([row.namespace, row.source_id, row.revision, row.revoked])).digest(),
        }
        for row in connection.execute(sa.select(held).where(held.c.revoked.is_not(None)))
    ]
    if rows:
        connection.execute(sa.insert(kept), rows)
        connection.execute(sa.update(state).values(revoked_revisions=len(rows)))
