"""Does the suite find every fault that would leak, and by the relation that was predicted? (R6)

That the same worlds show no difference without a fault is what the tests of the relations themselves say; what other
oracles find has tests of its own.
"""

import json
from collections.abc import Callable, Mapping

import pytest

from tests.noninterference import test_canaries, test_query_codes, test_reranker_batches
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.callers_suite import OTHERS
from tests.noninterference.company_suite import SESSION
from tests.noninterference.mutants.caches import SHARED_CODES
from tests.noninterference.mutants.company import MIXED_BATCHES
from tests.noninterference.mutants.every import MUTANTS
from tests.noninterference.mutants.mutant import Mutant, Oracle
from tests.noninterference.mutants.table import table
from tests.noninterference.mutants.telemetry import NAMED_IN_LOG
from tests.noninterference.relations import Relation
from tests.noninterference.suite import SUITE
from tests.noninterference.world import Viewpoint, World
from tests.source_tree import ROOT
from tests.worlds import principal, record

WORLDS = 12  # those by hand; the first few find nearly every fault
PAGE = ROOT / "docs/non-interference.md"
FOUND_BY_RELATION = [mutant for mutant in MUTANTS if isinstance(mutant.killer, Relation)]


def after_and_among_strangers(bench: Bench, worlds: int) -> None:
    """M6 has two suites: what others asked and wrote before, and what strangers do meanwhile. One world of each is
    enough as a rule."""
    for tried in (1, worlds):
        OTHERS(bench, tried)
        SESSION(bench, tried)


TRIED: Mapping[Relation, Callable[[Bench, int], None]] = {**SUITE, Relation.M6: after_and_among_strangers}
FOUND_OTHERWISE = {
    SHARED_CODES: (Oracle.ENCODER_SPY, test_query_codes.test_codes_that_are_shared_are_noticed),
    MIXED_BATCHES: (Oracle.RERANKER_SPY, test_reranker_batches.test_batches_that_mix_tenants_are_noticed),
    NAMED_IN_LOG: (Oracle.CANARY, test_canaries.test_a_hidden_name_in_the_log_is_noticed),
}
"""The faults that make no byte differ, by what finds each, and the test in which it does."""


def number_and_name(mutant: Mutant) -> str:
    return f"{mutant.number}-{mutant.name.replace(' ', '-')}"


@pytest.mark.parametrize("mutant", FOUND_BY_RELATION, ids=number_and_name)
def test_no_fault_survives_the_relation_that_should_find_it(bench: Bench, mutant: Mutant) -> None:
    assert isinstance(mutant.killer, Relation)
    with mutant.switched_on(), pytest.raises(Difference):
        TRIED[mutant.killer](bench, WORLDS)


def test_every_other_fault_is_found_by_the_oracle_that_was_predicted() -> None:
    others = [mutant for mutant in MUTANTS if mutant not in FOUND_BY_RELATION]

    assert {mutant.number: mutant.killer for mutant in others} == {
        mutant.number: oracle for mutant, (oracle, _) in FOUND_OTHERWISE.items()
    }
    for mutant, (_, found) in FOUND_OTHERWISE.items():
        assert f"Fault {mutant.number}" in (found.__doc__ or "")


@pytest.mark.parametrize("mutant", MUTANTS, ids=number_and_name)
def test_with_a_fault_on_the_server_still_answers(bench: Bench, mutant: Mutant) -> None:
    view = Viewpoint(who=principal("acme", scope=("search",)))
    own = [record(f"own-{number}", f"the seal of valve {number}", tenant="acme") for number in range(3)]
    foreign = [record(f"foreign-{number}", f"the seal of pump {number}", tenant="other") for number in range(3)]
    requests = (view.search("which valve"), view.packet("which valve"), view.catalog())

    with mutant.switched_on(), bench.application(World(records=(*own, *foreign))) as opened:
        found, *others = [opened.ask(asked) for asked in requests]

    assert [response.status for response in (found, *others)] == [200, 200, 200]
    assert len(json.loads(found.body)["hits"]) == 3


def test_a_fault_is_off_again_when_it_is_left(bench: Bench) -> None:
    for mutant in MUTANTS:
        with mutant.switched_on():
            pass

    SUITE[Relation.M1](bench, 1)


def test_the_faults_are_numbered_from_1_to_24_each_once() -> None:
    assert [mutant.number for mutant in MUTANTS] == list(range(1, 25))


def test_no_two_faults_have_one_name() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_the_page_shows_the_table_of_faults_and_what_finds_them() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), "put it in: print(table(), end='') of mutants/table.py"
