"""What does the evidence side see of a pinned snapshot?

Only what is visible, and how each revision stands. (R6, R8)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from evidence.canonical import Json, digest
from evidence.identity import RevisionKey
from evidence.revision import RevisionFacts, Status
from evidence.snapshot import Snapshot as EvidenceSnapshot
from evidence.snapshot import Visible, index_visible
from index.compartments import Eligible
from index.recent import Recent
from index.recipe import Recipe
from index.snapshot import Snapshot

POLICY: Mapping[str, Json] = {"name": "muniment-access", "version": "1"}
VIEWS_KEPT = 64

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A snapshot as assembly takes it, and the digests of the layers that lie before retrieval (R32)."""

    snapshot: EvidenceSnapshot
    policy: str
    corpus: str
    eligibility: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountsOf(Mapping[RevisionKey, int]):
    """The unit counts of visible revisions and of no others (R6), without a copy of them for each request."""

    visible: Mapping[RevisionKey, object]
    counts: Mapping[RevisionKey, int]

    def __getitem__(self, key: RevisionKey) -> int:
        if key not in self.visible:
            raise KeyError(key)
        return self.counts[key]

    def __iter__(self) -> Iterator[RevisionKey]:
        return iter(self.visible)

    def __len__(self) -> int:
        return len(self.visible)


class _OfUsable(Generic[Value]):
    """What was made of mappings of usable revisions: of the very same ones, and not of those that are equal."""

    def __init__(self) -> None:
        self._kept: Recent[int, tuple[object, Value]] = Recent(VIEWS_KEPT)

    def get_or_make(self, usable: Mapping[RevisionKey, RevisionFacts], make: Callable[[], Value]) -> Value:
        """What was made of `usable`, made now where it was not. Its mapping is kept too, so that no other one gets its
        place in memory."""
        held = self._kept.get(id(usable))
        if held is None or held[0] is not usable:
            held = (usable, make())
            self._kept.put(id(usable), held)
        return held[1]


class Views:
    """Makes views, and keeps what equal scopes share. Shared by the threads of a process."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._recipe_digest = recipe.record(), recipe.digest
        self._visible: Recent[str, Visible] = Recent(VIEWS_KEPT)
        self._epochs: Recent[tuple[str, str], str] = Recent(VIEWS_KEPT)
        self._usable_digests = _OfUsable[str]()
        self._usable_units = _OfUsable[int]()

    def of(self, snapshot: Snapshot, eligible: Eligible) -> View:
        """The view of what `eligible` says of `snapshot`."""
        counts = snapshot.reading.holdings.unit_counts
        scope = eligible.eligibility.scope
        visible = self._visible.get_or_make(eligible.catalog_version, lambda: index_visible(eligible.visible.values()))
        return View(
            snapshot=EvidenceSnapshot(
                eligibility=eligible.eligibility,
                validity=eligible.validity,
                catalog_version=eligible.catalog_version,
                epoch=self.epoch(eligible),
                recipe=self._recipe,
                recipe_digest=self._recipe_digest,
                visible=visible,
                standings=eligible.standings,
                unit_counts=_CountsOf(visible=eligible.visible, counts=counts),
                usable_units=self._usable_units.get_or_make(
                    eligible.usable, lambda: sum(counts[key] for key in eligible.usable)
                ),
            ),
            policy=digest({"policy": POLICY, "scope": scope.record()}),
            corpus=digest({"catalog_version": eligible.catalog_version, "recipe": self._recipe_digest}),
            eligibility=self.usable_digest(eligible),
        )

    def epoch(self, eligible: Eligible) -> str:
        """A digest of the grants, labels, revocations and policy that this scope depends on, never a counter (R5)."""
        return self._epochs.get_or_make(
            (eligible.catalog_version, eligible.eligibility.scope.digest), lambda: _epoch(eligible)
        )

    def usable_digest(self, eligible: Eligible) -> str:
        """A digest of which revisions are usable, and for which request. Kept while the very same mapping is in use."""

        def digest_now() -> str:
            usable: list[Json] = [[*key, facts.digest] for key, facts in eligible.usable.items()]
            return digest({"request": eligible.eligibility.record(), "usable": usable})

        return self._usable_digests.get_or_make(eligible.usable, digest_now)


def _epoch(eligible: Eligible) -> str:
    labels = sorted({facts.label.digest for facts in eligible.visible.values()})
    revoked = sorted(key for key, facts in eligible.visible.items() if facts.status is Status.REVOKED)
    return digest(
        {
            "policy": POLICY,
            "scope": eligible.eligibility.scope.record(),
            "labels": labels,
            "revoked": [list(key) for key in revoked],
        }
    )
