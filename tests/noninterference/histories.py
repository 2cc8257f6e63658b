"""Which histories may a catalog live through?

Few steps over few records: what matters is what meets what. Sources go and come back, with the same bytes or others,
under the same label or another one, with codes or without; they are relabelled, revoked, undone (`living`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from evidence.identity import SourceKey
from evidence.instant import Instant, parse_instant
from tests.noninterference.generators import Case
from tests.noninterference.world import Record, Revocation, key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeIn:
    """All of `records`, or none. coded: they can be searched at once. over_http: coded, and never a relabel."""

    records: tuple[Record, ...]
    coded: bool = False
    relabel: bool = False
    over_http: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindex:
    """Everything is published, and nothing waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    source: SourceKey
    over_http: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relabel:
    source: SourceKey
    access: Mapping[str, Any]
    over_http: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    what: Revocation
    over_http: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    """Undo what was done by offering `records`."""

    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Time passes, until `now`."""

    now: Instant


Step: TypeAlias = TakeIn | Reindex | Delete | Relabel | Revoke | RollBack | Pass
History: TypeAlias = tuple[Step, ...]

LABELS: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {"roles": ["supervisor"]},
    {"roles": ["technician"]},
    {"purposes": ["repair"]},
    {"regions": ["EU"]},
    {"roles": ["user:ann"]},
)
"""What restricts a source when it is relabelled, beside its namespace."""
LATER = tuple(map(parse_instant, ("2026-06-01T00:00:01Z", "2026-06-01T00:00:02Z", "2027-01-01T00:00:00Z")))
"""Moments after the first one, at which revisions of the cases begin or end."""
LONGEST = 12
_KINDS = (
    *("arrive", "arrive", "arrive", "leave", "come back", "come back", "edited", "reindex"),
    *("relabel", "revoke", "undone", "undone", "undone relabelled", "undone relabelled"),
)


def history_of(case: Case, random: Random) -> History:
    """A history of the records of a case: at first they arrive, or most of them do, then anything happens to any."""
    cast = case.world.records
    first = cast[: max(len(cast) - random.choice((0, 1, 2)), 1)]
    steps: list[Step] = [TakeIn(records=first, coded=random.random() < 0.4)]
    if random.random() < 0.7:
        steps.append(Reindex())
    for _ in range(random.randint(2, 5)):
        steps += _of_kind(random.choice(_KINDS), case, tuple(steps), random)
    if random.random() < 0.3:
        steps.insert(random.randint(2, len(steps)), Pass(now=random.choice(LATER)))
    return tuple(steps[:LONGEST])


def _of_kind(kind: str, case: Case, before: History, random: Random) -> list[Step]:
    """The steps of one kind, mostly one."""
    cast = case.world.records
    one, over_http = random.choice(cast), random.random() < 0.4
    source = key_of(one).source
    here = tuple(record for record in cast if key_of(record).source == source)
    match kind:
        case "arrive":
            return [_taken_in(random.sample(cast, min(random.randint(1, 4), len(cast))), random)]
        case "leave":
            return [Delete(source=source, over_http=over_http)]
        case "come back":
            revoked = [Revoke(what=key_of(one))] * random.randint(0, 1)
            return [*revoked, Delete(source=source, over_http=over_http), _taken_in(here, random)]
        case "edited":
            return [Delete(source=source), _taken_in([edited(record) for record in here], random)]
        case "relabel":
            return [Relabel(source=source, access=_label_of(one, random), over_http=over_http)]
        case "revoke":
            return [Revoke(what=random.choice([*case.world.revocations, key_of(one)]), over_http=over_http)]
        case "undone":
            taken = [step.records for step in before if isinstance(step, TakeIn)]
            return [RollBack(records=random.choice(taken[1:] or taken))]
        case "undone relabelled":
            return _undone_relabelled(one, here, random)
        case _:
            return [Reindex()]


def _undone_relabelled(one: Record, here: Sequence[Record], random: Random) -> list[Step]:
    """An ingest puts a source under another label and is taken back, after more was said of that label."""
    source, label, other = key_of(one).source, _label_of(one, random), _label_of(one, random)
    first = tuple({**record, "access": label} for record in here[:1])
    said: list[Step] = [
        Relabel(source=source, access=other, over_http=random.random() < 0.5),
        Relabel(source=source, access=label),
        TakeIn(records=(_next_of(one, "8", label),), coded=random.random() < 0.5),
        TakeIn(records=(_next_of(one, "9", other),), coded=random.random() < 0.5, relabel=True),
    ]
    meanwhile = [step for step in said if random.random() < 0.4]
    return [TakeIn(records=first, coded=True, relabel=True), *meanwhile, RollBack(records=first)]


def _taken_in(records: Sequence[Record], random: Random) -> TakeIn:
    """With codes, without, or over HTTP: then only those of one namespace."""
    way = random.choice(("plain", "coded", "over http"))
    if way == "over http":
        namespace = key_of(records[0]).namespace
        records = [record for record in records if key_of(record).namespace == namespace]
    return TakeIn(records=tuple(records), coded=way != "plain", over_http=way == "over http")


def edited(record: Record) -> Record:
    """Another text under the same key."""
    return {**record, "text": f"{record['text']} limit edited"}


def _next_of(record: Record, revision: str, label: Mapping[str, Any]) -> Record:
    """A later revision of the same words, under this label."""
    return {**record, "revision": revision, "access": label}


def _label_of(record: Record, random: Random) -> Mapping[str, Any]:
    """A label of the record's own namespace."""
    whose = {name: record["access"][name] for name in ("public", "tenant") if name in record["access"]}
    return {**whose, **random.choice(LABELS)}
