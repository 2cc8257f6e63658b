"""What does the evidence side see of a pinned snapshot?

Only what is visible, and how each revision stands. (R6, R8)
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evidence.canonical import Json, digest
from evidence.revision import Status
from evidence.snapshot import Snapshot as EvidenceSnapshot
from evidence.snapshot import Visible, index_visible
from index.compartments import Eligible
from index.recent import Recent
from index.recipe import Recipe
from index.snapshot import Snapshot

POLICY: Mapping[str, Json] = {"name": "muniment-access", "version": "1"}
VIEWS_KEPT = 64


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
        self._usable: Recent[int, tuple[object, str]] = Recent(VIEWS_KEPT)

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
                unit_counts={key: counts[key] for key in eligible.visible},
                usable_units=sum(counts[key] for key in eligible.usable),
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
        held = self._usable.get(id(eligible.usable))
        if held is not None and held[0] is eligible.usable:
            return held[1]
        usable: list[Json] = [[*key, facts.digest] for key, facts in eligible.usable.items()]
        found = digest({"request": eligible.eligibility.record(), "usable": usable})
        self._usable.put(id(eligible.usable), (eligible.usable, found))
        return found


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
