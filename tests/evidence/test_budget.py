"""Limits: inclusive, measured and never estimated (R23)."""

import pytest

from evidence.budget import Budget, Limit, Measure, Sizes, broken, limits_for, slot_measure
from evidence.errors import InvalidRequest
from evidence.slots import Slot
from tests.builders import EXPLANATORY, word_meter

EVERYTHING = Budget(max_bytes=100, max_tokens=50, window=60, reserved_output_tokens=10)


def measures(budget: Budget, *, tokenizer: bool) -> list[tuple[str, int, int]]:
    limits = limits_for(budget, EXPLANATORY, meter=word_meter() if tokenizer else None)
    return [(limit.measure.value, limit.allowed, limit.reserved) for limit in limits]


def test_limits_are_checked_in_a_fixed_order() -> None:
    assert measures(EVERYTHING, tokenizer=True) == [
        ("bytes", 100, 0),
        ("tokens", 50, 0),
        ("slot:retrieved-evidence", 6000, 0),
        ("window", 60, 10),
    ]


def test_without_a_budget_only_the_class_limits_and_only_where_a_tokenizer_is_named() -> None:
    assert measures(Budget(), tokenizer=False) == []
    assert measures(Budget(), tokenizer=True) == [("slot:retrieved-evidence", 6000, 0)]


@pytest.mark.parametrize(
    ("budget", "path"),
    [(Budget(max_tokens=5), "$.budget.max_tokens"), (Budget(window=5), "$.budget.window")],
)
def test_a_token_limit_without_a_tokenizer_is_an_error_that_names_it(budget: Budget, path: str) -> None:
    """R23: there is no len / 4."""
    with pytest.raises(InvalidRequest) as caught:
        limits_for(budget, EXPLANATORY, meter=None)

    assert caught.value.path == path


def test_a_reserve_alone_needs_no_tokenizer() -> None:
    assert measures(Budget(max_bytes=7, reserved_output_tokens=10), tokenizer=False) == [("bytes", 7, 0)]


@pytest.mark.parametrize("number", [-1, 2**53])
@pytest.mark.parametrize("name", ["max_bytes", "max_tokens", "window", "reserved_output_tokens"])
def test_a_number_out_of_range_is_refused_by_its_name(name: str, number: int) -> None:
    """R31: integers stay below 2^53."""
    with pytest.raises(InvalidRequest) as caught:
        Budget(**{name: number})

    assert caught.value.path == f"$.budget.{name}"


@pytest.mark.parametrize(
    ("limit", "fits"),
    [
        (Limit(measure=Measure.BYTES, allowed=40), True),
        (Limit(measure=Measure.BYTES, allowed=39), False),
        (Limit(measure=Measure.TOKENS, allowed=10), True),
        (Limit(measure=Measure.TOKENS, allowed=9), False),
        (Limit(measure=Measure.EVIDENCE_SLOT, allowed=10), True),
        (Limit(measure=Measure.EVIDENCE_SLOT, allowed=9), False),
        (Limit(measure=Measure.WINDOW, allowed=15, reserved=5), True),
        (Limit(measure=Measure.WINDOW, allowed=14, reserved=5), False),
        (Limit(measure=Measure.WINDOW, allowed=15, reserved=6), False),
    ],
)
def test_a_limit_holds_at_exactly_its_number_and_not_one_beyond(limit: Limit, fits: bool) -> None:
    assert limit.holds(Sizes(bytes=40, tokens=10, evidence_tokens=10)) is fits


def test_the_evidence_slot_is_measured_by_its_own_segment_and_every_other_token_limit_by_the_whole_input() -> None:
    """R23, R24."""
    sizes = Sizes(bytes=40, tokens=100, evidence_tokens=30)

    needed = {measure: Limit(measure=measure, allowed=0).needed(sizes) for measure in Measure}
    assert (needed[Measure.EVIDENCE_SLOT], needed[Measure.TOKENS], needed[Measure.WINDOW]) == (30, 100, 100)


def test_every_slot_has_a_measure_of_its_own() -> None:
    assert [slot_measure(slot).value for slot in Slot] == [f"slot:{slot.value}" for slot in Slot]


def test_all_broken_limits_are_found_in_order() -> None:
    limits = limits_for(EVERYTHING, EXPLANATORY, meter=word_meter())

    found = broken(limits, Sizes(bytes=100, tokens=51, evidence_tokens=51))
    assert [limit.measure for limit in found] == [Measure.TOKENS, Measure.WINDOW]
