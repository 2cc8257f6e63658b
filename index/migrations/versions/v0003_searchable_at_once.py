"""Which revisions can be searched before the next reindex?

Those that were taken in together with their codes, or published since.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


KEY = ("namespace", "source_id", "revision")
INPUT = ("namespace", "input_digest")


def upgrade() -> None:
    """What is there already and has its codes got them from a reindex; the rest waits for one."""
    op.add_column("revision", sa.Column("coded", sa.Boolean, nullable=False, server_default=sa.false()))
    revisions = sa.table("revision", *(sa.column(name) for name in (*KEY, "coded")))
    unit = sa.table("unit", *(sa.column(name) for name in (*KEY, "input_digest")))
    code = sa.table("code", *(sa.column(name) for name in INPUT))
    has_code = sa.exists().where(*(code.c[name] == unit.c[name] for name in INPUT)).correlate(unit)
    waits = sa.exists().where(*(unit.c[name] == revisions.c[name] for name in KEY), ~has_code)
    op.get_bind().execute(sa.update(revisions).where(~waits).values(coded=sa.true()))


def downgrade() -> None:
    """What was taken in since the last reindex waits for the next one again."""
    op.drop_column("revision", "coded")
