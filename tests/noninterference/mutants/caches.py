"""What if something kept for one caller were handed to another? (R35)

A key that leaves out what the value depends on: grants, the tenant, who asked.
"""

from dataclasses import replace

import index.snapshot
from evidence.access import Principal, Scope
from evidence.eligibility import Filter, Use
from evidence.identity import PUBLIC
from evidence.instant import Instant
from index.snapshot import _RequestKey, _ScopeKey
from server.queries import Asker, QueryReader
from server.retrieval import Codes, Query
from server.schemas import Channel
from tests.noninterference.mutants.mutant import Mutant, Oracle
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.relations import Relation

_read = QueryReader.read


def _key_of_subject(*, change: int, scope: Scope, use: Use) -> _ScopeKey:
    """As where a login is known by its user: what was granted to them since, or taken from them, does not show."""
    who = Principal(sub=scope.principal.sub, tenant=scope.principal.tenant)
    return _ScopeKey(change=change, scope=Scope(principal=who, purpose=scope.purpose), use=use)


def _key_of_grants(
    *,
    change: int,
    segments: str,
    scope: Scope,
    use: Use,
    as_of: Instant | None,
    subject: str | None,
    filter: Filter,  # noqa: A002  # as the product names it
) -> _RequestKey:
    """As where roles have the same names everywhere: whoever holds them is served what the first holder was."""
    anywhere = Scope(principal=replace(scope.principal, tenant=None), purpose=scope.purpose)
    return _RequestKey(
        change=change, segments=segments, scope=anywhere, use=use, as_of=as_of, subject=subject, filter=filter
    )


def _read_for_anyone(
    self: QueryReader, text: str, channel: Channel, *, asker: Asker, code: Codes | None = None
) -> Query:
    """A code depends on the text alone, so why keep it twice? Since whether it was there shows in the time it takes."""
    return _read(self, text, channel, asker=(PUBLIC, "anyone"), code=code)


SHARED_CODES = Mutant(
    number=17,
    name="query codes shared between callers",
    what="a query that anybody asked before is not encoded again; counted encodings stand in for time",
    killer=Oracle.ENCODER_SPY,
    switched_on=replacing(QueryReader, "read", _read_for_anyone),
)
CACHES = (
    Mutant(
        number=15,
        name="cache key without grants",
        what="what is visible is kept for each subject, whatever it was granted meanwhile",
        killer=Relation.M6,
        switched_on=replacing(index.snapshot, "_ScopeKey", _key_of_subject),
    ),
    Mutant(
        number=16,
        name="cache key without tenant",
        what="what is usable is kept for each set of grants, whatever tenant they are of",
        killer=Relation.M6,
        switched_on=replacing(index.snapshot, "_RequestKey", _key_of_grants),
    ),
    SHARED_CODES,
)
