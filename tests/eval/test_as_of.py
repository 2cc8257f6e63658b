"""Is what was in force at a moment what is found for that moment? (R4)

Real revision histories of PEPs: sentences asked for the moment at which the revision that holds them was in force.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from evidence.access import Principal
from evidence.instant import parse_instant
from index.catalog import Catalog
from server.opening import open_pipeline, settings_for
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import SearchRequest
from tests.converters import AsOfQuery, pep_history_queries, pep_history_records
from tests.eval.real_catalogs import catalog_of_records
from tests.real_data import data_folder

ANYONE = Principal(sub="reader", tenant=None)
SAMPLED_PEPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the as-of queries brought. `outside`: hits whose revision was not in force at the moment asked for."""

    queries: int
    outside: int
    first: int
    in_ten: int


def ask(pipeline: Pipeline, queries: Sequence[AsOfQuery]) -> Found:
    outside = first = in_ten = 0
    for query in queries:
        at = parse_instant(query.as_of)
        hits = pipeline.search(parse({"query": query.text, "as_of": query.as_of}, SearchRequest), ANYONE)["hits"]
        assert isinstance(hits, list)
        sources = [hit["source"] for hit in hits]
        for source in sources:
            begins, ends = source["effective_from"], source["effective_to"]
            outside += not (parse_instant(begins) <= at and (ends is None or at < parse_instant(ends)))
        right = [(source["source_id"], source["revision"]) == (query.source_id, query.revision) for source in sources]
        first += right[:1] == [True]
        in_ten += any(right)
    return Found(queries=len(queries), outside=outside, first=first, in_ten=in_ten)


@pytest.mark.real_data
def test_no_hit_lies_outside_its_interval_in_a_sample_of_histories(tmp_path: Path) -> None:
    folder = data_folder() / "pep_revisions"
    records = list(pep_history_records(folder))
    sizes: dict[str, int] = {}
    for record in records:
        sizes[record["source_id"]] = sizes.get(record["source_id"], 0) + len(record["text"])
    asked = {query.source_id for query in pep_history_queries(folder)}
    shortest = sorted(asked, key=lambda pep: (sizes[pep], pep))[:SAMPLED_PEPS]
    queries = [query for query in pep_history_queries(folder) if query.source_id in shortest]
    directory = catalog_of_records((one for one in records if one["source_id"] in shortest), tmp_path / "catalog")

    with open_pipeline(directory, settings=settings_for("cpu")) as pipeline:
        found = ask(pipeline, queries)
    assert found.queries >= SAMPLED_PEPS
    assert found.outside == 0
    assert found.in_ten == found.queries


@pytest.mark.real_data
@pytest.mark.soak
def test_no_hit_of_402_queries_lies_outside_its_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = data_folder() / "pep_revisions"
    directory = catalog_of_records(pep_history_records(folder), tmp_path / "catalog")
    with Catalog.open(directory) as catalog, catalog.read() as reading:
        units = reading.unit_count

    with open_pipeline(directory, settings=settings_for("cpu")) as pipeline:
        found = ask(pipeline, pep_history_queries(folder))
    with capsys.disabled():
        shares = {"first": found.first / found.queries, "in_ten": found.in_ten / found.queries}
        print(json.dumps({"units": units, "queries": found.queries, "outside": found.outside, **shares}))
    assert found.queries == 402
    assert found.outside == 0
    assert found.in_ten / found.queries >= 0.97
