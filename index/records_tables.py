"""In which tables are answers, runs and reviews kept?

One row of `manifest` for each packet id, one row of `run` for each time it was answered. Numbers are internal: they
give the order of writing and are never shown.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, MetaData, Table, Text

from index.catalog_tables import KEY_TEXT, NUMBER

METADATA = MetaData()

# A packet id is the digest of its manifest, so equal ids have equal manifests and belong to one scope.
manifest = Table(
    "manifest",
    METADATA,
    Column("number", NUMBER, primary_key=True),
    Column("packet", LargeBinary, nullable=False, unique=True),  # the 32 bytes of the packet id
    Column("namespace", KEY_TEXT, nullable=False),  # of the caller: its tenant, or public
    Column("sub", KEY_TEXT, nullable=False),
    Column("body", LargeBinary, nullable=False),  # zlib of the manifest's JSON
)

run = Table(
    "run",
    METADATA,
    Column("number", NUMBER, primary_key=True),
    Column("manifest", NUMBER, ForeignKey("manifest.number"), nullable=False),
    Column("namespace", KEY_TEXT, nullable=False),
    Column("at", BigInteger, nullable=False),  # microseconds since 1970 in UTC
    Column("request_id", KEY_TEXT, nullable=False),
    Column("body", LargeBinary, nullable=False),  # zlib of the sealed record's JSON
    Index("run_of_manifest", "manifest", "number"),
    Index("run_of_namespace", "namespace", "number"),
    sqlite_autoincrement=True,  # a number is never given twice, so that the order stands after the newest was pruned
)

# What was removed, so that an empty answer to an auditor can be told from a run that never was.
pruned = Table(
    "pruned",
    METADATA,
    Column("namespace", KEY_TEXT, primary_key=True),
    Column("runs", BigInteger, nullable=False),
    Column("manifests", BigInteger, nullable=False),
    Column("newest", BigInteger, nullable=False),  # the latest `at` of a run that was removed
)

review = Table(
    "review",
    METADATA,
    Column("number", NUMBER, primary_key=True),
    Column("review_id", KEY_TEXT, nullable=False, unique=True),
    Column("namespace", KEY_TEXT, nullable=False),
    Column("packet", LargeBinary, nullable=False),
    Column("state", KEY_TEXT, nullable=False),  # of the latest adjudication
    Column("body", Text, nullable=False),  # JSON
    Index("review_of_namespace", "namespace", "number"),
    Index("review_of_packet", "packet", "number"),
)

# Added to, never changed: what was decided first stays readable after it was decided again.
adjudication = Table(
    "adjudication",
    METADATA,
    Column("number", NUMBER, primary_key=True),
    Column("review", NUMBER, ForeignKey("review.number"), nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("adjudication_of_review", "review", "number"),
)
