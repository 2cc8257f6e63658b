"""How does each named revision stand in the authority at this very moment?

The second gate: it reads rows, labels, revocations, siblings and superseders anew from the database, and shares
nothing with what the first gate worked out and kept (`index/compartments.py`), so that either alone holds (R5).
"""

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection, bindparam, select, tuple_

from evidence.access import Scope
from evidence.eligibility import Eligibility, Standing, is_visible, judge
from evidence.grants import live_principal
from evidence.identity import RevisionKey, SourceKey
from evidence.revision import RevisionFacts
from index.catalog_labels import FACTS_AND_LABEL
from index.catalog_read import Reading
from index.catalog_revocations import read_revocations_of
from index.catalog_rows import facts_of, label_of
from index.catalog_tables import revision, superseder

_OF_SOURCE = FACTS_AND_LABEL.where(
    revision.c.namespace == bindparam("of_namespace"), revision.c.source_id == bindparam("of_source")
)
_SUPERSEDING = FACTS_AND_LABEL.where(
    tuple_(revision.c.namespace, revision.c.source_id, revision.c.revision).in_(
        select(superseder.c.namespace, superseder.c.source_id, superseder.c.revision).where(
            superseder.c.of_namespace == bindparam("of_namespace"), superseder.c.of_source == bindparam("of_source")
        )
    )
)


def live_standings(
    reading: Reading, keys: Iterable[RevisionKey], eligibility: Eligibility
) -> dict[RevisionKey, tuple[RevisionFacts, Standing]]:
    """The facts and the standing of each visible revision among `keys`, in key order.

    One that is gone, or that the caller may not see now, is not in the result; all are missing when the caller's
    subject, token or purpose was revoked. Costs two statements a source. Raises DamagedCatalog.
    """
    asked = sorted(set(keys))
    scope = _live_scope(reading.connection, eligibility.scope)
    if scope is None:
        return {}
    live = replace(eligibility, scope=scope)
    found: dict[RevisionKey, tuple[RevisionFacts, Standing]] = {}
    for of_source in dict.fromkeys(key.source for key in asked):
        visible = [
            facts
            for facts in _related(reading.connection, of_source)
            if is_visible(facts, scope=scope, use=eligibility.use)
        ]
        standings = judge(visible, live)
        found |= {facts.key: (facts, standings[facts.key]) for facts in visible if facts.key.source == of_source}
    return {key: found[key] for key in asked if key in found}


def _live_scope(connection: Connection, scope: Scope) -> Scope | None:
    """The scope less what was revoked; None when nothing is left of it."""
    principal = live_principal(scope.principal, read_revocations_of(connection, scope.principal))
    if principal is None or (scope.purpose is not None and scope.purpose not in principal.purposes):
        return None
    return replace(scope, principal=principal)


def _related(connection: Connection, key: SourceKey) -> list[RevisionFacts]:
    """Every revision of a source, and every one that supersedes one of them: all that their standing depends on."""
    named = {"of_namespace": key.namespace, "of_source": key.source_id}
    rows = [*connection.execute(_OF_SOURCE, named), *connection.execute(_SUPERSEDING, named)]
    facts = [facts_of(row, label_of(row)) for row in rows]
    return list({one.key: one for one in facts}.values())
