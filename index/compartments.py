"""Which revisions may this caller use, and in which rows do they lie? (pure)

A label decides for all revisions under it at once, whatever their number. What decides is the live facts of the
catalog; a generation only says where rows lie, so that a relabelled, withdrawn or replaced revision is judged by what
it is now, at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evidence.access import Scope, admits
from evidence.eligibility import Eligibility, Standing, Use, Validity, catalog_version, is_visible, judge, validity
from evidence.identity import RevisionKey
from evidence.revision import RevisionFacts
from index.catalog_read import Holdings
from index.ranges import RowRanges
from index.segments import Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """All revisions that exist for a caller, in key order, and the digest of them (R29)."""

    facts: Mapping[RevisionKey, RevisionFacts]
    catalog_version: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Eligible:
    """What one request may use. Every mapping is in key order.

    ranges: the rows of all usable revisions, and no others. validity: how long this holds around the moment judged.
    unindexed: usable revisions that wait for a reindex: they came without codes, or have no rows in these segments,
    or rows of other content; in key order.
    Everything but `ranges` and `unindexed` follows from what is visible alone (R6).
    """

    eligibility: Eligibility
    ranges: RowRanges
    usable: Mapping[RevisionKey, RevisionFacts]
    visible: Mapping[RevisionKey, RevisionFacts]
    standings: Mapping[RevisionKey, Standing]
    catalog_version: str
    validity: Validity
    unindexed: tuple[RevisionKey, ...]


def see(holdings: Holdings, *, scope: Scope, use: Use) -> Visible:
    """What exists for a caller. Costs one decision a label, and then only what is admitted."""
    admitted = [facts for label, under in holdings.by_label.items() if admits(label, scope) for facts in under]
    visible = sorted(
        (facts for facts in admitted if is_visible(facts, scope=scope, use=use)), key=lambda facts: facts.key
    )
    return Visible(facts={facts.key: facts for facts in visible}, catalog_version=catalog_version(visible))


def nothing(eligibility: Eligibility) -> Eligible:
    """What may be used by a caller for whom nothing exists: for an answer that must tell nothing."""
    return Eligible(
        eligibility=eligibility,
        ranges=RowRanges.from_pairs(()),
        usable={},
        visible={},
        standings={},
        catalog_version=catalog_version(()),
        validity=Validity(start=None, end=None),
        unindexed=(),
    )


def resolve(visible: Visible, eligibility: Eligibility, *, holdings: Holdings, segments: Segments) -> Eligible:
    """What may be used of what is visible, and its rows. `visible` is what `see` found for the same scope and use."""
    standings = judge(visible.facts.values(), eligibility)
    usable = {key: facts for key, facts in visible.facts.items() if standings[key] is Standing.USABLE}
    placed = segments.place((key for key in usable if key in holdings.coded), digests=holdings.content_digests)
    return Eligible(
        eligibility=eligibility,
        ranges=placed.ranges,
        usable=usable,
        visible=visible.facts,
        standings=standings,
        catalog_version=visible.catalog_version,
        validity=validity(visible.facts.values(), at=eligibility.at),
        unindexed=tuple(sorted({*placed.missing, *(usable.keys() - holdings.coded)})),
    )
