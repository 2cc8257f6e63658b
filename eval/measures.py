"""How good is a ranking, by which measure? (pure)

ir-measures over trec_eval's code, with a closed list of names: a cutoff of 0 ends the whole process there, and some
of its measures need other programs. Gains are linear, as in trec_eval and in the published BEIR figures.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ir_measures

from eval.errors import InvalidMeasure

MAX_CUTOFF = 10_000
NAMES = ("nDCG", "R", "P", "AP", "RR", "Success")

_NEEDS_CUTOFF = frozenset(("R", "P", "Success"))
_MEASURE = re.compile(r"([A-Za-z]+)(?:@([1-9][0-9]{0,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure of one ranking, averaged over queries. `cutoff` None judges the whole ranking."""

    name: str
    cutoff: int | None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


def parse_measures(text: str) -> tuple[Measure, ...]:
    """The measures that `text` names, separated by white space, in order, each once. Raises InvalidMeasure.

    >>> [str(measure) for measure in parse_measures("nDCG@10 R@100 AP")]
    ['nDCG@10', 'R@100', 'AP']
    """
    measures = tuple(dict.fromkeys(map(_parse, text.split())))
    if not measures:
        raise InvalidMeasure(f"no measure named; offered: {', '.join(NAMES)}, as in nDCG@10")
    return measures


def mean_values(
    measures: Sequence[Measure],
    judgements: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
) -> dict[str, float]:
    """Each measure's mean over all judged queries, by its name.

    `judgements`: query id -> source id -> grade, relevant from 1. `rankings`: query id -> source ids, best first, none
    twice. A judged query with no ranking or an empty one counts as 0. The order of a ranking is handed over as scores
    that fall, because trec_eval breaks equal scores in its own way.
    """
    run = {
        query_id: {source_id: float(-rank) for rank, source_id in enumerate(ranking)}
        for query_id, ranking in rankings.items()
    }
    names = {ir_measures.parse_measure(str(measure)): str(measure) for measure in measures}
    values: dict[str, list[float]] = defaultdict(list)
    for metric in ir_measures.iter_calc(list(names), judgements, run):
        values[names[metric.measure]].append(metric.value)
    return {str(measure): math.fsum(values[str(measure)]) / len(judgements) for measure in measures}


def deepest_cutoff(measures: Sequence[Measure]) -> int | None:
    """How many sources of a ranking the measures look at; None is all of them."""
    cutoffs = [measure.cutoff for measure in measures]
    return None if None in cutoffs else max(cutoff for cutoff in cutoffs if cutoff is not None)


def _parse(text: str) -> Measure:
    match = _MEASURE.fullmatch(text)
    if match is None or match[1] not in NAMES:
        shown = text[:40].encode("unicode_escape").decode("ascii")
        raise InvalidMeasure(f"unknown measure {shown}; offered: {', '.join(NAMES)}, as in nDCG@10")
    name, cutoff = match[1], None if match[2] is None else int(match[2])
    if cutoff is None and name in _NEEDS_CUTOFF:
        raise InvalidMeasure(f"{name} needs a cutoff, as in {name}@10")
    if cutoff is not None and cutoff > MAX_CUTOFF:
        raise InvalidMeasure(f"{name} has a cutoff of {cutoff}, at most {MAX_CUTOFF}")
    return Measure(name=name, cutoff=cutoff)
