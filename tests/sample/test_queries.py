"""Do the listed queries expect what the rules say, and can what they expect be found?"""

import pytest

from evidence.identity import RevisionKey
from evidence.instant import Instant
from evidence.source_record import SourceRevision
from tests.sample.conftest import Channels
from tests.sample.ranking import fused, lexical_scores
from tests.sample.shipped import PRINCIPALS, SAMPLE, ListedQuery, principal, queries
from tests.sample.standing import STEADY_FROM, STEADY_TO, usable

DEFAULT_K = 8  # of the class `explanatory` (R24)
REQUEST_FIELDS = {"as_of", "filter", "k", "purpose", "requirements", "strategy", "subject", "use"}
STATES = {"absent", "conflicting", "partial", "stale", "supported", "unassessed"}  # R28

EVERY_QUERY = pytest.mark.parametrize("query", queries(), ids=[query.id for query in queries()])
FIRST_AND_LAST_MOMENT = pytest.mark.parametrize(
    "now", [STEADY_FROM, Instant(STEADY_TO - 1)], ids=["june 2025", "end of 2039"]
)


def test_there_are_at_least_thirty_queries_and_no_id_twice() -> None:
    ids = [query.id for query in queries()]

    assert len(ids) >= 30
    assert len(ids) == len(set(ids))


def test_the_principals_are_the_files_of_the_folder_and_each_asks_something() -> None:
    assert sorted(path.stem for path in (SAMPLE / "principals").iterdir()) == list(PRINCIPALS)
    assert {query.principal for query in queries()} == set(PRINCIPALS)


@EVERY_QUERY
def test_a_query_uses_known_fields_states_and_granted_purposes_and_says_why_it_is_there(query: ListedQuery) -> None:
    purpose = query.request.get("purpose")

    assert query.request.keys() <= REQUEST_FIELDS
    assert query.state is None or query.state in STATES
    assert purpose is None or purpose in principal(query.principal).purposes
    assert query.note.endswith((".", "!"))


@EVERY_QUERY
@FIRST_AND_LAST_MOMENT
def test_what_must_be_included_may_be_used(query: ListedQuery, sample: list[SourceRevision], now: Instant) -> None:
    """R1 to R4, by the labels, times and relations of the sources."""
    facts = [revision.facts for revision in sample]

    assert set(query.must_include) <= usable(query, facts, now=now)


@EVERY_QUERY
@FIRST_AND_LAST_MOMENT
def test_what_must_not_be_included_exists_and_may_not_be_used(
    query: ListedQuery, sample: list[SourceRevision], now: Instant
) -> None:
    facts = [revision.facts for revision in sample]

    assert set(query.must_not_include) <= {each.key for each in facts}
    assert set(query.must_not_include).isdisjoint(usable(query, facts, now=now))


@EVERY_QUERY
def test_what_must_be_included_is_among_the_best_k_of_what_may_be_used(
    query: ListedQuery, sample: list[SourceRevision], channels: Channels
) -> None:
    """R9 and R12 by other means: BM25 over the usable passages alone, min-max fused with the cosine."""
    facts = [revision.facts for revision in sample]
    k = query.request.get("k", DEFAULT_K)
    assert isinstance(k, int)

    best = _ranking(query, channels, usable(query, facts, now=STEADY_FROM))
    first = best if query.request.get("strategy") == "broad" else best[:k]

    assert set(query.must_include) <= set(first)


def test_exactly_one_query_is_the_demonstration_and_it_demands_both_upload_rules() -> None:
    (demo,) = (query for query in queries() if query.demo)
    requirements = demo.request["requirements"]
    assert isinstance(requirements, list)

    assert demo.principal == "blue-technician"
    assert [(entry["match"]["claim"], entry["mandatory"]) for entry in requirements] == [
        ("upload.max_mb", True),
        ("upload.executables", True),
    ]


def test_the_demonstration_puts_both_upload_policies_first(sample: list[SourceRevision], channels: Channels) -> None:
    (demo,) = (query for query in queries() if query.demo)
    facts = [revision.facts for revision in sample]

    first = _ranking(demo, channels, usable(demo, facts, now=STEADY_FROM))[:2]

    assert set(first) == set(demo.must_include)


def _ranking(query: ListedQuery, channels: Channels, allowed: set[RevisionKey]) -> list[RevisionKey]:
    """The revision of each usable passage, best passage first."""
    rows = [row for row, passage in enumerate(channels.passages) if passage.key in allowed]
    if not rows:
        return []
    lexical = lexical_scores(query.query, [channels.passages[row].text for row in rows], stop_words=False)
    scores = fused(lexical, channels.dense[query.id][rows])
    return [channels.passages[rows[place]].key for place in (-scores).argsort(kind="stable")]
