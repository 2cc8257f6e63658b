"""Which units does each strategy select?

All through the same gate, over the same pinned state: narrow and auto rank and take the k best, document takes one
whole source, broad everything that is usable. `auto` widens later, when what it covers is known (R36).
"""

from dataclasses import dataclass

from evidence.ranking import LayerDigests, Retrieval
from evidence.request import PacketRequest as Resolved
from evidence.request import Strategy
from evidence.selection import select as best_of
from server.errors import Invalid
from server.ranking import Pinned, Ranker, degraded
from server.retrieval import Codes, Query
from server.schemas import PacketRequest
from server.selecting import Trace, as_candidates, in_identity_order, traces_of, unranked
from server.views import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What one strategy selected. `trace`: what ranking said of any unit. `query`: None where nothing was ranked."""

    retrieval: Retrieval
    trace: Trace
    query: Query | None


def select(
    request: PacketRequest,
    resolved: Resolved,
    *,
    ranker: Ranker,
    pinned: Pinned,
    view: View,
    max_units: int,
    code: Codes | None,
) -> Selected:
    """The selection of a request. `code`: of the query, where an earlier run kept it. Raises Invalid for more than
    `max_units` units."""
    match resolved.strategy:
        case Strategy.NARROW | Strategy.AUTO:
            return _best(request, resolved, ranker=ranker, pinned=pinned, view=view, code=code)
        case Strategy.BROAD | Strategy.DOCUMENT:
            return _whole(resolved, pinned=pinned, view=view, max_units=max_units)


def _best(
    request: PacketRequest, resolved: Resolved, *, ranker: Ranker, pinned: Pinned, view: View, code: Codes | None
) -> Selected:
    """The k best, ranked, with no more units of one source than the query class takes."""
    query = ranker.read(request, pinned, code=code)
    outcome = ranker.rank(request, query, pinned)
    trace = traces_of(outcome.candidates)
    chosen = best_of(
        [candidate.key for candidate in outcome.candidates],
        k=resolved.k,
        units_per_source=resolved.query_class.units_per_source,
    )
    with pinned.watch.step("read"):
        selection = as_candidates(chosen.units, trace=trace, snapshot=pinned.snapshot, usable=pinned.eligible.usable)
    retrieval = Retrieval(
        selection=selection,
        unselected=chosen.unselected,
        capped=chosen.capped,
        degraded=degraded(query, outcome, pinned.eligible),
        parameters=ranker.parameters(request, query, outcome),
        stats_scope=ranker.stats_scope(pinned),
        layers=LayerDigests(
            policy=view.policy,
            corpus=view.corpus,
            query=query.digest,
            eligibility=view.eligibility,
            candidates=outcome.layers["candidates"],
            fusion=outcome.layers["fusion"],
            rerank=outcome.layers.get("rerank"),
        ),
    )
    return Selected(retrieval=retrieval, trace=trace, query=query)


def _whole(resolved: Resolved, *, pinned: Pinned, view: View, max_units: int) -> Selected:
    """Every usable unit, or every one of a source, in identity order: nothing is scored."""
    eligible = pinned.eligible
    counts = view.snapshot.unit_counts
    source = resolved.source if resolved.strategy is Strategy.DOCUMENT else None
    units = sum(counts[key] for key in eligible.usable if source is None or key.source == source)
    if units > max_units:
        raise Invalid(
            f"{resolved.strategy.value} would take {units} units, at most {max_units} are allowed", path="$.strategy"
        )
    with pinned.watch.step("read"):
        selection = in_identity_order(pinned.snapshot, eligible, source=source)
    retrieval = Retrieval(
        selection=selection,
        unselected=(),
        degraded=(),
        parameters={},
        stats_scope=None,
        layers=LayerDigests(policy=view.policy, corpus=view.corpus, eligibility=view.eligibility),
    )
    return Selected(retrieval=retrieval, trace=unranked, query=None)
