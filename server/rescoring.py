"""Do our scores agree with other implementations, over the usable units of this catalog alone?

For some callers and sample queries: BM25 by rank-bm25, built from the units' texts (R9), and dense scores as a float64
product of their codes (R10). Bounded for large catalogs (`rescoring_samples`); the report says what was left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evidence.canonical import Json
from evidence.identity import unit_id
from evidence.instant import Instant
from index.analysis import Analyzer, analyzer_for
from index.bm25 import SCORE_BITS, Formula, formula
from index.catalog import Catalog
from index.channels import Lexical
from index.ranges import RowRanges
from index.selection import Ranking
from index.snapshot import Snapshots
from index.statistics import ScopeStatistics
from models.device import choose_device
from models.encoder import Encoder
from models.errors import ModelError
from server import clock
from server.errors import StartError
from server.opening import open_encoder
from server.reference_bm25 import ReferenceBm25
from server.rescoring_samples import MOST_SCOPES, MOST_UNITS, KeptTexts, Sample, draw, scopes, spread, usable
from server.searchable import Searchable, SearchableRows
from server.settings import Settings

DEPTH = 100  # places of each ranking that must hold the right units in the right order
STEP = 2.0**-SCORE_BITS
FLOAT_NOISE = 1e-12  # float64 in another order of operations, below 1e-14 of a score; scores lie below 100

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Progress = Callable[[str, int, int], None]  # step, done, of how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What was compared. `pairs`: scores, one for each query, unit and channel. `differences`: one line for each
    query and kind. `notes`: what was not compared, and why."""

    scopes: int
    queries: int
    pairs: int
    differences: tuple[str, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """One line for people."""
        verdict = "some differ" if self.differences else "all agree"
        compared = f"{self.scopes} scopes, {self.queries} queries, {self.pairs} scores compared: {verdict}"
        return "; ".join((compared, *self.notes))

    def record(self) -> dict[str, Json]:
        """The report as JSON."""
        return {
            "scopes": self.scopes,
            "queries": self.queries,
            "pairs": self.pairs,
            "differences": self.differences,
            "notes": self.notes,
        }


def rescore(directory: Path, *, settings: Settings, progress: Progress) -> Rescored:
    """Compare the published index of the catalog in `directory`, scored by the kernels that would serve it here.

    A channel that cannot be compared is a note. Raises NoGeneration, and what opening the catalog raises.
    """
    device = choose_device(settings.device.value)
    with Catalog.open(directory) as catalog:
        encoder, notes = None, []
        try:
            encoder = open_encoder(catalog, settings=settings, device=device)
        except (ModelError, StartError) as error:
            notes.append(f"dense scores not compared: {error}")
        report = compare(
            catalog,
            served=SearchableRows(formula=_formula(catalog), device=device, product=settings.dense_product.value),
            analyzer=analyzer_for(catalog.recipe),
            encoder=encoder,
            at=clock.now(),
            progress=progress,
        )
    return replace(report, notes=(*notes, *report.notes))


def compare(
    catalog: Catalog,
    *,
    served: SearchableRows,
    analyzer: Analyzer,
    encoder: Encoder | None,
    at: Instant,
    progress: Progress,
) -> Rescored:
    """Compare the published index of an open catalog at the moment `at`, as `served` makes it searchable.

    Without an encoder dense scores are not compared. Scopes with the same usable units are compared once.
    """
    recipe = catalog.recipe
    notes: list[str] = []
    reads_as_indexed = analyzer.name == recipe.analyzer
    if not reads_as_indexed:
        notes.append(f"lexical scores not compared: units were analyzed by {recipe.analyzer}")
    differences: list[str] = []
    queries, pairs, parts = 0, 0, 0
    seen: set[RowRanges] = set()
    with Snapshots(catalog).pin() as snapshot:
        everyone = scopes(snapshot.reading.holdings)
        chosen = spread(everyone, MOST_SCOPES)
        searchable = served.of(snapshot.segments)
        texts = KeptTexts(snapshot.reading, analyzer)
        for done, scope in enumerate(chosen, start=1):
            eligible = usable(scope, snapshot, at=at)
            if eligible.ranges.count and eligible.ranges not in seen:
                seen.add(eligible.ranges)
                sample = draw(eligible, snapshot, texts)
                parts += len(sample.keys) < eligible.ranges.count
                statistics = served.statistics(snapshot.segments, sample.ranges)
                check = _Check(sample, searchable, statistics, _formula(catalog))
                differences += check.differences(analyzer if reads_as_indexed else None, encoder)
                queries += len(sample.queries)
                pairs += len(sample.queries) * len(sample.keys) * (reads_as_indexed + (encoder is not None))
            progress("compare scopes", done, len(chosen))
    if len(chosen) < len(everyone):
        notes.append(f"{len(chosen)} of {len(everyone)} scopes taken")
    if parts:
        notes.append(f"of {parts} scopes a part taken, {MOST_UNITS} units at most")
    return Rescored(scopes=len(seen), queries=queries, pairs=pairs, differences=tuple(differences), notes=tuple(notes))


class _Check:
    """One sample, scored by us and by the others."""

    def __init__(self, sample: Sample, searchable: Searchable, statistics: ScopeStatistics, chosen: Formula) -> None:
        self._sample = sample
        self._segments = searchable.segments
        self._index = searchable.dense
        self._statistics = statistics
        self._reference = ReferenceBm25(sample.texts, chosen)
        self._codes: Floats = searchable.dense.codes_of(sample.rows).astype(np.float64)
        self._by_row = np.argsort(sample.rows)

    def differences(self, analyzer: Analyzer | None, encoder: Encoder | None) -> Iterator[str]:
        """What differs for each query: a line for each kind. A channel without its reader is left out."""
        for number, query in enumerate(self._sample.queries, start=1):
            if analyzer is not None:
                for line in self._lexical(analyzer.terms(query)):
                    yield f"{self._sample.name}, query {number}: {line}"
            if encoder is not None:
                for line in self._dense(encoder.encode_query(query)):
                    yield f"{self._sample.name}, query {number}: {line}"

    def _lexical(self, terms: Sequence[str]) -> Iterator[str]:
        """Ours within one step for each query term, the same hits, and ordered by score, then identity (R9, R11)."""
        words = Lexical.read(self._segments, self._statistics, terms, ranges=self._sample.ranges)
        found = words.score()
        places = self._places(found.rows)
        ours = np.zeros(len(self._sample.keys), dtype=np.int64)
        ours[places] = found.scores
        hits = np.zeros(len(ours), dtype=np.bool_)
        hits[places] = True
        expected, holding = self._reference.scores(terms), self._reference.hits(terms)
        apart = np.abs(ours * STEP - expected) > len(terms) * STEP + FLOAT_NOISE
        yield from self._kind("is no lexical hit, but holds a query term", holding & ~hits)
        yield from self._kind("is a lexical hit, but holds no query term", hits & ~holding)
        yield from self._values("lexical score", hits & holding & apart, (ours * STEP).astype(np.float64), expected)
        yield from self._order("lexical", words.topk(DEPTH), ours, places)

    def _dense(self, code: npt.NDArray[np.int8]) -> Iterator[str]:
        """Exactly the product, which float64 holds without rounding, in order (R10, R11)."""
        product = self._codes @ code.astype(np.float64)
        ours = self._index.score_rows(code, self._sample.rows, ranges=self._sample.ranges)
        yield from self._values("dense score", ours != product, ours.astype(np.float64), product)
        best = self._index.topk(code, ranges=self._sample.ranges, k=DEPTH)
        yield from self._order("dense", best, product.astype(np.int64), np.arange(len(product)))

    def _order(self, channel: str, best: Ranking, scores: Ints, among: Ints) -> Iterator[str]:
        """Whether `best` is the first of `among` by score descending, then place, which is the order of identity."""
        first = among[np.lexsort((among, -scores[among]))][:DEPTH]
        places = self._places(best.rows)
        if not np.array_equal(places, first):
            at = next((n for n, pair in enumerate(zip(places, first, strict=False)) if pair[0] != pair[1]), len(places))
            yield f"the {channel} ranking differs from place {at + 1} on"
        elif not np.array_equal(best.scores, scores[first]):
            yield f"the {channel} ranking has other scores than its units"

    def _values(self, what: str, units: Mask, ours: Floats, expected: Floats) -> Iterator[str]:
        if units.any():
            first = int(units.argmax())
            yield from self._kind(f"{what} is {ours[first]:.12g}, expected {expected[first]:.12g}", units)

    def _kind(self, what: str, units: Mask) -> Iterator[str]:
        if units.any():
            more = f" (and {units.sum() - 1} more)" if units.sum() > 1 else ""
            yield f"{unit_id(self._sample.keys[int(units.argmax())])}{more}: {what}"

    def _places(self, rows: Ints) -> Ints:
        """Where in the sample these rows of the generation are."""
        assert self._sample.ranges.contains(rows).all(), "a kernel gave a row that is not usable"
        places: Ints = self._by_row[np.searchsorted(self._sample.rows, rows, sorter=self._by_row)]
        return places


def _formula(catalog: Catalog) -> Formula:
    recipe = catalog.recipe
    return formula(recipe.bm25, k1=recipe.k1, b=recipe.b)
