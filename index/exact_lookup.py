"""What does the catalog hold under an exact name, whoever may see it?

Not useful for answering a caller: what is found here may be invisible to them. It serves the record that only an
auditor reads, once the answer has left (R7), and the check that a stored manifest names nothing that is gone (R35).
"""

from sqlalchemy import bindparam, select

from evidence.identity import RevisionKey, SourceKey
from index.catalog_read import Reading
from index.catalog_tables import revision

_OF_SOURCE = (
    select(revision.c.revision)
    .where(revision.c.namespace == bindparam("namespace"), revision.c.source_id == bindparam("source_id"))
    .order_by(revision.c.revision)
)


def revisions_of(reading: Reading, source: SourceKey) -> list[RevisionKey]:
    """The revisions of a source, in key order; none when there is no such source."""
    found = reading.connection.execute(_OF_SOURCE, source._asdict()).scalars()
    return [RevisionKey(*source, name) for name in found]
