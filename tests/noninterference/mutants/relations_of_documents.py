"""What if a document had a part in what is said of another one that it is not shown with? (R8, R17, R18)

Duplicates, conflicts and successors are worked out over all that there is, as where that is done once, when documents
come in.
"""

from dataclasses import replace

from sqlalchemy import select

from evidence.assembly import Assembled
from evidence.identity import RevisionKey
from evidence.instant import Instant
from evidence.snapshot import index_visible
from evidence.state import State
from index.catalog_tables import revision
from index.catalog_write import NewRevision, _Call
from index.compartments import Eligible
from index.snapshot import Snapshot
from server.packets import Answered, PacketMaker
from server.retrieval import Query
from server.views import View, Views
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.mutants.resealing import resealed
from tests.noninterference.relations import Relation

_take = _Call.take
_answered = PacketMaker._answered
_of = Views.of


def _take_unless_known(self: _Call, offered: NewRevision) -> None:
    """A text that another tenant brought is there already."""
    self.write_held()
    facts = offered.facts
    same = (revision.c.text_digest == facts.text_digest, revision.c.namespace != facts.key.namespace)
    if self.connection.execute(select(revision.c.namespace).where(*same)).first() is None:
        _take(self, offered)
    else:
        self.unchanged += 1


def _answered_with_flag(
    self: PacketMaker, assembled: Assembled, view: View, now: Instant, *, query: Query | None = None
) -> Answered:
    """What a source claims was flagged as disputed when another one came that claims something else."""
    with self.authority._snapshots.pin() as snapshot:
        disputed = index_visible(snapshot.reading.holdings.facts.values()).disputed_claims
    included = [] if assembled.packet is None else assembled.packet["evidence"]
    assert isinstance(included, list)
    facts = view.snapshot.visible.facts
    revisions = [facts[RevisionKey(one["namespace"], one["source_id"], one["revision"])] for one in included]
    if any(claim.key in disputed for one in revisions for claim in one.claims):
        flagged = resealed(assembled, {"state": State.CONFLICTING.value})
        assembled = replace(flagged, state=State.CONFLICTING)
    return _answered(self, assembled, view, now, query=query)


def _of_with_every_successor(self: Views, snapshot: Snapshot, eligible: Eligible) -> View:
    """Which revision replaces which is looked up in one table for everybody."""
    view = _of(self, snapshot, eligible)
    successors = index_visible(snapshot.reading.holdings.facts.values()).superseders
    visible = replace(view.snapshot.visible, superseders=successors)
    return replace(view, snapshot=replace(view.snapshot, visible=visible))


RELATIONS_OF_DOCUMENTS = (
    Mutant(
        number=18,
        name="duplicates removed across tenants",
        what="a text that another tenant brought before is not taken in again",
        killer=Relation.M1,
        switched_on=replacing(_Call, "take", _take_unless_known),
    ),
    Mutant(
        number=20,
        name="conflict flag from an invisible member",
        what="a packet is in conflict when any document there is claims something else than an included one",
        killer=Relation.M1,
        switched_on=replacing(PacketMaker, "_answered", _answered_with_flag),
    ),
    Mutant(
        number=21,
        name="`superseded_by` names what is invisible",
        what="the successors of an included revision are listed, whoever may see them",
        killer=Relation.M1,
        switched_on=replacing(Views, "of", _of_with_every_successor),
    ),
)
