"""What if the answer told a name that is another's from one that never was? (R7)

Whoever looks a name up first, and asks only then whose it is, has two answers where there must be one.
"""

from evidence.access import Principal
from evidence.request import PacketRequest as Resolved
from index.catalog import Catalog
from server import packets, routes_authority
from server.errors import Forbidden, NotFound
from server.ranking import Pinned, Ranker
from server.retrieval import Codes
from server.schemas import PacketRequest
from server.strategies import Selected, select
from server.views import View
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.relations import Relation

_delete = routes_authority._delete


def _select_or_forbid(
    request: PacketRequest,
    resolved: Resolved,
    *,
    ranker: Ranker,
    pinned: Pinned,
    view: View,
    max_units: int,
    code: Codes | None,
) -> Selected:
    """The id leads to a source, whoever it is of; then it is looked at whether the caller may read it."""
    named, everything = resolved.source, pinned.snapshot.reading.holdings.facts
    there = named is not None and any(key.source_id == named.source_id for key in everything)
    if there and not any(key.source == named for key in pinned.eligible.visible):
        raise Forbidden("this source is not yours to read", path="$.source_id")
    return select(request, resolved, ranker=ranker, pinned=pinned, view=view, max_units=max_units, code=code)


def _delete_with_reason(catalog: Catalog, principal: Principal, source_id: str, *, public: bool) -> dict[str, object]:
    """The same status for both, and a text that says which of the two it is."""
    try:
        return _delete(catalog, principal, source_id, public=public)
    except NotFound as error:
        with catalog.read() as reading:
            elsewhere = any(key.source_id == source_id for key in reading.facts())
        raise NotFound(f"{error.detail}, but in another one") if elsewhere else error from None


NAMES = (
    Mutant(
        number=13,
        name="403 for what is another's",
        what="a source that is asked for whole is looked up by its id alone, and its label after that",
        killer=Relation.M7,
        switched_on=replacing(packets, "select", _select_or_forbid),
    ),
    Mutant(
        number=14,
        name="another length of the error",
        what="deleting a source that lies elsewhere gives the same status, and a text that says so",
        killer=Relation.M7,
        switched_on=replacing(routes_authority, "_delete", _delete_with_reason),
    ),
)
