"""Which histories are tried first, because hardly any fault in how a catalog grows survives them?

Made by hand: each is one thing that can happen to records while an index stands, compared before the next reindex.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evidence.identity import Namespace, RevisionKey, SourceKey
from tests.noninterference.generators import VIEWPOINTS, Case
from tests.noninterference.histories import (
    LATER,
    Delete,
    History,
    Pass,
    Reindex,
    Relabel,
    Revoke,
    RollBack,
    Step,
    TakeIn,
    edited,
)
from tests.noninterference.relations_of_histories import Layout
from tests.noninterference.world import Record, World
from tests.worlds import record


@dataclass(frozen=True, slots=True, kw_only=True)
class Lived:
    """A history of the records of a case, and how it is held against what is left. `exported`: against its export."""

    case: Case
    history: History
    layout: Layout
    checked: frozenset[int] = frozenset()
    seen: bool = False
    exported: bool = False

    def __str__(self) -> str:
        return "\n".join([str(self.case), *map(str, self.history), f"{self.layout}, {self.checked}, seen: {self.seen}"])


_ANN = VIEWPOINTS[0]  # of blue, with no grant
_BLUE = Namespace("blue")
_SUPERVISORS: dict[str, Any] = {"roles": ["supervisor"]}  # ann is none
_TIED = "upload limit case"


def _ours(source_id: str, text: str, **more: Any) -> Record:
    return record(source_id, text, tenant="blue", **more)


_RECORDS = (
    _ours("S-1", "upload limit"),
    _ours("S-2", _TIED),
    _ours("S-3", "upload video pump latch"),
    record("S-2", _TIED),
    record("S-9", "limit case video " * 6),
    _ours("H-1", f"{_TIED} limit upload", access=_SUPERVISORS),
    record("S-1", "upload upload limit", tenant="red"),
)
_PUBLISHED = (TakeIn(records=_RECORDS), Reindex())
_S2, _S3, _H1 = (SourceKey(_BLUE, name) for name in ("S-2", "S-3", "H-1"))
_NEWER = _ours(
    "S-2", "upload limit of the newer revision", revision="2", supersedes=[{"source_id": "S-2", "revision": "1"}]
)


def lived_by_hand() -> Iterator[Lived]:
    """The histories by hand, always the same ones in the same order."""
    yield _lived(*_PUBLISHED, Delete(source=_S3), layout=Layout.PUBLISHED)
    yield _lived(*_PUBLISHED, *_come_and_go(), layout=Layout.DELTA)
    for one in (_ours("S-2", _TIED), _ours("H-1", f"{_TIED} limit upload")):  # published for all, or for others alone
        yield _lived(*_PUBLISHED, Delete(source=_source_of(one)), TakeIn(records=(one,)), layout=Layout.BOTH, seen=True)
    yield _lived(*_PUBLISHED, *_revoked_and_back(), layout=Layout.BOTH)
    yield _lived(*_PUBLISHED, *_said_to_be_revoked(), layout=Layout.PUBLISHED)
    yield _lived(*_PUBLISHED, *_edited(), layout=Layout.BOTH)
    yield _lived(*_PUBLISHED, *_superseded(), layout=Layout.DELTA, checked=frozenset({3, 4}))
    yield _lived(*_PUBLISHED, *_relabelled_by_ingest(), layout=Layout.PUBLISHED, seen=True)
    yield _lived(*_PUBLISHED, *_relabelled_by_hand(), layout=Layout.PUBLISHED)
    yield _lived(*_tied_across_generations(), layout=Layout.PUBLISHED)
    yield _lived(*_PUBLISHED, *_begins_later(), layout=Layout.PUBLISHED, checked=frozenset({3}))
    yield _lived(*_PUBLISHED, *_came_back_over_http(), layout=Layout.BOTH, checked=frozenset({3, 4}))


def _lived(*steps: Step, layout: Layout, checked: frozenset[int] = frozenset(), seen: bool = False) -> Lived:
    requests = (
        _ANN.search("upload limit"),
        _ANN.search("upload limit case", channel="lexical", k=2),
        _ANN.search("upload limit case", k=2, fusion={"method": "rrf", "depth": 2}),
        _ANN.packet("upload limit"),
        _ANN.catalog(),
    )
    case = Case(world=World(records=_RECORDS), asker=_ANN, requests=requests)
    return Lived(case=case, history=tuple(steps), layout=layout, checked=checked, seen=seen)


def _come_and_go() -> History:
    """Into the delta and out of it, and another one into the same row; words that only the first holds go with it."""
    one, other = _ours("S-4", "upload drum heat"), _ours("S-4", "upload drum limit limit", revision="2")
    return (
        Relabel(source=_S3, access={"tenant": "blue", **_SUPERVISORS}),
        TakeIn(records=(one,), coded=True),
        Delete(source=_source_of(one)),
        TakeIn(records=(other,), coded=True),
    )


def _revoked_and_back() -> History:
    """What was revoked stays so, whatever comes in under its key."""
    key = RevisionKey(*_S2, "1")
    return (
        Revoke(what=key),
        Delete(source=_S2),
        TakeIn(records=(_NEWER, edited(_ours("S-2", _TIED))), coded=True),
        Delete(source=_S2),
        TakeIn(records=(_ours("S-2", _TIED),), coded=True),
    )


def _said_to_be_revoked() -> History:
    """Deleted, that it is revoked is remembered; rolled back, it is not."""
    remembered, forgotten = (_ours(name, _TIED, status="revoked") for name in ("S-6", "S-7"))
    return (
        TakeIn(records=(remembered,), coded=True),
        Delete(source=_source_of(remembered)),
        TakeIn(records=(forgotten,), coded=True),
        RollBack(records=(forgotten,)),
        TakeIn(records=(_ours("S-6", _TIED), _ours("S-7", _TIED)), coded=True),
    )


def _edited() -> History:
    """Rows of other content lie in the published generation under the same key."""
    return (Delete(source=_S2), TakeIn(records=(edited(_ours("S-2", _TIED)),), coded=True))


def _superseded() -> History:
    """By a newer revision, which is published and then taken back; another source moves every row meanwhile."""
    newer = (_NEWER, _ours("A-1", "upload drum"))
    return (TakeIn(records=newer, coded=True), Reindex(), RollBack(records=newer))


def _relabelled_by_ingest() -> History:
    """What came in under the narrow label does not end up under the wide one."""
    narrow = {"tenant": "blue", **_SUPERVISORS}
    first, second = {**_ours("S-2", _TIED), "access": narrow}, {**_NEWER, "access": narrow}
    return (
        TakeIn(records=(first,), relabel=True),
        TakeIn(records=(second,), coded=True),
        RollBack(records=(first,)),
    )


def _relabelled_by_hand() -> History:
    """A label given since is not taken back."""
    narrow = {"tenant": "blue", **_SUPERVISORS}
    first = {**_ours("S-2", _TIED), "access": narrow}
    return (
        TakeIn(records=(first,), relabel=True),
        Relabel(source=_S2, access={"tenant": "blue", "regions": ["EU"]}),
        Relabel(source=_S2, access=narrow),
        RollBack(records=(first,)),
    )


def _tied_across_generations() -> History:
    """Those that tie come in against the order of their names."""
    tied = [_ours(f"T-{number}", _TIED) for number in (3, 1, 2, 0)]
    return (
        TakeIn(records=(tied[0], _ours("T-9", "upload"))),
        Reindex(),
        *(TakeIn(records=(one,), coded=True) for one in tied[1:]),
    )


def _begins_later() -> History:
    """A newer revision that is there already begins while nothing is written."""
    later = {**_NEWER, "effective_from": "2026-06-01T00:00:01Z"}
    return (TakeIn(records=(later,), coded=True), Pass(now=LATER[0]))


def _came_back_over_http() -> History:
    """As an administrator does it."""
    key = RevisionKey(*_S3, "1")
    return (
        Delete(source=_S2, over_http=True),
        TakeIn(records=(_ours("S-2", _TIED), _NEWER), coded=True, over_http=True),
        Relabel(source=_H1, access={"tenant": "blue"}, over_http=True),
        Revoke(what=key, over_http=True),
    )


def _source_of(one: Record) -> SourceKey:
    return SourceKey(Namespace(one["access"].get("tenant", "public")), one["source_id"])
