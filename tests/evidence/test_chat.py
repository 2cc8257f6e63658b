"""What a chat template takes for now (R23)."""

from evidence.chat import template_clock
from evidence.eligibility import Validity
from evidence.instant import Instant
from tests.builders import eligibility, instant

SINCE_MAY = Validity(start=instant("2025-05-01"), end=None)


def test_the_clock_is_as_of_where_the_request_has_one() -> None:
    assert template_clock(eligibility(as_of=instant("2024-01-01")), SINCE_MAY) == instant("2024-01-01")


def test_the_clock_is_otherwise_the_start_of_the_interval_in_which_the_answer_holds() -> None:
    assert template_clock(eligibility(), SINCE_MAY) == instant("2025-05-01")


def test_the_clock_of_a_catalog_in_which_nothing_ever_began_is_no_clock_of_the_wall() -> None:
    assert template_clock(eligibility(), Validity(start=None, end=None)) == Instant(0)
