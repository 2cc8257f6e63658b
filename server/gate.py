"""May what was selected still be used, now that the answer is made?

The second gate (R5). It shares nothing with the first one: it reads rows, labels and revocations again, in the
consistent read it is given, and judges them anew. Either gate alone keeps an unusable unit out. Where this one finds
one, the attempt is over: nothing is left out quietly, the whole request runs again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from evidence.eligibility import Eligibility, Standing
from evidence.envelope import Candidate, RetrievalTrace
from evidence.identity import RevisionKey
from evidence.revision import RevisionFacts
from evidence.unit import Unit
from index.catalog_read import Reading
from index.live import live_standings
from server.errors import Invalid
from server.selecting import with_claims


class AuthorityMoved(Exception):
    """A selected revision or the scope itself is not what it was when this attempt began. Never leaves the server."""


class AssemblyGate:
    """The second gate of one attempt. Valid as long as its reading, for one thread.

    reading: what it judges by. facts: what the attempt selected from; a revision whose facts are others now does not
    pass. trace: what retrieval said of a unit. max_units: how many units may be read through this gate.
    """

    def __init__(
        self,
        reading: Reading,
        eligibility: Eligibility,
        *,
        facts: Mapping[RevisionKey, RevisionFacts],
        trace: Callable[[Unit], RetrievalTrace],
        max_units: int,
    ) -> None:
        self.reading = reading
        self._eligibility = eligibility
        self._facts = facts
        self._trace = trace
        self._units_left = max_units
        self._admitted: set[RevisionKey] = set()
        self._read: dict[RevisionKey, Sequence[Candidate]] = {}

    @property
    def change(self) -> int:
        """The state of the catalog that the gate reads."""
        return self.reading.change

    @property
    def admitted(self) -> frozenset[RevisionKey]:
        """The revisions that have passed."""
        return frozenset(self._admitted)

    def unusable(self, handles: Iterable[str]) -> frozenset[str]:
        """Those of these citation handles that name no unit which this caller may use now, or none at all.

        One that the attempt could not see when it began is none, whatever is said of it now."""
        asked = frozenset(handles)
        named = {
            handle: {unit.key.revision_key for unit in units} & self._facts.keys()
            for handle, units in self.reading.units_by_handles(asked).items()
        }
        if not named:
            return asked
        live = live_standings(self.reading, {key for keys in named.values() for key in keys}, self._eligibility)
        usable = {key for key, (_, standing) in live.items() if standing is Standing.USABLE}
        return asked - {handle for handle, keys in named.items() if not usable.isdisjoint(keys)}

    def require(self, keys: Iterable[RevisionKey]) -> None:
        """Raise AuthorityMoved unless each of these revisions may be used now, with the facts it was selected with."""
        asked = set(keys) - self._admitted
        live = live_standings(self.reading, sorted(asked), self._eligibility)
        for key in asked:
            facts, standing = live.get(key, (None, None))
            if standing is not Standing.USABLE or facts != self._facts.get(key):
                raise AuthorityMoved
        self._admitted |= asked

    def units_of(self, key: RevisionKey) -> Sequence[Candidate]:
        """All units of a revision in text order, once it has passed. Raises AuthorityMoved, or Invalid when the
        request would take in too many."""
        if key not in self._read:
            self.require([key])
            units = self.reading.units_of(key)
            self._units_left -= len(units)
            if self._units_left < 0:
                raise Invalid("conflicts or whole documents would take in too many units", path="$")
            traces = [self._trace(unit) for unit in units]
            self._read[key] = with_claims(units, traces, self.reading, self._facts)
        return self._read[key]


def has_lost(before: Mapping[RevisionKey, RevisionFacts], now: Mapping[RevisionKey, RevisionFacts]) -> bool:
    """Whether any revision of `before` is missing from `now`, or lies there under another label."""
    if before is now:
        return False
    return any((held := now.get(key)) is None or held.label != facts.label for key, facts in before.items())
