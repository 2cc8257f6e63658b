"""What does the evidence side see of a pinned snapshot?

Only what is visible, and how each revision stands. (R6, R8)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from evidence.canonical import Json, digest
from evidence.identity import RevisionKey
from evidence.revision import Status
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


class Views:
    """Makes views, and keeps what equal scopes share. Shared by the threads of a process."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._recipe_digest = recipe.record(), recipe.digest
        self._visible: Recent[str, Visible] = Recent(VIEWS_KEPT)
        self._epochs: Recent[tuple[str, str], str] = Recent(VIEWS_KEPT)
        self._digests = _OfMappings[str]()
        self._unit_counts = _OfMappings[Mapping[RevisionKey, int]]()
        self._usable_units = _OfMappings[int]()

    def of(self, snapshot: Snapshot, eligible: Eligible) -> View:
        """The view of what `eligible` says of `snapshot`."""
        held = snapshot.reading.holdings.unit_counts
        counts = self._unit_counts.get_or_make(eligible.visible, lambda: {key: held[key] for key in eligible.visible})
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
                unit_counts=counts,
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

        return self._digests.get_or_make(eligible.usable, digest_now)


class _OfMappings(Generic[Value]):
    """What was made of the most recently used mappings; one that is equal, and not the very same, counts as another."""

    def __init__(self) -> None:
        self._kept: Recent[int, tuple[object, Value]] = Recent(VIEWS_KEPT)

    def get_or_make(self, mapping: Mapping[RevisionKey, object], make: Callable[[], Value]) -> Value:
        """What was made of `mapping`, made now where it was not."""
        held = self._kept.get(id(mapping))
        if held is None or held[0] is not mapping:
            held = (mapping, make())  # keeps the mapping too, so that no other one gets its place in memory
            self._kept.put(id(mapping), held)
        return held[1]


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
