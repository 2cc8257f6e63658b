"""Which units does a packet get to choose from, with their facts, claims and traces?"""

from collections.abc import Callable, Mapping, Sequence

from evidence.envelope import Candidate, LocatedClaims, RetrievalTrace, SeenTokens, locate_claims
from evidence.identity import RevisionKey, SourceKey, UnitKey
from evidence.revision import Claim, RevisionFacts
from evidence.unit import Unit
from index.catalog_read import Reading
from index.compartments import Eligible
from index.snapshot import Snapshot
from server.retrieval import FUSED, RERANK, Ranked

Trace = Callable[[Unit], RetrievalTrace]
"""What retrieval said of a unit."""

_UNRANKED = RetrievalTrace(ranks={}, scores={})


def unranked(_: Unit) -> RetrievalTrace:
    """The trace of a unit where nothing was ranked."""
    return _UNRANKED


def traces_of(candidates: Sequence[Ranked]) -> Trace:
    """The trace that ranking left for each unit; one that was not ranked has an empty one."""
    ranked = {candidate.key: candidate for candidate in candidates}

    def trace(unit: Unit) -> RetrievalTrace:
        found = ranked.get(unit.key)
        return _UNRANKED if found is None else _trace(found, unit)

    return trace


def as_candidates(
    best: Sequence[UnitKey], *, trace: Trace, snapshot: Snapshot, usable: Mapping[RevisionKey, RevisionFacts]
) -> tuple[Candidate, ...]:
    """The units of `best` as assembly takes them, in their order."""
    units = snapshot.reading.units(best)
    return with_claims(units, [trace(unit) for unit in units], snapshot.reading, usable)


def in_identity_order(
    snapshot: Snapshot, eligible: Eligible, *, source: SourceKey | None = None
) -> tuple[Candidate, ...]:
    """Every usable unit, or those of one source, by namespace, source_id, revision and ordinal, unranked; indexed or
    not."""
    keys = [key for key in eligible.usable if source is None or key.source == source]
    units = [unit for key in keys for unit in snapshot.reading.units_of(key)]
    return with_claims(units, [_UNRANKED] * len(units), snapshot.reading, eligible.usable)


def with_claims(
    units: Sequence[Unit],
    traces: Sequence[RetrievalTrace],
    reading: Reading,
    usable: Mapping[RevisionKey, RevisionFacts],
) -> tuple[Candidate, ...]:
    """Units with the facts of their revision and the claims that they own. `usable` must hold every unit's revision."""
    located: dict[RevisionKey, LocatedClaims] = {}
    candidates = []
    for unit, trace in zip(units, traces, strict=True):
        facts = usable[unit.key.revision_key]  # a unit outside the usable set stops here (R2)
        claims: tuple[Claim, ...] = ()
        if facts.claims:
            if facts.key not in located:
                located[facts.key] = locate_claims(facts.claims, text=reading.revision_text(facts.key))
            claims = located[facts.key].owned_by(unit.start, unit.end)
        candidates.append(Candidate(unit=unit, facts=facts, claims=claims, trace=trace))
    return tuple(candidates)


def _trace(ranked: Ranked, unit: Unit) -> RetrievalTrace:
    reranked = ranked.reranked
    return RetrievalTrace(
        ranks={name: rank for name, rank in ranked.ranks.items() if name != RERANK},
        scores={name: score for name, score in ranked.scores.items() if name not in (FUSED, RERANK)},
        fused=ranked.scores.get(FUSED),
        rerank_position=None if reranked is None else reranked.position,
        rerank_score=None if reranked is None else reranked.score,
        encoder_tokens=SeenTokens(seen=unit.tokens, total=unit.tokens + unit.prefix_tokens_cut),
        reranker_tokens=None
        if reranked is None
        else SeenTokens(seen=reranked.tokens_seen, total=reranked.tokens_total),
    )
