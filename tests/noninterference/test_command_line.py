"""Does the command line say the same over the whole world and over its visible part? (R6)"""

import pytest

from tests.noninterference.bench import Bench, Difference
from tests.noninterference.command_line import command_line_alike, refusals_alike
from tests.noninterference.corner_worlds import corner_cases
from tests.noninterference.generators import Case
from tests.noninterference.trying import over_cases

WORLDS = 16
ASKED = ("/v1/search", "/v1/packets")


def alike(bench: Bench, case: Case) -> None:
    """The first of a case's searches and packets."""
    requests = [asked for asked in case.requests if asked.target in ASKED][:2]
    command_line_alike(bench, case.world, case.view, requests)


def test_commands_say_the_same_over_the_visible_part(bench: Bench) -> None:
    over_cases(lambda case: alike(bench, case), WORLDS, shrink=bench.shrink)


def test_what_a_command_refuses_it_refuses_alike(bench: Bench) -> None:
    case = next(corner_cases())

    refusals_alike(bench, case.world, case.view)


def test_a_command_that_counts_everything_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("evidence.eligibility", "index.compartments"):
        monkeypatch.setattr(f"{module}.admits", lambda label, scope: True)

    with pytest.raises(Difference):
        alike(bench, next(corner_cases()))
