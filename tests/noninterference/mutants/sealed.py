"""What if something of the sealed record came into what the caller gets? (R7, R31)

What a request named exactly and its caller may not see is looked up before the answer leaves, and is in it.
"""

from evidence.assembly import Assembled
from evidence.canonical import Json, digest
from evidence.instant import Instant
from server.packets import Answered, PacketMaker
from server.retrieval import Query
from server.unauthorized import find_unauthorized, named_exactly
from server.views import View
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.mutants.resealing import resealed
from tests.noninterference.relations import Relation

_answered = PacketMaker._answered


def _answered_with_findings(
    self: PacketMaker, assembled: Assembled, view: View, now: Instant, *, query: Query | None = None
) -> Answered:
    """The caller is told why a role stayed empty."""
    told = resealed(assembled, {"unauthorized": _findings(self, view)})
    return _answered(self, told, view, now, query=query)


def _answered_with_seal(
    self: PacketMaker, assembled: Assembled, view: View, now: Instant, *, query: Query | None = None
) -> Answered:
    """The manifest vouches for the sealed record, so that nobody can change that one later."""
    sealed = resealed(assembled, {"sealed": digest(_findings(self, view))})
    return _answered(self, sealed, view, now, query=query)


def _findings(maker: PacketMaker, view: View) -> list[Json]:
    eligibility = view.snapshot.eligibility
    named = named_exactly(maker.resolved, eligibility, {})
    with maker.authority._snapshots.pin() as snapshot:
        found = find_unauthorized(named, scope=eligibility.scope, reading=snapshot.reading)
    return [finding.record() for finding in found]


SEALED = (
    Mutant(
        number=19,
        name="`unauthorized` in the manifest",
        what="the caller's manifest says which of the names asked for are there and not theirs",
        killer=Relation.M1,
        switched_on=replacing(PacketMaker, "_answered", _answered_with_findings),
    ),
    Mutant(
        number=23,
        name="manifest hash covers sealed fields",
        what="a digest of the sealed findings is in the caller's manifest, and so in its hash",
        killer=Relation.M1,
        switched_on=replacing(PacketMaker, "_answered", _answered_with_seal),
    ),
)
