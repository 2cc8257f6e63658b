"""What if BM25 counted more than the usable units? (R9)

Search engines keep N, document frequency and average length for a whole index or shard, deleted documents included,
and filter what is shown: two foreign documents then turn the order of two visible ones.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from evidence.revision import Status
from index import lexical
from index.catalog_read import Holdings, Reading
from index.delta import Deltas
from index.generation import Generation
from index.generation_format import RevisionRun
from index.lexical import QueryWeights
from index.postings import Postings
from index.ranges import RowRanges
from index.segments import Segments
from index.statistics import Counted, ScopeStatistics
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.relations import Relation

Ints = npt.NDArray[np.int64]

_weigh = lexical.weigh
_frequencies = lexical._frequencies
_over = Deltas.over


def _weigh_with_global_n(
    parts: Sequence[Counted], statistics: ScopeStatistics, query_terms: Sequence[str], *, ranges: RowRanges
) -> QueryWeights:
    everything = replace(statistics, units=sum(len(part.lengths) for part in parts))
    weights = _weigh(parts, statistics, query_terms, ranges=ranges)
    return replace(weights, idfs=_weigh(parts, everything, query_terms, ranges=ranges).idfs)


def _frequencies_of_all(part: Counted, asked: Collection[str]) -> Ints:
    """Of terms that the scope holds, and at most its units, so that no formula sees what it cannot take."""
    everywhere = _frequencies(part._replace(ranges=_all_rows(part)), asked)
    return np.where(_frequencies(part, asked) > 0, np.minimum(everywhere, part.ranges.count), 0)


def _weigh_with_global_length(
    parts: Sequence[Counted], statistics: ScopeStatistics, query_terms: Sequence[str], *, ranges: RowRanges
) -> QueryWeights:
    everything = replace(
        statistics,
        units=sum(len(part.lengths) for part in parts),
        total_length=sum(int(part.lengths.sum()) for part in parts),
    )
    weights = _weigh(parts, statistics, query_terms, ranges=ranges)
    return replace(weights, bend=_weigh(parts, everything, query_terms, ranges=ranges).bend)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tombstoned(Postings):
    """Postings whose counts are not lowered when a row dies; the next reindex takes it away."""

    dead: RowRanges

    def document_frequencies(self, numbers: Ints, *, ranges: RowRanges) -> Ints:
        live = Postings.document_frequencies(self, numbers, ranges=ranges)
        dead = Postings.document_frequencies(self, numbers, ranges=self.dead)
        return np.where(live > 0, live + dead, 0)


def _over_with_tombstones(self: Deltas, base: Generation, reading: Reading) -> Segments:
    segments = _over(self, base, reading)
    dead = RowRanges.from_pairs(_dead(base.runs, reading.holdings))
    held = {field.name: getattr(base.postings, field.name) for field in fields(base.postings)}
    return replace(segments, base=replace(base, postings=_Tombstoned(**held, dead=dead)))


def _dead(runs: Iterable[RevisionRun], holdings: Holdings) -> Iterable[tuple[int, int]]:
    """The rows whose revision was deleted, relabelled, replaced or revoked since they were laid out."""
    for run in runs:
        facts = holdings.facts.get(run.key)
        if (
            facts is None
            or facts.status is Status.REVOKED
            or holdings.label_digests[facts.label] != run.label_digest
            or holdings.content_digests[run.key] != run.facts_digest
        ):
            yield run.start, run.end


def _all_rows(part: Counted) -> RowRanges:
    return RowRanges.from_pairs([(0, len(part.lengths))])


STATISTICS = (
    Mutant(
        number=1,
        name="global N",
        what="the idf of a term counts all rows of the index as N",
        killer=Relation.M1,
        switched_on=replacing(lexical, "weigh", _weigh_with_global_n),
    ),
    Mutant(
        number=2,
        name="global document frequency",
        what="a term is as frequent as in all rows of the index",
        killer=Relation.M1,
        switched_on=replacing(lexical, "_frequencies", _frequencies_of_all),
    ),
    Mutant(
        number=3,
        name="global average length",
        what="a unit is long or short beside all rows of the index",
        killer=Relation.M1,
        switched_on=replacing(lexical, "weigh", _weigh_with_global_length),
    ),
    Mutant(
        number=4,
        name="document frequency counts tombstones",
        what="a term stays as frequent as before units were deleted, relabelled or revoked",
        killer=Relation.M2,
        switched_on=replacing(Deltas, "over", _over_with_tombstones),
    ),
)
