"""How does each named revision stand in the authority at this very moment?

The second gate: it reads rows, labels, revocations, siblings and superseders anew from the database, and shares
nothing with what the first gate worked out and kept (`index/compartments.py`), so that either alone holds (R5).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select, tuple_

from evidence.access import Label, Scope
from evidence.eligibility import Eligibility, Standing, is_visible, judge
from evidence.grants import live_principal
from evidence.identity import RevisionKey, SourceKey
from evidence.revision import RevisionFacts
from index.catalog_keys import batches, is_one_of_those
from index.catalog_labels import FACTS_AND_LABEL
from index.catalog_read import Reading
from index.catalog_revocations import read_revocations_of
from index.catalog_rows import facts_of, label_of
from index.catalog_tables import revision, superseder

_SOURCE = (revision.c.namespace, revision.c.source_id)
_SUPERSEDED = (superseder.c.of_namespace, superseder.c.of_source)
_OF_SOURCES = FACTS_AND_LABEL.where(is_one_of_those(_SOURCE))
_SUPERSEDING = FACTS_AND_LABEL.where(
    tuple_(revision.c.namespace, revision.c.source_id, revision.c.revision).in_(
        select(superseder.c.namespace, superseder.c.source_id, superseder.c.revision).where(
            is_one_of_those(_SUPERSEDED)
        )
    )
)


def live_standings(
    reading: Reading, keys: Iterable[RevisionKey], eligibility: Eligibility
) -> dict[RevisionKey, tuple[RevisionFacts, Standing]]:
    """The facts and the standing of each visible revision among `keys`, in key order.

    One that is gone, or that the caller may not see now, is not in the result; all are missing when the caller's
    subject, token or purpose was revoked. Costs two statements for each KEYS_AT_ONCE sources. Raises DamagedCatalog.
    """
    asked = sorted(set(keys))
    scope = _live_scope(reading.connection, eligibility.scope)
    if scope is None:
        return {}
    related = _related(reading.connection, list(dict.fromkeys(key.source for key in asked)))
    visible = {facts.key: facts for facts in related if is_visible(facts, scope=scope, use=eligibility.use)}
    standings = judge(visible.values(), replace(eligibility, scope=scope))
    return {key: (visible[key], standings[key]) for key in asked if key in visible}


def _live_scope(connection: Connection, scope: Scope) -> Scope | None:
    """The scope less what was revoked; None when nothing is left of it."""
    principal = live_principal(scope.principal, read_revocations_of(connection, scope.principal))
    if principal is None or (scope.purpose is not None and scope.purpose not in principal.purposes):
        return None
    return replace(scope, principal=principal)


def _related(connection: Connection, sources: Sequence[SourceKey]) -> Iterator[RevisionFacts]:
    """Every revision of these sources, and every one that supersedes one of them: all that their standing depends on.
    One that is both comes twice."""
    labels: dict[tuple[str, str], Label] = {}
    for columns, statement in ((_SOURCE, _OF_SOURCES), (_SUPERSEDED, _SUPERSEDING)):
        for named in batches(columns, sources):
            for row in connection.execute(statement, named):
                written = (row.digest, row.record)
                if written not in labels:
                    labels[written] = label_of(row)
                yield facts_of(row, labels[written])
