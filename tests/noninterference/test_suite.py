"""Would the suite notice a leak, and does it then show the smallest world?"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st

from evidence.access import Label, Scope, admits
from evidence.identity import PUBLIC
from evidence.revision import RevisionFacts
from index.ranges import RowRanges
from index.statistics import gather
from tests.noninterference import hidden_shapes
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.generators import Case, hidden_part
from tests.noninterference.hidden_shapes import Hiding, Shape, hidden
from tests.noninterference.relations import Relation
from tests.noninterference.suite import IN_EVERY_RUN, SUITE
from tests.noninterference.trying import over, over_cases


def over_everything(postings: Any, lengths: Any, *, ranges: RowRanges, formula: Any) -> Any:
    """Statistics over all rows, as in most systems."""
    everything = RowRanges.from_pairs([(0, len(lengths))])
    return replace(gather(postings, lengths, ranges=everything, formula=formula), ranges=ranges)


def test_statistics_over_everything_are_found_in_the_first_world(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.channels.gather", over_everything)
    bench.shrink = False

    with pytest.raises(Difference, match=r"POST /v1/search[\s\S]+byte \d+ of \d+"):
        SUITE[Relation.M1](bench, 1)


def test_a_difference_is_told_with_the_smallest_case_that_has_it() -> None:
    def hold(case: Case) -> None:
        if len(hidden_part(case)) >= 2 and case.world.revocations:
            raise Difference(f"{len(case.world.records)} records, {len(case.world.revocations)} revoked")

    with pytest.raises(Difference, match=r"^2 records, 1 revoked\nasker: "):
        over_cases(hold, 40, shrink=True)


def test_as_many_cases_are_tried_as_were_asked_for_and_none_twice() -> None:
    tried: list[Case] = []

    over_cases(tried.append, 300, shrink=True)
    assert len(tried) == len(set(map(repr, tried))) == 300


def test_an_ordinary_run_tries_more_than_five_hundred_worlds_by_every_relation() -> None:
    assert IN_EVERY_RUN.keys() == SUITE.keys()
    assert sum(IN_EVERY_RUN.values()) > 500
    assert min(IN_EVERY_RUN[relation] for relation in (Relation.M1, Relation.M2, Relation.M5, Relation.M7)) >= 40


def test_fewer_cases_than_were_asked_for_are_an_error() -> None:
    tried: list[bool] = []

    with pytest.raises(AssertionError, match="only 2 of 9 cases"):
        over(tried.append, 9, first=(), drawn=st.booleans())
    assert sorted(tried) == [False, True]


def test_the_same_cases_are_tried_in_every_run() -> None:
    runs: list[list[str]] = [[], []]

    for run in runs:
        over_cases(lambda case, run=run: run.append(str(case)), 40, shrink=False)  # type: ignore[misc]  # bound at once
    assert runs[0] == runs[1]


def test_every_shape_is_drawn_and_every_way_of_hiding(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: set[Shape | Hiding] = set()

    def noting(*arguments: Any, shape: Shape, hiding: Hiding, **more: Any) -> Any:
        drawn.update((shape, hiding))
        return hidden(*arguments, shape=shape, hiding=hiding, **more)

    monkeypatch.setattr(hidden_shapes, "hidden", noting)

    over_cases(lambda case: None, 120, shrink=False)
    assert drawn == {*Shape, *Hiding}


@pytest.mark.parametrize("forgotten", ["namespace", "roles", "purposes", "regions", "cases"])
def test_a_dimension_of_labels_that_is_forgotten_is_found_in_the_first_world(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    def admits_too_many(label: Label, scope: Scope) -> bool:
        instead = {"namespace": PUBLIC} if forgotten == "namespace" else {forgotten: ()}
        return admits(replace(label, **instead), scope)

    for module in ("evidence.eligibility", "index.compartments"):
        monkeypatch.setattr(f"{module}.admits", admits_too_many)
    bench.shrink = False

    with pytest.raises(Difference):
        SUITE[Relation.M1](bench, 1)


def test_drafts_shown_to_everybody_are_found_in_the_first_world(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RevisionFacts, "is_published", property(lambda self: True))
    bench.shrink = False

    with pytest.raises(Difference):
        SUITE[Relation.M1](bench, 1)
