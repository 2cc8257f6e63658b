"""How does a candidate look in the answer to a search? (pure)"""

from collections.abc import Iterable, Sequence

import numpy as np

from evidence.canonical import Json
from evidence.citations import citation_handle
from evidence.identity import unit_id
from evidence.revision import RevisionFacts
from evidence.unit import Unit
from index.segments import Segments
from server.retrieval import Ranked


def hit(ranked: Ranked, unit: Unit, facts: RevisionFacts, *, matched_terms: Sequence[str]) -> dict[str, Json]:
    """The hit record of the contract: facts, passage, and what each channel said of it, side by side (R13)."""
    return {
        "unit_id": unit_id(unit.key),
        "handle": citation_handle(unit),
        "namespace": unit.key.namespace,
        "source": facts.source_record(),
        "heading": list(unit.heading),
        "span": [unit.start, unit.end],
        "text": unit.text,
        "score": ranked.score,
        "ranks": dict(ranked.ranks),
        "scores": dict(ranked.scores),
        "matched_terms": list(matched_terms),
    }


def matched_terms(query_terms: Sequence[str] | None, rows: Sequence[int], segments: Segments) -> list[list[str]]:
    """For each row the distinct query terms that it holds, in the query's order."""
    found: list[list[str]] = [[] for _ in rows]
    wanted = np.array(rows, dtype=np.int64)
    for term in dict.fromkeys(query_terms or ()):
        for place in np.flatnonzero(segments.holds(term, wanted)).tolist():
            found[place].append(term)
    return found


def families(facts: Iterable[RevisionFacts]) -> dict[str, int]:
    """How many sources each family has, by name; sources without a family are not among them."""
    sources: dict[str, set[tuple[str, str]]] = {}
    for revision in facts:
        if revision.family:
            sources.setdefault(revision.family, set()).add(revision.key.source)
    return {family: len(sources[family]) for family in sorted(sources)}
