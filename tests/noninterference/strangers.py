"""What does a stranger do that the caller may not notice?

Publishes, deletes, relabels, revokes, asks and reindexes: over HTTP, as a curator of that namespace would, or through
another handle of the same catalog. What is hidden from the caller is all that it touches, and stays hidden.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any
from urllib.parse import quote

from evidence.grants import Dimension, Grant, Subject, Token
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey
from evidence.label_record import parse_label
from index.catalog import Catalog
from tests.noninterference.application import Application
from tests.noninterference.building import publish, take_in
from tests.noninterference.hidden_shapes import RESTRICTED
from tests.noninterference.world import Asked, Record, Revocation, Viewpoint, is_visible, key_of
from tests.worlds import extend, principal

CURATORS_SCOPE = ("ingest", "ingest-public", "revoke", "search")
SOURCES = "/v1/sources"
OTHERS: tuple[Revocation, ...] = (
    Subject(Namespace("red"), "ann"),
    Subject(Namespace("green"), "bob"),
    Token(Namespace("red"), "T-2"),
    Grant(Namespace("red"), "ann", Dimension.ROLE, "supervisor"),
    Grant(None, "carol", Dimension.SCOPE, "search"),
)
"""Revocations that concern no caller of the generated worlds: those are of `blue`, or of no tenant."""


class Stranger:
    """One who acts by chance. elsewhere: the same catalog, open in another place.

    present: what the catalog holds. withheld: what is to be published. spared: sources that the caller is going to see.
    asks: what is asked in between.
    """

    def __init__(
        self,
        view: Viewpoint,
        *,
        present: Iterable[Record],
        withheld: Iterable[Record],
        spared: Iterable[SourceKey],
        asks: Sequence[Asked],
        elsewhere: Catalog,
        random: Random,
    ) -> None:
        self._view = view
        self._present = list(present)
        self._withheld = list(withheld)
        self._spared = frozenset(spared)
        self._asks = asks
        self._elsewhere = elsewhere
        self._random = random
        self.done: list[str] = []  # for whoever reads a failure

    def act(self, application: Application) -> None:
        """One act. Some are not possible at the moment; then something is asked."""
        acts = (self._publish, self._publish, self._delete, self._relabel, self._revoke, self._reindex, self._ask)
        act = self._random.choice(acts)
        self.done.append(act.__name__)
        act(application)

    def _publish(self, application: Application) -> None:
        if not self._withheld:
            return self._ask(application)
        record = self._withheld.pop(self._random.randrange(len(self._withheld)))
        self._present.append(record)
        way = self._random.randrange(3)
        if way == 0:
            application.ask(_curator(key_of(record).namespace, "POST", SOURCES, record))
        elif way == 1:
            take_in(self._elsewhere, [record])
        else:  # without codes: nobody finds it before a reindex
            extend(self._elsewhere, [dict(record)])
        return None

    def _delete(self, application: Application) -> None:
        source = self._hidden_source()
        if source is None:
            return self._ask(application)
        gone = [record for record in self._present if key_of(record).source == source]
        self._present = [record for record in self._present if key_of(record).source != source]
        self._withheld += gone
        if self._random.random() < 0.5:
            application.ask(_curator(source.namespace, "DELETE", _place(source)))
        else:
            self._elsewhere.delete(source)
        return None

    def _relabel(self, application: Application) -> None:
        source = self._hidden_source()
        label = None if source is None else self._hidden_label(source)
        if source is None or label is None:
            return self._ask(application)
        self._present = _under(label, source, self._present)
        self._withheld = _under(label, source, self._withheld)
        if self._random.random() < 0.5:
            application.ask(_curator(source.namespace, "PUT", f"{_place(source)}/access", label))
        else:
            self._elsewhere.relabel(source, parse_label(dict(label), path="$"))
        return None

    def _revoke(self, application: Application) -> None:
        hidden = [key_of(record) for record in self._present if not is_visible(record, self._view)]
        what = self._random.choice([*OTHERS, *hidden])
        if isinstance(what, RevisionKey) and self._random.random() < 0.5:
            body = {"source_id": what.source_id, "revision": what.revision}
            application.ask(_curator(what.namespace, "POST", "/v1/revocations", body))
        else:
            self._elsewhere.revoke(what)

    def _reindex(self, _: Application) -> None:
        publish(self._elsewhere)

    def _ask(self, application: Application) -> None:
        application.ask(self._random.choice(self._asks))

    def _hidden_source(self) -> SourceKey | None:
        """A source of which the caller may see no revision, now or later."""
        seen = {key_of(record).source for record in self._present if is_visible(record, self._view)}
        hidden = sorted({key_of(record).source for record in self._present} - seen - self._spared)
        return self._random.choice(hidden) if hidden else None

    def _hidden_label(self, source: SourceKey) -> Mapping[str, Any] | None:
        """Another label of the same namespace under which the caller may not see it either."""
        place = {"public": True} if source.namespace == PUBLIC else {"tenant": source.namespace}
        records = [record for record in (*self._present, *self._withheld) if key_of(record).source == source]
        labels = [
            label
            for label in (place, *({**place, **restriction} for restriction in RESTRICTED.values()))
            if not any(is_visible({**record, "access": label}, self._view) for record in records)
        ]
        return self._random.choice(labels) if labels else None


def _curator(namespace: Namespace, method: str, target: str, body: Mapping[str, Any] | None = None) -> Asked:
    """A call of who may do everything in `namespace`."""
    public = namespace == PUBLIC
    who = principal(None if public else namespace, sub="curator", scope=CURATORS_SCOPE)
    target += "?public=true" if public else ""
    return Asked(who=who, method=method, target=target, body=None if body is None else json.dumps(dict(body)).encode())


def _under(label: Mapping[str, Any], source: SourceKey, records: Iterable[Record]) -> list[Record]:
    """The records with this label on those of the source."""
    return [{**record, "access": label} if key_of(record).source == source else record for record in records]


def _place(source: SourceKey) -> str:
    return f"{SOURCES}/{quote(source.source_id, safe='')}"
