"""Which tables does the first catalog have?

State, labels, sources, ingests, revisions, units, codes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables, parents before children."""
    op.create_table(
        "catalog_state",
        sa.Column("only", sa.Boolean, primary_key=True),
        sa.Column("recipe", sa.Text, nullable=False),
        sa.Column("recipe_digest", sa.Text, nullable=False),
        sa.Column("change", sa.BigInteger, nullable=False),
        sa.Column("revisions", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "label",
        sa.Column("digest", KEY_TEXT, primary_key=True),
        sa.Column("record", sa.Text, nullable=False),
    )
    op.create_table(
        "source",
        sa.Column("namespace", KEY_TEXT, nullable=False),
        sa.Column("source_id", KEY_TEXT, nullable=False),
        sa.Column("label_digest", KEY_TEXT, sa.ForeignKey("label.digest"), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "source_id"),
    )
    op.create_index("source_of_label", "source", ["label_digest"])
    op.create_table(
        "ingest",
        sa.Column("change", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("ingest_id", KEY_TEXT, nullable=False),
        sa.Column("accepted", sa.BigInteger, nullable=False),
        sa.Column("unchanged", sa.BigInteger, nullable=False),
        sa.Column("relabelled", sa.BigInteger, nullable=False),
    )
    _create_revision()
    _create_unit()
    op.create_table(
        "code",
        sa.Column("namespace", KEY_TEXT, nullable=False),
        sa.Column("input_digest", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column("codes", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("namespace", "input_digest"),
    )


def downgrade() -> None:
    """Drop everything: there is nothing before the first tables."""
    for table in ("code", "unit", "revision", "ingest", "source", "label", "catalog_state"):
        op.drop_table(table)


def _create_revision() -> None:
    op.create_table(
        "revision",
        sa.Column("namespace", KEY_TEXT, nullable=False),
        sa.Column("source_id", KEY_TEXT, nullable=False),
        sa.Column("revision", KEY_TEXT, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("family", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("authority", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("effective_from", sa.BigInteger),
        sa.Column("effective_to", sa.BigInteger),
        sa.Column("relations", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("text_digest", sa.Text, nullable=False),
        sa.Column("content_digest", sa.Text, nullable=False),
        sa.Column("units", sa.BigInteger, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column(
            "added",
            sa.BigInteger,
            sa.ForeignKey("ingest.change", deferrable=True, initially="DEFERRED"),
            nullable=False,
        ),
        sa.Column("change", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("namespace", "source_id", "revision"),
        sa.ForeignKeyConstraint(["namespace", "source_id"], ["source.namespace", "source.source_id"]),
    )
    op.create_index("revision_by_change", "revision", ["change"])
    op.create_index("revision_of_ingest", "revision", ["added"])


def _create_unit() -> None:
    op.create_table(
        "unit",
        sa.Column("number", NUMBER, primary_key=True),
        sa.Column("namespace", KEY_TEXT, nullable=False),
        sa.Column("source_id", KEY_TEXT, nullable=False),
        sa.Column("revision", KEY_TEXT, nullable=False),
        sa.Column("ordinal", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("input_digest", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("end", sa.BigInteger, nullable=False),
        sa.Column("prefix_tokens", sa.BigInteger, nullable=False),
        sa.Column("prefix_tokens_cut", sa.BigInteger, nullable=False),
        sa.Column("heading", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.UniqueConstraint("namespace", "source_id", "revision", "ordinal"),
        sa.ForeignKeyConstraint(
            ["namespace", "source_id", "revision"],
            ["revision.namespace", "revision.source_id", "revision.revision"],
        ),
    )
    op.create_index("unit_by_input", "unit", ["namespace", "input_digest"])
