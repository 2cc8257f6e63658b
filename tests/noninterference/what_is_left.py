"""What does a history leave behind, by rules of its own? (pure)

A small model of the authority: revisions by key, labels by source, what was revoked. It reads nothing that the product
wrote and calls none of its code, so that a catalog that lived through a history can be compared with one that is built
from what this says. It also says which steps must be refused, and which revisions wait for a reindex.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evidence.identity import RevisionKey, SourceKey
from tests.noninterference.world import Record, Revocation, World, key_of

Access = Mapping[str, Any]


class Refused(Exception):
    """A step that must be refused whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A revision that is there. `came`: the step that brought it. waits: whether it cannot be searched yet."""

    record: Record
    came: int
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A label that a source was given, by the step `by`."""

    access: Access
    by: int


@dataclass(slots=True)
class Left:
    """What is there now. Steps are numbered by whoever counts them, each with a greater number.

    labels: of each source, all that it was given, the one in force last; the first is the one it came with.
    revoked: revisions that are revoked for good, also those that are gone. offered: steps that changed something, by
    what they offered.
    """

    revisions: dict[RevisionKey, Kept] = field(default_factory=dict)
    labels: dict[SourceKey, list[Given]] = field(default_factory=dict)
    revoked: set[RevisionKey] = field(default_factory=set)
    principals: dict[Revocation, None] = field(default_factory=dict)  # in order
    offered: dict[str, list[int]] = field(default_factory=dict)

    def take_in(self, records: Sequence[Record], *, step: int, coded: bool, relabel: bool) -> None:
        """All of `records`, or none: raises Refused.

        A revision stays what it is, and a source keeps its label unless a relabel was asked for. A new revision says
        once more under which label the source lies. What comes with its codes can be searched, also when it was there.
        """
        revisions = dict(self.revisions)
        labels = {source: list(given) for source, given in self.labels.items()}
        brought: dict[SourceKey, str] = {}
        for record in records:
            key, access = key_of(record), record["access"]
            if relabel and brought.setdefault(key.source, _canonical(access)) != _canonical(access):
                raise Refused
            given = labels.setdefault(key.source, [Given(access=access, by=step)])
            if _canonical(given[-1].access) != _canonical(access):
                if not relabel:
                    raise Refused
                given.append(Given(access=access, by=step))
            held = revisions.get(key)
            if held is not None and _content(held.record) != _content(record):
                raise Refused
            if held is None:
                given.append(Given(access=access, by=step))
                revisions[key] = Kept(record=record, came=step, waits=not coded)
            elif coded:
                revisions[key] = Kept(record=held.record, came=held.came, waits=False)
        if revisions.keys() != self.revisions.keys() or _count(labels) != _count(self.labels):
            self.offered.setdefault(json.dumps([_canonical(record) for record in records]), []).append(step)
        self.revisions, self.labels = revisions, labels

    def reindex(self) -> None:
        """Nothing waits any longer."""
        for key, kept in self.revisions.items():
            self.revisions[key] = Kept(record=kept.record, came=kept.came, waits=False)

    def delete(self, source: SourceKey) -> bool:
        """Whether it was there. Whoever said that a revision of it is revoked has said it for good."""
        if source not in self.labels:
            return False
        gone = [key for key in self.revisions if key.source == source]
        self.revoked |= {key for key in gone if self.revisions[key].record.get("status") == "revoked"}
        self._take_out(gone)
        return True

    def relabel(self, source: SourceKey, access: Access, *, step: int) -> bool:
        """Whether it was there."""
        if source not in self.labels:
            return False
        self.labels[source].append(Given(access=access, by=step))
        return True

    def revoke(self, what: Revocation) -> bool:
        """Whether there was anything to revoke."""
        if not isinstance(what, RevisionKey):
            self.principals[what] = None
        elif what in self.revisions:
            self.revoked.add(what)
        else:
            return False
        return True

    def roll_back(self, records: Sequence[Record]) -> bool:
        """Whether anything was ever taken in by offering exactly these. Undoes that, and nothing that came later."""
        undone = self.offered.pop(json.dumps([_canonical(record) for record in records]), [])
        self._take_out([key for key, kept in self.revisions.items() if kept.came in undone])
        for given in self.labels.values():
            given[1:] = [one for one in given[1:] if one.by not in undone]
        return bool(undone)

    def access_of(self, source: SourceKey) -> Access:
        """The label in force."""
        return self.labels[source][-1].access

    def world(self) -> World:
        """What is left, in key order, as records and revocations that were never anything else."""
        return World(
            records=tuple(
                {**self.revisions[key].record, "access": self.access_of(key.source)} for key in sorted(self.revisions)
            ),
            revocations=(*self.principals, *sorted(self.revoked & self.revisions.keys())),
        )

    def waiting(self) -> frozenset[RevisionKey]:
        """What cannot be searched before the next reindex."""
        return frozenset(key for key, kept in self.revisions.items() if kept.waits)

    def _take_out(self, keys: Iterable[RevisionKey]) -> None:
        for key in keys:
            del self.revisions[key]
        held = {key.source for key in self.revisions}
        self.labels = {source: given for source, given in self.labels.items() if source in held}


def _count(labels: Mapping[SourceKey, Sequence[Given]]) -> int:
    return sum(map(len, labels.values()))


def _content(record: Record) -> str:
    return _canonical({name: value for name, value in record.items() if name != "access"})


def _canonical(value: Mapping[str, Any]) -> str:
    """Equal for equal records and labels, however they are written: a label's lists are sets, nothing says nothing."""
    said: dict[str, Any] = {
        name: sorted(part) if name in _SETS else part for name, part in value.items() if part not in (None, [], False)
    }
    if isinstance(said.get("access"), Mapping):
        said["access"] = _canonical(said["access"])
    return json.dumps(said, sort_keys=True)


_SETS = ("roles", "purposes", "regions", "cases")
