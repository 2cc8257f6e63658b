"""Which one state of catalog and index does a request see from its first step to its last?

A snapshot pins a read transaction and the rows that can be searched in that state. What a scope may use is worked out
once and kept for as long as nothing was written and no visible revision starts or stops being effective.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from evidence.access import Scope
from evidence.eligibility import Eligibility, Filter, Use, Validity
from evidence.identity import RevisionKey, UnitKey
from evidence.instant import Instant
from index.catalog import Catalog
from index.catalog_read import Reading
from index.compartments import Eligible, Visible, resolve, see
from index.delta import Deltas
from index.generation import Generation, current_name, open_current
from index.segments import Segments

SCOPE_WEIGHT = 100  # what is kept for a scope that sees nothing, in revisions: so that there are never many of those
REVISIONS_KEPT = 1_000_000  # over all that is kept for scopes; each costs 100 to 200 bytes in every scope that sees it

Key = TypeVar("Key")
Value = TypeVar("Value")


class Snapshots:
    """Hands out snapshots of one catalog. Shared by the threads of a process."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._opening = threading.Lock()
        self._generation: Generation | None = None
        self._deltas = Deltas(catalog.recipe)
        self._visible: _Recent[_ScopeKey, Visible] = _Recent(REVISIONS_KEPT)
        self._eligible: _Recent[_RequestKey, Eligible] = _Recent(REVISIONS_KEPT)

    @contextmanager
    def pin(self, *, segments: Segments | None = None) -> Iterator["Snapshot"]:
        """The catalog as it is now with all rows that can be searched, or with those pinned before, to look again (R5).

        Raises NoGeneration, DamagedGeneration, RecipeMismatch, DamagedCatalog or CatalogUnavailable.
        """
        with self._catalog.read() as reading:
            pinned = segments or self._deltas.over(self._current(), reading)
            yield Snapshot(reading, pinned, self._visible, self._eligible)

    def _current(self) -> Generation:
        with self._opening:
            held = self._generation
            if held is None or held.name != current_name(self._catalog.directory):
                held = open_current(self._catalog.directory, self._catalog.recipe)
                self._generation = held
            return held


class Snapshot:
    """One state. Valid inside the `with` that pinned it, for one thread."""

    def __init__(
        self,
        reading: Reading,
        segments: Segments,
        visible: "_Recent[_ScopeKey, Visible]",
        eligible: "_Recent[_RequestKey, Eligible]",
    ) -> None:
        """Use `Snapshots.pin`."""
        self.reading = reading
        self.segments = segments
        self._visible = visible
        self._eligible = eligible

    def resolve(self, eligibility: Eligibility) -> Eligible:
        """What the caller may use, here and at the moment that `eligibility` says."""
        key = _RequestKey(
            change=self.reading.change,
            segments=self.segments.name,
            scope=eligibility.scope,
            use=eligibility.use,
            as_of=eligibility.as_of,
            subject=eligibility.subject,
            filter=eligibility.filter,
        )
        held = self._eligible.get(key)
        if held is not None and _holds(held.validity, eligibility.at):
            return replace(held, eligibility=eligibility)
        found = resolve(
            self._see(eligibility.scope, eligibility.use),
            eligibility,
            holdings=self.reading.holdings,
            segments=self.segments,
        )
        self._eligible.put(key, found, change=key.change, size=len(found.visible) + key.weight)
        return found

    def keys_of(self, rows: Sequence[int] | npt.NDArray[np.integer[Any]]) -> list[UnitKey]:
        """The units that `rows` stand for, in that order."""
        return self.segments.keys_of(rows)

    def rows_of(self, key: RevisionKey) -> range:
        """The rows of a revision in the pinned segments; empty when it has none there."""
        return self.segments.rows_of(key)

    def _see(self, scope: Scope, use: Use) -> Visible:
        key = _ScopeKey(change=self.reading.change, scope=scope, use=use)
        visible = self._visible.get(key)
        if visible is None:
            visible = see(self.reading.holdings, scope=scope, use=use)
            self._visible.put(key, visible, change=key.change, size=len(visible.facts) + SCOPE_WEIGHT)
        return visible


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScopeKey:
    """All that visibility depends on."""

    change: int
    scope: Scope
    use: Use


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestKey:
    """All that an `Eligible` depends on but the moment, which its `validity` speaks for."""

    change: int
    segments: str
    scope: Scope
    use: Use
    as_of: Instant | None
    subject: str | None
    filter: Filter

    @property
    def weight(self) -> int:
        """What the key itself takes, in revisions: callers choose subjects and filters, and must not fill memory."""
        asked = self.filter
        named = [*(asked.family or ()), *(asked.source_id or ()), *(asked.owner or ())]
        named += [value for _, values in asked.metadata for value in values]
        return SCOPE_WEIGHT + len(named) + sum(map(len, named)) // 100


def _holds(interval: Validity, at: Instant) -> bool:
    return (interval.start is None or interval.start <= at) and (interval.end is None or at < interval.end)


class _Recent(Generic[Key, Value]):
    """The values of the most recently used keys, of the latest state of the catalog only. Takes its own lock."""

    def __init__(self, capacity: int) -> None:
        """`capacity`: the sizes of all values together; one alone may be larger."""
        self._capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._held = 0
        self._change = 0

    def get(self, key: Key) -> Value | None:
        """The value kept for `key`, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: Key, value: Value, *, change: int, size: int) -> None:
        """Keep a value. One of an older state is not kept; a newer state lets go of all that was."""
        with self._lock:
            if change > self._change:
                self._kept.clear()
                self._held, self._change = 0, change
            if change < self._change:
                return
            _, replaced = self._kept.pop(key, (value, 0))
            self._kept[key] = (value, size)
            self._held += size - replaced
            while self._held > self._capacity and len(self._kept) > 1:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._held -= dropped
