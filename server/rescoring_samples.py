"""Which callers, units and queries stand for a whole catalog when its scores are checked?

The same ones on every run: spread evenly over what there is, in key order. A sample's units are a scope of their own:
statistics are counted over exactly them, so a part of a large scope is checked as strictly as a small scope.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from evidence.access import Label, Principal, Scope
from evidence.eligibility import Eligibility, Filter, Use
from evidence.identity import PUBLIC, Namespace, RevisionKey, UnitKey
from evidence.instant import Instant
from index.analysis import Analyzer
from index.catalog_read import Holdings, Reading
from index.compartments import Eligible
from index.ranges import RowRanges
from index.snapshot import Snapshot

MOST_SCOPES = 24  # a large one takes some seconds
MOST_UNITS = 20_000  # of a scope; half of them public where a tenant has units of its own
QUERIES = 20  # a scope
_QUERY_WORDS = 8
_QUERY_CHARACTERS = 200  # for scripts that write no spaces

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Some usable units of one scope, in key order.

    name: the scope, for messages.
    keys, texts: of each unit its key, and the terms of what the lexical channel reads of it.
    rows: (units,) int64, where they lie in the generation; ranges: the same rows.
    queries: titles and first words of some of them; may be empty.
    """

    name: str
    keys: tuple[UnitKey, ...]
    texts: tuple[list[str], ...]
    rows: npt.NDArray[np.int64]
    ranges: RowRanges
    queries: tuple[str, ...]


def scopes(holdings: Holdings) -> list[Scope]:
    """For public and for each tenant, a principal who holds all that the visible labels ask for, once without a
    purpose and once for each purpose."""
    by_namespace: defaultdict[Namespace, list[Label]] = defaultdict(list)
    for label in holdings.by_label:
        by_namespace[label.namespace].append(label)
    public = by_namespace.pop(PUBLIC, [])
    return [
        Scope(principal=principal, purpose=purpose)
        for namespace in (PUBLIC, *sorted(by_namespace))
        for principal in [_holder_of_all(namespace, [*public, *by_namespace.get(namespace, [])])]
        for purpose in (None, *principal.purposes)
    ]


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most `most` items in their order, evenly spread, the first among them.

    >>> spread("abcdefgh", 3)
    ['a', 'c', 'f']
    """
    count = min(most, len(items))
    return [items[at * len(items) // count] for at in range(count)]


def usable(scope: Scope, snapshot: Snapshot, *, at: Instant) -> Eligible:
    """What `scope` may use at `at`, for current use."""
    return snapshot.resolve(Eligibility(scope=scope, use=Use.CURRENT, at=at, as_of=None, subject=None, filter=Filter()))


def draw(eligible: Eligible, snapshot: Snapshot, texts: "KeptTexts") -> Sample:
    """The sample of what may be used. Units that wait for a reindex are not among them."""
    runs = list(_runs(eligible, snapshot))
    keys = [UnitKey(*key, ordinal) for key, rows in runs for ordinal in range(len(rows))]
    return Sample(
        name=_name(eligible.eligibility.scope),
        keys=tuple(keys),
        texts=tuple(terms for key, rows in runs for terms in texts.of(key)[: len(rows)]),
        rows=np.array([row for _, rows in runs for row in rows], dtype=np.int64),
        ranges=RowRanges.from_pairs((rows.start, rows.stop) for _, rows in runs),
        queries=tuple(_queries(snapshot.reading, eligible, spread(keys, QUERIES))),
    )


class KeptTexts:
    """The terms of revisions, read from the catalog. Those of public ones are kept, within MOST_UNITS: other scopes
    have them too."""

    def __init__(self, reading: Reading, analyzer: Analyzer) -> None:
        self._reading = reading
        self._analyzer = analyzer
        self._public: dict[RevisionKey, list[list[str]]] = {}
        self._room = MOST_UNITS

    def of(self, key: RevisionKey) -> list[list[str]]:
        """The terms of each unit of a revision, in text order."""
        kept = self._public.get(key)
        if kept is None:
            kept = [self._analyzer.terms(unit.input_text) for unit in self._reading.units_of(key)]
            if key.namespace == PUBLIC and len(kept) <= self._room:
                self._public[key] = kept
                self._room -= len(kept)
        return kept


def _holder_of_all(namespace: Namespace, labels: Sequence[Label]) -> Principal:
    return Principal(
        sub="verify",
        tenant=None if namespace == PUBLIC else namespace,
        roles=tuple(sorted({role for label in labels for role in label.roles})),
        purposes=tuple(sorted({purpose for label in labels for purpose in label.purposes})),
        regions=tuple(sorted({region for label in labels for region in label.regions})),
        cases=tuple(sorted({case for label in labels for case in label.cases})),
    )


def _name(scope: Scope) -> str:
    tenant = scope.principal.tenant
    caller = "public" if tenant is None else f"tenant {tenant!r}"
    return f"{caller} for {'no purpose' if scope.purpose is None else f'purpose {scope.purpose!r}'}"


def _runs(eligible: Eligible, snapshot: Snapshot) -> Iterator[tuple[RevisionKey, range]]:
    """Usable revisions with their rows, in key order. Where a namespace has more units than its share, as many of its
    revisions, evenly spread, as hold about that many units; the last one is cut where the share ends."""
    waiting = frozenset(eligible.unindexed)
    by_namespace: defaultdict[Namespace, list[tuple[RevisionKey, range]]] = defaultdict(list)
    for key in eligible.usable:
        rows = range(0) if key in waiting else snapshot.rows_of(key)
        if rows:
            by_namespace[key.namespace].append((key, rows))
    for runs in by_namespace.values():
        room = MOST_UNITS // len(by_namespace)
        units = sum(len(rows) for _, rows in runs)
        for key, rows in spread(runs, max(len(runs) * room // units, 1)):
            taken = rows[:room]
            if taken:
                yield key, taken
            room -= len(taken)


def _queries(reading: Reading, eligible: Eligible, keys: Sequence[UnitKey]) -> Iterator[str]:
    """Of each unit in turn: its title, its first words, or both, so that some words repeat."""
    for at, unit in enumerate(reading.units(keys)):
        title = eligible.usable[unit.key.revision_key].title
        words = " ".join(unit.text.split()[:_QUERY_WORDS])[:_QUERY_CHARACTERS]
        asked = (title, words, f"{title} {words}")[at % 3].strip() or words
        if asked:
            yield asked
