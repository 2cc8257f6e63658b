"""How does an evaluation ask the pipeline?

Each judged query is a search like any other, by one principal, as deep as a search may go. What an answer says it
lacked (`degraded`) is kept, so that the figures of half a system do not pass for those of the whole.
"""

from collections.abc import Callable, Mapping, Sequence

from eval.dataset import Dataset
from eval.errors import InvalidMeasure
from eval.measures import Measure
from eval.quality import evaluate
from evidence.access import Principal
from evidence.canonical import Json
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import Channel, Fusion, SearchRequest

MOST_HITS = 200  # units a search is asked for; a source may take several of them


def depth_of_search(measures: Sequence[Measure], fusion: Fusion, *, max_k: int) -> int:
    """Units to ask for: MOST_HITS, or less where the settings (`max_k`) or the fusion allow less.

    Raises InvalidMeasure when a measure looks deeper.

    >>> depth_of_search([], Fusion(), max_k=1000), depth_of_search([], Fusion(depth=50), max_k=1000)
    (200, 50)
    """
    k = min(MOST_HITS, max_k, fusion.depth)
    deepest = max((measure.cutoff or 0 for measure in measures), default=0)
    if deepest > k:
        raise InvalidMeasure(f"a measure looks at {deepest} sources, but a search gives at most {k} units")
    return k


def evaluate_pipeline(
    pipeline: Pipeline,
    dataset: Dataset,
    *,
    principal: Principal,
    measures: Sequence[Measure],
    channels: Sequence[Channel],
    rerank: bool,
    fusion: Fusion,
    max_k: int,
    progress: Callable[[str, int, int], None],
) -> dict[str, object]:
    """The quality report with everything that its figures depend on, as the JSON of the command line.

    progress: called with (what was asked, how many of them, of how many) after each search.
    Raises InvalidMeasure, and server.errors.RequestError for a query that the pipeline does not take.
    """
    driver = _Driver(
        pipeline,
        principal,
        k=depth_of_search(measures, fusion, max_k=max_k),
        rerank=rerank,
        fusion=fusion,
        progress=progress,
        searches=len(channels) * len(dataset.queries),
    )
    report = evaluate(driver.search, dataset, measures=measures, channels=channels)
    recipe = pipeline.catalog.recipe
    return {
        **report.record(),
        "catalog_version": driver.catalog_version,
        "recipe": recipe.digest,
        "formula": {"bm25": recipe.bm25, "k1": recipe.k1, "b": recipe.b, "fusion": fusion.normalized()},
        "rerank": rerank,
        "k": driver.k,
        "degraded": {channel: list(notes) for channel, notes in driver.degraded.items()},
        "device": pipeline.device.type,
    }


class _Driver:
    """Asks one query after the other, and keeps what the answers say of themselves.

    degraded: channel -> the distinct notes of its answers, in order of appearance.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        principal: Principal,
        *,
        k: int,
        rerank: bool,
        fusion: Fusion,
        progress: Callable[[str, int, int], None],
        searches: int,
    ) -> None:
        self.k = k
        self.catalog_version: Json = None
        self.degraded: dict[str, dict[str, None]] = {}
        self._pipeline = pipeline
        self._principal = principal
        self._asked = {"k": k, "rerank": rerank, "fusion": fusion}
        self._progress = progress
        self._searches = searches
        self._done = 0

    def search(self, query: str, channel: Channel) -> Sequence[tuple[str, int]]:
        """(source id, score) of each unit found, best first. The score is the unit's place, counted down, because a
        reranked hit's own score is still that of its fusion."""
        request = parse({"query": query, "channel": channel, **self._asked}, SearchRequest)
        answer = self._pipeline.search(request, self._principal)
        hits, notes = answer["hits"], answer["degraded"]
        assert isinstance(hits, Sequence)
        assert isinstance(notes, Sequence)
        self.catalog_version = answer["catalog_version"]
        self.degraded.setdefault(channel.value, {}).update((str(note), None) for note in notes)
        self._done += 1
        self._progress("search queries", self._done, self._searches)
        return [(_source_id(hit), -place) for place, hit in enumerate(hits)]


def _source_id(hit: Json) -> str:
    assert isinstance(hit, Mapping)
    source = hit["source"]
    assert isinstance(source, Mapping)
    return str(source["source_id"])
