"""Do the real document sets become records that are read as what they are?"""

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from evidence.access import Label
from evidence.identity import PUBLIC, RevisionKey
from evidence.instant import parse_instant
from evidence.revision import RevisionFacts, Status
from server.sources import SourceFormat, check_paths
from tests.converters import pep_history_queries, pep_history_records, pep_records, write_jsonl
from tests.real_data import data_folder

pytestmark = pytest.mark.real_data


def facts_of(records: Path) -> list[RevisionFacts]:
    checked = check_paths([records], source_format=SourceFormat.AUTO, default_label=None)
    return [revision.facts for _, revision in checked.read()]


@pytest.fixture(scope="module")
def peps(tmp_path_factory: pytest.TempPathFactory) -> list[RevisionFacts]:
    path = tmp_path_factory.mktemp("peps") / "peps.jsonl"
    write_jsonl(pep_records(data_folder() / "peps"), path)
    return facts_of(path)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RevisionFacts]]:
    """PEP -> its revisions, the earliest first."""
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    write_jsonl(pep_history_records(data_folder() / "pep_revisions"), path)
    by_source: dict[str, list[RevisionFacts]] = defaultdict(list)
    for facts in facts_of(path):
        by_source[facts.key.source_id].append(facts)
    return {name: sorted(found, key=lambda facts: facts.effective_from or 0) for name, found in by_source.items()}


def test_every_pep_is_public_and_only_replaced_ones_are_not_current(peps: list[RevisionFacts]) -> None:
    assert Counter(facts.status for facts in peps) == {Status.CURRENT: 711, Status.SUPERSEDED: 25}
    assert {facts.label for facts in peps} == {Label(namespace=PUBLIC)}


def test_all_47_supersessions_are_declared_and_name_peps_of_the_set(peps: list[RevisionFacts]) -> None:
    pairs = [(facts.key, target) for facts in peps for target in facts.supersedes]

    assert len(pairs) == 47
    assert {target for _, target in pairs} <= {facts.key for facts in peps}


def test_no_pep_supersedes_itself_by_way_of_others(peps: list[RevisionFacts]) -> None:
    """R4: a cycle of `supersedes` is refused at ingest."""
    replaces = {facts.key: facts.supersedes for facts in peps}

    def reached(key: RevisionKey) -> set[RevisionKey]:
        return set(replaces[key]).union(*(reached(target) for target in replaces[key]))

    assert [key for key in replaces if key in reached(key)] == []


def test_the_histories_hold_655_revisions_of_139_peps(history: dict[str, list[RevisionFacts]]) -> None:
    assert (len(history), sum(map(len, history.values()))) == (139, 655)
    assert {facts.status for revisions in history.values() for facts in revisions} == {Status.CURRENT}


def test_each_revision_ends_where_the_next_begins_and_the_last_is_open(
    history: dict[str, list[RevisionFacts]],
) -> None:
    for revisions in history.values():
        assert [facts.key.revision for facts in revisions] == [f"r{n}" for n in range(1, len(revisions) + 1)]
        assert revisions[-1].effective_to is None
        for earlier, later in pairwise(revisions):
            assert earlier.effective_to == later.effective_from


def test_at_the_moment_of_each_query_exactly_the_named_revision_is_in_force(
    history: dict[str, list[RevisionFacts]],
) -> None:
    queries = pep_history_queries(data_folder() / "pep_revisions")

    assert len(queries) == 402
    for query in queries:
        at = parse_instant(query.as_of)
        in_force = [
            facts.key.revision
            for facts in history[query.source_id]
            if (facts.effective_from or 0) <= at and (facts.effective_to is None or at < facts.effective_to)
        ]
        assert in_force == [query.revision]
