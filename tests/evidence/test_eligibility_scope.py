"""What subject and filter leave out, and what can never change a judgement: order, and what is invisible."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.eligibility import Filter, Standing, catalog_version, is_visible, judge, superseders, validity
from evidence.identity import RevisionKey
from evidence.instant import Instant, format_instant
from evidence.revision import RevisionFacts, Status
from tests.builders import BLUE, NOW, RED, eligibility, instant, label, revision, revision_key
from tests.evidence.standings import standing, usable

DAYS = ["2024-01-01", "2025-01-01", "2025-05-31", "2025-06-01", "2025-06-02", "2026-01-01"]

# Subject and filter


def test_a_revision_that_applies_to_some_subjects_must_meet_the_one_asked_about() -> None:
    """R4."""
    asked = eligibility(subject="model-k2")

    assert standing(revision("A", applies_to=["model-k1", "model-k2"]), asked=asked) is Standing.USABLE
    assert standing(revision("A", applies_to=["model-k1"]), asked=asked) is Standing.INAPPLICABLE


def test_without_a_subject_or_without_applies_to_nothing_must_meet() -> None:
    assert standing(revision("A", applies_to=["model-k1"])) is Standing.USABLE
    assert standing(revision("A"), asked=eligibility(subject="model-k2")) is Standing.USABLE


def test_a_newer_revision_for_another_subject_still_makes_the_older_one_stale() -> None:
    """Currency belongs to the source; subject and filter choose among what is current."""
    older = revision("A", "1", applies_to=["k1"])
    newer = revision("A", "2", applies_to=["k2"])

    assert usable([older, newer], eligibility(subject="k1")) == []
    assert usable([older, newer], eligibility(only=Filter(metadata=(("v", ("1",)),)))) == []


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (Filter(), ["A@1", "B@1", "C@1"]),
        (Filter(family=("bulletin",)), ["A@1"]),
        (Filter(family=("bulletin", "policy")), ["A@1", "B@1"]),
        (Filter(source_id=("B", "C")), ["B@1", "C@1"]),
        (Filter(owner=("legal",)), ["B@1"]),
        (Filter(family=("bulletin",), owner=("legal",)), []),
        (Filter(metadata=(("product", ("k2",)),)), ["A@1", "B@1"]),
        (Filter(metadata=(("year", ("2025",)),)), ["A@1"]),
        (Filter(metadata=(("open", ("true",)),)), ["B@1"]),
        (Filter(metadata=(("product", ("k1",)), ("year", ("2025",)))), ["A@1"]),
    ],
)
def test_a_filter_is_any_of_within_a_field_and_all_fields_together(only: Filter, expected: list[str]) -> None:
    catalog = [
        revision("A", family="bulletin", owner="brand", metadata='{"product":["k1","k2"],"year":2025}'),
        revision("B", family="policy", owner="legal", metadata='{"product":"k2","open":true}'),
        revision("C"),
    ]

    assert usable(catalog, eligibility(only=only)) == expected


@pytest.mark.parametrize(
    "only",
    [
        Filter(family=()),
        Filter(source_id=()),
        Filter(owner=()),
        Filter(metadata=(("product", ()),)),
        Filter(metadata=(("unheard", ("k1",)),)),
        Filter(metadata=(("product", ("k1",)), ("unheard", ("k1",)))),
    ],
)
def test_an_empty_list_or_an_unknown_field_matches_nothing(only: Filter) -> None:
    """R3."""
    facts = revision("A", family="bulletin", owner="brand", metadata='{"product":"k1"}')

    assert standing(facts, asked=eligibility(only=only)) is Standing.FILTERED


def test_a_stale_revision_that_the_filter_leaves_out_too_is_called_stale() -> None:
    """Staleness comes first, so that an omission is named `stale` whatever was filtered."""
    facts = revision("A", effective_to="2024-01-01", family="policy", applies_to=["k1"])

    assert standing(facts, asked=eligibility(subject="k2", only=Filter(family=("other",)))) is Standing.STALE


# The scope of the judgement


revisions = st.builds(
    revision,
    st.sampled_from("AB"),
    st.sampled_from("123"),
    namespace=st.sampled_from([BLUE, RED, "public"]),
    under=st.none(),
    status=st.sampled_from(Status),
    effective_from=st.none() | st.sampled_from(DAYS[:3]),
    effective_to=st.none() | st.sampled_from(DAYS[3:]),
    supersedes=st.lists(
        st.builds(revision_key, st.sampled_from("AB"), st.sampled_from("123"), namespace=st.sampled_from([BLUE, RED])),
        max_size=2,
    ),
)
catalogs = st.lists(revisions, max_size=8, unique_by=lambda facts: facts.key)


@settings(max_examples=60)
@given(catalog=catalogs, shuffled=st.randoms(use_true_random=False))
def test_the_order_of_the_catalog_does_not_matter(catalog: list[RevisionFacts], shuffled: object) -> None:
    """R11, R29."""
    mixed = catalog.copy()
    shuffled.shuffle(mixed)  # type: ignore[attr-defined] # hypothesis gives a random.Random

    assert judge(mixed, eligibility()) == judge(catalog, eligibility())
    assert catalog_version(mixed) == catalog_version(catalog)
    assert validity(mixed, at=NOW) == validity(catalog, at=NOW)


@settings(max_examples=60)
@given(catalogs)
def test_what_is_invisible_changes_neither_standing_nor_version_nor_validity(catalog: list[RevisionFacts]) -> None:
    """R6, R8: judged over the visible revisions, everything equals what a catalog of nothing else would give."""
    asked = eligibility()
    visible = [facts for facts in catalog if is_visible(facts, scope=asked.scope, use=asked.use)]
    alone = [facts for facts in catalog if facts.key.namespace != RED and facts.status is not Status.DRAFT]

    assert judge(visible, asked) == judge(alone, asked)
    assert catalog_version(visible) == catalog_version(alone)
    assert validity(visible, at=NOW) == validity(alone, at=NOW)


@settings(max_examples=60)
@given(catalogs)
def test_at_most_one_revision_of_a_source_is_usable_at_a_time(catalog: list[RevisionFacts]) -> None:
    standings = judge([facts for facts in catalog if facts.status is not Status.DRAFT], eligibility())
    sources = [key.source for key, found in standings.items() if found is Standing.USABLE]

    assert len(sources) == len(set(sources))


@settings(max_examples=60)
@given(catalogs)
def test_nothing_changes_inside_the_valid_interval(catalog: list[RevisionFacts]) -> None:
    """R30: that is what `valid` promises: the standings at its start and just before its end are those of now."""
    span = validity(catalog, at=NOW)
    moments = [NOW]
    if span.start is not None:
        moments.append(span.start)
    if span.end is not None:
        moments.append(Instant(span.end - 1))

    assert all(judge(catalog, eligibility(now=at)) == judge(catalog, eligibility()) for at in moments)


def test_validity_lies_between_the_nearest_edges_and_holds_the_one_at_now() -> None:
    catalog = [
        revision("A", effective_from="2024-01-01", effective_to="2025-06-02"),
        revision("B", effective_from="2025-06-01"),
        revision("C", effective_to="2026-01-01"),
    ]

    assert validity(catalog, at=NOW).record() == ["2025-06-01T00:00:00Z", "2025-06-02T00:00:00Z"]


def test_validity_is_open_where_nothing_starts_or_ends() -> None:
    assert validity([revision("A")], at=NOW).record() == [None, None]


def test_the_version_changes_with_any_visible_fact_and_with_the_set() -> None:
    """R29."""
    versions = [
        catalog_version([]),
        catalog_version([revision("A")]),
        catalog_version([revision("A"), revision("B")]),
        catalog_version([revision("A", title="x")]),
        catalog_version([revision("A", text="x")]),
        catalog_version([revision("A", under=label(roles=["r"]))]),
        catalog_version([revision("A", supersedes=[revision_key("B")])]),
    ]

    assert len(set(versions)) == len(versions)


def test_the_record_of_an_eligibility_holds_no_clock() -> None:
    """R30: two requests at different moments with `as_of` null have the same record."""
    early, late = eligibility(now=instant("2025-01-01")), eligibility(now=instant("2025-06-01"))

    assert early.record() == late.record()
    assert eligibility(as_of=NOW).record()["as_of"] == format_instant(NOW)


def test_superseders_are_looked_up_from_the_superseded_side() -> None:
    catalog = [
        revision("B", supersedes=[revision_key("A"), revision_key("X", namespace=RED)]),
        revision("C", supersedes=[revision_key("A")]),
    ]

    found: dict[RevisionKey, frozenset[RevisionKey]] = dict(superseders(catalog))
    assert found[revision_key("A")] == {revision_key("B"), revision_key("C")}
