"""Which revisions can be searched before the next reindex?

Those that were taken in together with their codes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What is there already came without codes: it is in a generation, or waits for one."""
    op.add_column("revision", sa.Column("coded", sa.Boolean, nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """What was taken in since the last reindex waits for the next one again."""
    op.drop_column("revision", "coded")
