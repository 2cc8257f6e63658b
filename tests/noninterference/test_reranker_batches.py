"""Do the rows of one request alone lie in a batch of a reranker, and only of what its caller may use? (R2, R10)"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.noninterference.batch_spy import Open, Words, cross_encoder, late_interaction
from tests.noninterference.bench import Bench
from tests.noninterference.mutants.company import MIXED_BATCHES
from tests.noninterference.world import Record, Viewpoint, World
from tests.worlds import principal, record

TENANTS = ("amber", "blue", "coral", "denim")
ASKED = {f"{kind}{tenant}": tenant for tenant in TENANTS for kind in ("search", "packet")}
"""A word for each request, which is in no other and in no text."""
USABLE = {f"{tenant}{number}": tenant for tenant in TENANTS for number in range(3)}
"""A word for each passage that a caller of that tenant may use, which is in no other and in no request."""
HIDDEN = {f"{tenant}{number}": tenant for tenant in TENANTS for number in range(3, 5)}
of_either = pytest.mark.parametrize("opening", [cross_encoder, late_interaction])


def world() -> World:
    """Of each tenant three passages that can be used, one for supervisors, and one that is over."""
    more: dict[int, dict[str, Any]] = {3: {"access": {"roles": ["supervisor"]}}, 4: {"status": "superseded"}}
    records: list[Record] = []
    for tenant in TENANTS:
        texts = {number: f"pump {tenant}{number}" for number in range(5)}
        records += [
            record(f"S-{number}", text, tenant=tenant, **more.get(number, {})) for number, text in texts.items()
        ]
    return World(records=tuple(records))


def batches_of_all(bench: Bench, folder: Path, opening: Open) -> Sequence[Sequence[Words]]:
    """The batches that were run for a search and a packet of each tenant, all under way at once; without the word that
    every row has."""
    slot, runtime = opening(folder, ("pump", *ASKED, *USABLE, *HIDDEN))
    views = {tenant: Viewpoint(who=principal(tenant)) for tenant in TENANTS}
    requests = [views[tenant].search(f"pump search{tenant}", rerank=True) for tenant in TENANTS]
    requests += [views[tenant].packet(f"pump packet{tenant}", rerank=True) for tenant in TENANTS]
    with bench.application(world(), reranker=slot) as opened:
        assert {answer.status for answer in opened.ask_together(requests)} == {200}
    return [[row - {"pump"} for row in batch] for batch in runtime.batches]


def mixed(batches: Sequence[Sequence[Words]]) -> list[Words]:
    """The words of the batches that hold rows of several tenants, or of several requests where rows tell that."""
    owners = {**ASKED, **USABLE, **HIDDEN}
    words = [frozenset[str]().union(*batch) for batch in batches]
    return [held for held in words if len({owners[word] for word in held}) > 1 or len(held & ASKED.keys()) > 1]


@of_either
def test_rows_of_one_request_alone_share_a_batch(bench: Bench, tmp_path: Path, opening: Open) -> None:
    assert mixed(batches_of_all(bench, tmp_path / "model", opening)) == []


@of_either
def test_every_usable_passage_is_reranked_and_nothing_else(bench: Bench, tmp_path: Path, opening: Open) -> None:
    batches = batches_of_all(bench, tmp_path / "model", opening)

    assert {word for batch in batches for row in batch for word in row} == {*ASKED, *USABLE}


def test_each_row_of_a_cross_encoder_is_a_query_and_a_passage_of_its_callers_own(bench: Bench, tmp_path: Path) -> None:
    batches = batches_of_all(bench, tmp_path / "model", cross_encoder)

    pairs = sorted(tuple(sorted(row)) for batch in batches for row in batch)
    assert pairs == sorted(
        tuple(sorted((asked, passage)))
        for asked, asking in ASKED.items()
        for passage, owning in USABLE.items()
        if asking == owning
    )


@of_either
def test_batches_that_mix_tenants_are_noticed(bench: Bench, tmp_path: Path, opening: Open) -> None:
    """Fault 22: rows of all requests under way run together."""
    with MIXED_BATCHES.switched_on():
        batches = batches_of_all(bench, tmp_path / "model", opening)

    assert mixed(batches) != []
