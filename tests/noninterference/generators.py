"""Which worlds are tried, from whose viewpoint, and what is asked there?

A case is a few records that its caller sees, some that they do not, most of those made from one of the first or from
the question (`hidden_shapes`), what was revoked, and requests (`generated_requests`) that name things of both kinds.
Everything is small: a fault shows in three records as well as in three thousand, and reads better there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from evidence.access import Principal
from evidence.grants import Dimension, Grant, Subject, Token
from evidence.identity import Namespace, RevisionKey
from tests.noninterference.generated_records import Records, queries, visible_records
from tests.noninterference.generated_requests import asked_of
from tests.noninterference.hidden_shapes import hidden_records
from tests.noninterference.world import Asked, Record, Revocation, Viewpoint, World, is_visible, key_of
from tests.worlds import principal

PURPOSE = "repair"
_OWN, _OTHER = Namespace("blue"), Namespace("red")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A world, who looks at it, and what they ask.

    asker: the viewpoint that the requests are made from. follow: whether what an answer gives is asked about in turn.
    """

    world: World
    asker: Viewpoint
    requests: tuple[Asked, ...]
    follow: bool = False

    @property
    def view(self) -> Viewpoint:
        """From where the world is seen: the asker less the grants that were revoked."""
        return live(self.asker, self.world.revocations)

    def __str__(self) -> str:
        lines = [f"asker: {self.asker}", *(f"record: {dict(record)}" for record in self.world.records)]
        lines += [f"revoked: {one}" for one in self.world.revocations]
        return "\n".join([*lines, *(f"asked: {asked}" for asked in self.requests)])


def live(asker: Viewpoint, revocations: Iterable[Revocation]) -> Viewpoint:
    """What is left of a viewpoint: a grant is gone where it was taken from this subject, here or everywhere."""
    who = asker.who
    lost = {
        (one.dimension, one.value)
        for one in revocations
        if isinstance(one, Grant) and one.subject == who.sub and one.namespace in (None, who.namespace)
    }

    def kept(dimension: Dimension, values: Sequence[str]) -> tuple[str, ...]:
        return tuple(value for value in values if (dimension, value) not in lost)

    left = replace(
        who,
        roles=kept(Dimension.ROLE, who.roles),
        purposes=kept(Dimension.PURPOSE, who.purposes),
        regions=kept(Dimension.REGION, who.regions),
        cases=kept(Dimension.CASE, who.cases),
        scope=kept(Dimension.SCOPE, who.scope),
        personal=(Dimension.ROLE, f"user:{who.sub}") not in lost,
    )
    return replace(asker, who=left)


VIEWPOINTS: tuple[Viewpoint, ...] = (
    Viewpoint(who=principal("blue")),
    Viewpoint(who=principal("blue", roles=("technician",), purposes=(PURPOSE,), regions=("EU",), cases=("C-1",))),
    Viewpoint(who=principal("blue", roles=("technician",), purposes=(PURPOSE,)), purpose=PURPOSE),
    Viewpoint(who=principal(None)),
    Viewpoint(who=principal("blue", scope=("ingest", "search")), drafts=True),
    Viewpoint(who=principal("blue", scope=("ingest", "search"))),
    Viewpoint(who=principal("blue", roles=("technician",)), drafts=True),
    Viewpoint(who=principal(None, scope=("ingest", "search")), drafts=True),
    Viewpoint(who=principal(None, roles=("technician",), purposes=(PURPOSE,)), purpose=PURPOSE),
)
"""Kinds of caller: with and without a tenant, grants, a purpose, drafts, and the scope that drafts need."""


@st.composite
def cases(draw: st.DrawFn, *, viewpoints: Sequence[Viewpoint] = VIEWPOINTS) -> Case:
    """Cases, hard ones often. Every world can be taken in as it is."""
    asker = draw(st.sampled_from(viewpoints))
    asked = draw(queries())
    kept = Records()
    seen = draw(visible_records(kept, asker, asked))
    hidden = draw(hidden_records(kept, asker, seen, asked))
    records = acyclic(_in_order(seen, hidden, draw(st.sampled_from(("first", "last", "between")))))
    world = World(records=records, revocations=tuple(draw(st.lists(_revocations(asker.who, records), max_size=3))))
    number = draw(st.sampled_from((3, 2, 4)))
    requests = draw(st.lists(asked_of(asker, asked, records), min_size=number, max_size=number))
    return Case(
        world=world,
        asker=asker,
        requests=tuple(requests),
        follow=draw(st.sampled_from((False, False, False, False, True))),
    )


def hidden_part(case: Case) -> tuple[Record, ...]:
    """The records of a case that its caller may not see."""
    view = case.view
    return tuple(record for record in case.world.records if not is_visible(record, view))


def acyclic(records: Iterable[Record]) -> tuple[Record, ...]:
    """The records without the `supersedes` that would close a circle: a catalog refuses those."""
    targets: dict[RevisionKey, set[RevisionKey]] = {}
    settled: list[Record] = []
    for record in records:
        key, kept = key_of(record), []
        for entry in record.get("supersedes", ()):
            target = _target(entry, key)
            if not _reaches(targets, target, key):
                targets.setdefault(key, set()).add(target)
                kept.append(entry)
        settled.append({**record, "supersedes": kept} if "supersedes" in record else record)
    return tuple(settled)


def _target(entry: Record, key: RevisionKey) -> RevisionKey:
    namespace = Namespace("public") if entry.get("public") else key.namespace
    return RevisionKey(namespace, entry["source_id"], entry["revision"])


def _reaches(targets: dict[RevisionKey, set[RevisionKey]], start: RevisionKey, goal: RevisionKey) -> bool:
    waiting, passed = [start], set[RevisionKey]()
    while waiting:
        key = waiting.pop()
        if key == goal:
            return True
        if key not in passed:
            passed.add(key)
            waiting.extend(targets.get(key, ()))
    return False


def _in_order(seen: Sequence[Record], hidden: Sequence[Record], place: str) -> list[Record]:
    if place == "between":
        longest = max(len(seen), len(hidden))
        return [one for at in range(longest) for one in (*hidden[at : at + 1], *seen[at : at + 1])]
    return [*hidden, *seen] if place == "first" else [*seen, *hidden]


def _revocations(who: Principal, records: Sequence[Record]) -> st.SearchStrategy[Revocation]:
    """Of revisions anybody's, of other people, of the same name elsewhere, and of the caller's own grants."""
    keys = [key_of(record) for record in records]
    others: list[Revocation] = [
        Subject(_OWN, "bob"),
        Subject(_OTHER, who.sub),
        Token(None, "T-1"),
        Grant(_OTHER, who.sub, Dimension.ROLE, "technician"),
        Grant(_OWN, "bob", Dimension.PURPOSE, PURPOSE),
        Grant(None, "bob", Dimension.SCOPE, "search"),
    ]
    own: list[Revocation] = [
        Grant(who.namespace, who.sub, Dimension.ROLE, "technician"),
        Grant(None, who.sub, Dimension.ROLE, f"user:{who.sub}"),
        Grant(None, who.sub, Dimension.REGION, "EU"),
        Grant(who.namespace, who.sub, Dimension.PURPOSE, PURPOSE),
        Grant(who.namespace, who.sub, Dimension.SCOPE, "ingest"),
    ]
    named = [st.sampled_from(keys)] * 3 if keys else []
    return st.one_of(*named, st.sampled_from(others), st.sampled_from([*others, *own]))
