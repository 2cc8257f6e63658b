"""In which tables does the authority keep what it knows?

One set of tables for SQLite and PostgreSQL. Text compares by code point in both, so that the order a database
gives is the order of keys (R11). Numbers (`number`, `change`) are internal: they are never shown and never hashed.
`index/migrations/` makes these tables; a test holds the two together.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    false,
)

KEY_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
NUMBER = BigInteger().with_variant(Integer(), "sqlite")  # SQLite counts rows only in a column of its own INTEGER

METADATA = MetaData()

# One row. `change` grows by one with every write to sources, revisions, labels or revocations: readers reload when
# it has moved. The last three count the rows of their tables, so that one that vanished is missed.
catalog_state = Table(
    "catalog_state",
    METADATA,
    Column("only", Boolean, primary_key=True),
    Column("recipe", Text, nullable=False),  # canonical JSON
    Column("recipe_digest", Text, nullable=False),
    Column("change", BigInteger, nullable=False),
    Column("revisions", BigInteger, nullable=False),
    Column("revocations", BigInteger, nullable=False, server_default="0"),
    Column("revoked_revisions", BigInteger, nullable=False, server_default="0"),
)

label = Table(
    "label",
    METADATA,
    Column("digest", KEY_TEXT, primary_key=True),
    Column("record", Text, nullable=False),  # canonical JSON
)

source = Table(
    "source",
    METADATA,
    Column("namespace", KEY_TEXT, nullable=False),
    Column("source_id", KEY_TEXT, nullable=False),
    Column("label_digest", KEY_TEXT, ForeignKey("label.digest"), nullable=False),
    PrimaryKeyConstraint("namespace", "source_id"),
    Index("source_of_label", "label_digest"),
)

ingest = Table(
    "ingest",
    METADATA,
    Column("change", BigInteger, primary_key=True, autoincrement=False),
    Column("ingest_id", KEY_TEXT, nullable=False),
    Column("accepted", BigInteger, nullable=False),
    Column("unchanged", BigInteger, nullable=False),
    Column("relabelled", BigInteger, nullable=False),
)

# Which label an ingest took from a source, so that a rollback can give it back. `after` is the one that it gave, or ""
# once the source was relabelled by itself since.
relabelling = Table(
    "relabelling",
    METADATA,
    Column(
        "change",
        BigInteger,
        ForeignKey("ingest.change", deferrable=True, initially="DEFERRED"),
        nullable=False,
    ),
    Column("namespace", KEY_TEXT, nullable=False),
    Column("source_id", KEY_TEXT, nullable=False),
    Column("before", KEY_TEXT, ForeignKey("label.digest"), nullable=False),
    Column("after", KEY_TEXT, nullable=False),
    PrimaryKeyConstraint("change", "namespace", "source_id"),
    Index("relabelling_of_source", "namespace", "source_id"),
    Index("relabelling_from_label", "before"),
)

# The text is kept as its units: they tile it, so joined in order they are the text.
revision = Table(
    "revision",
    METADATA,
    Column("namespace", KEY_TEXT, nullable=False),
    Column("source_id", KEY_TEXT, nullable=False),
    Column("revision", KEY_TEXT, nullable=False),
    Column("title", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("authority", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("effective_from", BigInteger),  # microseconds since 1970 in UTC
    Column("effective_to", BigInteger),
    Column("relations", Text, nullable=False),  # JSON: supersedes, contradicts, claims, applies_to, citable_for
    Column("metadata", Text, nullable=False),  # canonical JSON
    Column("text_digest", Text, nullable=False),
    Column("content_digest", Text, nullable=False),  # of the facts without the label
    Column("units", BigInteger, nullable=False),
    Column("seal", LargeBinary, nullable=False),  # SHA-256 of all facts, rewritten with the label and by a revocation
    Column(
        "added",
        BigInteger,
        ForeignKey("ingest.change", deferrable=True, initially="DEFERRED"),
        nullable=False,
    ),
    Column("change", BigInteger, nullable=False),  # the catalog's change that last touched the facts
    # Whether it can be searched: its codes were kept when it was taken in, or it was published since.
    Column("coded", Boolean, nullable=False, server_default=false()),
    Column("revoked", BigInteger),  # the change that revoked it here, whatever status it came with
    Column("was_draft", Boolean, nullable=False, server_default=false()),  # it came as revoked, and never published
    PrimaryKeyConstraint("namespace", "source_id", "revision"),
    ForeignKeyConstraint(["namespace", "source_id"], ["source.namespace", "source.source_id"]),
    Index("revision_by_change", "change"),
    Index("revision_of_ingest", "added"),
)

# The `supersedes` relations once more, to be found from the other end. The target need not be in the catalog.
superseder = Table(
    "superseder",
    METADATA,
    Column("namespace", KEY_TEXT, nullable=False),
    Column("source_id", KEY_TEXT, nullable=False),
    Column("revision", KEY_TEXT, nullable=False),
    Column("of_namespace", KEY_TEXT, nullable=False),
    Column("of_source", KEY_TEXT, nullable=False),
    Column("of_revision", KEY_TEXT, nullable=False),
    PrimaryKeyConstraint("of_namespace", "of_source", "of_revision", "namespace", "source_id", "revision"),
    ForeignKeyConstraint(
        ["namespace", "source_id", "revision"], ["revision.namespace", "revision.source_id", "revision.revision"]
    ),
    Index("superseder_by_revision", "namespace", "source_id", "revision"),
)

# What was taken from principals: a subject, a token, or a grant of a subject. A namespace of "" is every namespace,
# `dimension` and `value` are "" where no grant is meant.
revocation = Table(
    "revocation",
    METADATA,
    Column("kind", Text, nullable=False),
    Column("namespace", KEY_TEXT, nullable=False),
    Column("name", KEY_TEXT, nullable=False),  # a subject, or a token's id
    Column("dimension", Text, nullable=False),
    Column("value", KEY_TEXT, nullable=False),
    Column("seal", LargeBinary, nullable=False),  # SHA-256 of the columns before it
    Column("change", BigInteger, nullable=False),
    PrimaryKeyConstraint("kind", "namespace", "name", "dimension", "value"),
    Index("revocation_by_name", "name"),
)

# Which revisions were revoked, by key alone: a row stays when its revision is taken out.
revoked_revision = Table(
    "revoked_revision",
    METADATA,
    Column("namespace", KEY_TEXT, nullable=False),
    Column("source_id", KEY_TEXT, nullable=False),
    Column("revision", KEY_TEXT, nullable=False),
    Column("seal", LargeBinary, nullable=False),  # SHA-256 of the key and the change
    Column("change", BigInteger, nullable=False),  # that revoked it, as `revision.revoked` where it is there
    PrimaryKeyConstraint("namespace", "source_id", "revision"),
)

unit = Table(
    "unit",
    METADATA,
    Column("number", NUMBER, primary_key=True),
    Column("namespace", KEY_TEXT, nullable=False),
    Column("source_id", KEY_TEXT, nullable=False),
    Column("revision", KEY_TEXT, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("input_digest", LargeBinary, nullable=False),  # SHA-256 of what both channels read
    Column("seal", LargeBinary, nullable=False),  # SHA-256 of the whole row, compared whenever it is read
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger, nullable=False),
    Column("prefix_tokens", BigInteger, nullable=False),
    Column("prefix_tokens_cut", BigInteger, nullable=False),
    Column("heading", Text, nullable=False),  # JSON
    Column("digest", Text, nullable=False),
    Column("prefix", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("handle", KEY_TEXT, nullable=False, server_default=""),  # its citation handle
    UniqueConstraint("namespace", "source_id", "revision", "ordinal"),
    ForeignKeyConstraint(
        ["namespace", "source_id", "revision"], ["revision.namespace", "revision.source_id", "revision.revision"]
    ),
    Index("unit_by_input", "namespace", "input_digest"),
    Index("unit_by_handle", "handle"),
)

# What a text became, once for each namespace: tenants never share a row, revisions of one namespace do.
code = Table(
    "code",
    METADATA,
    Column("namespace", KEY_TEXT, nullable=False),
    Column("input_digest", LargeBinary, nullable=False),
    Column("seal", LargeBinary, nullable=False),  # SHA-256 of `codes`
    Column("codes", LargeBinary, nullable=False),  # dimension x int8
    PrimaryKeyConstraint("namespace", "input_digest"),
)
