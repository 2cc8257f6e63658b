"""Tests of server/rescoring.py: would a wrong score be noticed at run time? (R9, R10)"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from index import channels, lexical, statistics
from index.analysis import Analyzer
from index.bm25 import DEFAULTS, formula, rarity
from index.catalog import Catalog
from index.dense import DenseIndex
from index.errors import NoGeneration
from index.ranges import RowRanges
from index.recipe import Recipe
from index.reindex import reindex
from index.selection import Ranking
from index.statistics import Counted, gather
from server import rescoring_samples
from server.rescoring import Rescored, compare, rescore
from server.searchable import SearchableRows
from server.settings import Settings
from tests.worlds import ANALYZER, NOW, RECIPE, WordEncoder, extend, record

RECORDS = [
    record("P-1", "The upload limit is 25 megabytes for every file. Larger files are refused.", title="Upload limit"),
    record("P-2", "A technician measures the torque of each bolt, and measures it again.", title="Torque"),
    record("B-1", "The upload limit for blue is 40 megabytes.", tenant="blue", title="Upload limit"),
    record("B-2", "Inspect the latch and the hinge of the door.", tenant="blue", access={"roles": ["technician"]}),
    record("B-3", "The audit of the latch names the owner.", tenant="blue", access={"purposes": ["audit"]}),
    record("R-1", "The upload limit for red is 7 megabytes. " * 3, tenant="red", access={"regions": ["north"]}),
    record("R-2", "The upload limit for red is 7 megabytes.", tenant="red"),
]
UNITS = (2, 4, 5, 4)  # that public, blue, blue for an audit and red may use


def made(directory: Path, records: Sequence[dict[str, Any]], recipe: Recipe = RECIPE) -> Catalog:
    catalog = Catalog.create(directory, recipe)
    extend(catalog, records)
    reindex(catalog, encoder=WordEncoder(), analyzer=ANALYZER, progress=lambda _: None)
    return catalog


@pytest.fixture(scope="module", name="catalog")
def fixture_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    with made(tmp_path_factory.mktemp("rescoring") / "catalog", RECORDS) as catalog:
        yield catalog


def compared(
    catalog: Catalog, *, analyzer: Analyzer = ANALYZER, encoder: Any = None, product: str = "auto"
) -> Rescored:
    recipe = catalog.recipe
    chosen = formula(recipe.bm25, k1=recipe.k1, b=recipe.b)
    return compare(
        catalog,
        served=SearchableRows(formula=chosen, device=torch.device("cpu"), product=product),
        analyzer=analyzer,
        encoder=encoder,
        at=NOW,
        progress=lambda *_: None,
    )


def kinds(report: Rescored) -> set[str]:
    """What differs, without where and by how much."""
    texts = [line.partition(": ")[2] for line in report.differences]
    return {text.rpartition(": ")[2].partition(" is ")[0].partition(" from ")[0] for text in texts}


def test_an_honest_index_agrees_for_every_caller(catalog: Catalog) -> None:
    report = compared(catalog, encoder=WordEncoder())

    assert report.differences == ()
    assert report.notes == ()
    assert report.scopes == len(UNITS)
    assert report.summary().endswith("all agree")


def test_every_query_is_compared_with_every_unit_in_both_channels(catalog: Catalog) -> None:
    """Each unit gives a query."""
    report = compared(catalog, encoder=WordEncoder())

    assert report.queries == sum(UNITS)
    assert report.pairs == 2 * sum(units * units for units in UNITS)


@pytest.mark.parametrize("variant", list(DEFAULTS))
def test_all_variants_agree_with_parameters_of_their_own(tmp_path: Path, variant: str) -> None:
    recipe = replace(RECIPE, bm25=variant, k1="1.1", b="0.6")

    with made(tmp_path / "catalog", RECORDS, recipe) as catalog:
        report = compared(catalog)
        assert (report.differences, report.scopes) == ((), len(UNITS))


def test_the_faiss_product_agrees(catalog: Catalog) -> None:
    assert compared(catalog, encoder=WordEncoder(), product="faiss").differences == ()


def test_without_an_encoder_lexical_scores_alone_are_compared(catalog: Catalog) -> None:
    assert compared(catalog).pairs == sum(units * units for units in UNITS)


def test_a_wrong_idf_is_noticed_in_every_scope(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        statistics, "rarity", lambda chosen, units, frequency: rarity(chosen, units=units, frequency=frequency) + 1e-8
    )

    report = compared(catalog)

    assert kinds(report) == {"lexical score"}
    assert {line.partition(",")[0] for line in report.differences} == {
        "public for no purpose",
        "tenant 'blue' for no purpose",
        "tenant 'blue' for purpose 'audit'",
        "tenant 'red' for no purpose",
    }


def test_a_wrong_length_of_one_row_is_noticed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    score = lexical.score_weighed

    def with_a_shorter_row(part: Counted, weights: lexical.QueryWeights) -> Ranking:
        wrong = np.array(part.lengths)
        wrong[0] -= 1
        return score(part._replace(lengths=wrong), weights)

    monkeypatch.setattr(lexical, "score_weighed", with_a_shorter_row)
    report = compared(catalog)
    assert "lexical score" in kinds(report)


def test_statistics_of_all_rows_are_noticed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """R9: what nearly every other system counts."""

    def over_everything(postings: Any, lengths: Any, *, ranges: RowRanges, formula: Any) -> Any:
        everything = RowRanges.from_pairs([(0, len(lengths))])
        return replace(gather(postings, lengths, ranges=everything, formula=formula), ranges=ranges)

    monkeypatch.setattr(channels, "gather", over_everything)
    assert "lexical score" in kinds(compared(catalog))


def test_a_lost_hit_and_a_false_one_are_noticed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    score = lexical.score_weighed

    def without_the_first(part: Counted, weights: lexical.QueryWeights) -> Ranking:
        found = score(part, weights)
        return Ranking(rows=found.rows[1:], scores=found.scores[1:])

    def with_everything(part: Counted, weights: lexical.QueryWeights) -> Ranking:
        return Ranking(rows=part.ranges.rows(), scores=np.zeros(part.ranges.count, dtype=np.int64))

    monkeypatch.setattr(lexical, "score_weighed", without_the_first)
    lost = compared(catalog)
    monkeypatch.setattr(lexical, "score_weighed", with_everything)
    false = compared(catalog)
    assert any("is no lexical hit, but holds a query term" in line for line in lost.differences)
    assert any("is a lexical hit, but holds no query term" in line for line in false.differences)


@pytest.mark.parametrize("by", [-1, 1])
def test_a_dense_score_that_is_off_by_one_is_noticed(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, by: int
) -> None:
    score_rows = DenseIndex.score_rows
    monkeypatch.setattr(
        DenseIndex, "score_rows", lambda self, query, rows, *, ranges: score_rows(self, query, rows, ranges=ranges) + by
    )

    report = compared(catalog, encoder=WordEncoder())

    assert kinds(report) == {"dense score"}


def test_a_ranking_in_another_order_is_noticed(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """R11."""
    topk = DenseIndex.topk

    def backwards(self: DenseIndex, queries: Any, *, ranges: RowRanges, k: int) -> list[Ranking]:
        return [
            Ranking(rows=one.rows[::-1], scores=one.scores[::-1]) for one in topk(self, queries, ranges=ranges, k=k)
        ]

    monkeypatch.setattr(DenseIndex, "topk", backwards)
    report = compared(catalog, encoder=WordEncoder())
    assert kinds(report) == {"the dense ranking differs"}


def test_units_analyzed_by_another_version_are_not_compared_and_the_report_says_so(catalog: Catalog) -> None:
    report = compared(catalog, analyzer=Analyzer(language=None))

    assert report.pairs == 0
    assert report.notes == (f"lexical scores not compared: units were analyzed by {RECIPE.analyzer}",)


def test_of_a_large_scope_a_part_is_compared_as_a_scope_of_its_own(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescoring_samples, "MOST_UNITS", 2)

    report = compared(catalog)

    assert report.differences == ()
    assert report.pairs == 4 * 2 * 2
    assert "of 3 scopes a part taken" in report.summary()


def test_more_scopes_than_the_bound_are_said_to_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tenants = [record("S", f"Only tenant{n} reads this.", tenant=f"tenant{n}") for n in range(30)]

    with made(tmp_path / "catalog", tenants) as catalog:
        report = compared(catalog)
        assert report.scopes == 23  # of the 24 taken, public has no unit
        assert report.notes == ("24 of 31 scopes taken",)


def test_revisions_that_wait_for_a_reindex_are_left_alone(tmp_path: Path) -> None:
    with made(tmp_path / "catalog", RECORDS) as catalog:
        extend(catalog, [record("P-9", "Not indexed yet: the upload limit of tomorrow.")])

        report = compared(catalog, encoder=WordEncoder())
        assert (report.differences, report.queries) == ((), sum(UNITS))


def test_without_an_index_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with Catalog.create(tmp_path / "catalog", RECIPE) as catalog, pytest.raises(NoGeneration):
        compared(catalog)


def test_an_encoder_that_is_not_at_hand_is_a_note(catalog: Catalog) -> None:
    """The recipe of this catalog names an encoder that no registry has."""
    report = rescore(catalog.directory, settings=Settings(), progress=lambda *_: None)

    assert report.differences == ()
    assert report.notes[0].startswith("dense scores not compared: no model entry named 'words'")
