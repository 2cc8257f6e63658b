"""How well does each channel rank the sources that were judged relevant?"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.dataset import Dataset, Query
from eval.measures import Measure, mean_values
from server.schemas import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """`channels`: channel -> measure -> mean over all judged queries. `without_hits`: channel -> how many of them
    brought nothing; each of those is a row of zeros in the means."""

    queries: int
    unjudged: int
    channels: Mapping[str, Mapping[str, float]]
    without_hits: Mapping[str, int]

    def record(self) -> dict[str, object]:
        """The report as the JSON of the command line."""
        return {
            "channels": {channel: dict(values) for channel, values in self.channels.items()},
            "queries": self.queries,
            "queries_unjudged": self.unjudged,
            "queries_without_hits": dict(self.without_hits),
        }


def evaluate(
    search: Callable[[str, Channel], Sequence[tuple[str, int]]],
    dataset: Dataset,
    *,
    measures: Sequence[Measure],
    channels: Sequence[Channel],
) -> QualityReport:
    """Rank the sources of every judged query in each channel, and judge the rankings.

    `search(query text, channel)` gives the units found as (source id, score), in any order; it must offer enough of
    them for the deepest cutoff (`eval.measures.deepest_cutoff`, in sources). Equal searches give equal reports.
    """
    values: dict[str, dict[str, float]] = {}
    without_hits: dict[str, int] = {}
    for channel in channels:
        rankings = {query.query_id: _ranking(query, search(query.text, channel)) for query in dataset.queries}
        values[channel.value] = mean_values(measures, dataset.judgements, rankings)
        without_hits[channel.value] = sum(not ranking for ranking in rankings.values())
    return QualityReport(
        queries=len(dataset.queries), unjudged=dataset.unjudged, channels=values, without_hits=without_hits
    )


def rank_sources(units: Iterable[tuple[str, int]]) -> list[str]:
    """Source ids, best first: a source has the score of its best unit; equal scores go by source id.

    >>> rank_sources([("b", 2), ("a", 1), ("c", 2), ("a", 3)])
    ['a', 'b', 'c']
    """
    best: dict[str, int] = {}
    for source_id, score in units:
        best[source_id] = max(score, best.get(source_id, score))
    return sorted(best, key=lambda source_id: (-best[source_id], source_id))


def _ranking(query: Query, units: Sequence[tuple[str, int]]) -> list[str]:
    return [source_id for source_id in rank_sources(units) if source_id not in query.excluded]
