"""How is a dispute about a citation opened, listed, and its decision put on record?

Muniment carries the dispute and decides nothing (R33, R39). What is disputed is read from the packet's own record, so
that a review stays true to it after that record was pruned.
"""

import secrets
from collections.abc import Mapping, Sequence

from evidence.access import Principal
from evidence.canonical import Json
from evidence.instant import Instant, format_instant
from index.records import Records
from index.records_reviews import KeptReview, NewReview, adjudicate, find_review, list_reviews, open_review
from server.errors import Invalid, NotFound
from server.recalling import jurisdiction, manifest_for, manifest_in
from server.record_schemas import AdjudicationRequest, ReviewRequest, ReviewsQuery


def new_review_id() -> str:
    """A random id that names one review and tells nothing."""
    return "RV-" + secrets.token_hex(10)


def open_dispute(
    body: ReviewRequest, auditor: Principal, *, records: Records, now: Instant, review_id: str
) -> dict[str, Json]:
    """Open a review of a cited passage. Raises NotFound for a packet that is not on record with this auditor, Invalid
    for a handle or a span that is not in it."""
    kept = manifest_for(body.packet_id, auditor, records=records)
    if kept is None:
        raise NotFound("no such packet is on record")
    cited = _cited(manifest_in(kept, body.packet_id), body.handle)
    start, end = _whole_span(cited)
    span = [start, end] if body.span is None else body.span
    if not start <= span[0] < span[1] <= end:
        raise Invalid(f"is not inside the passage's span [{start}, {end}]", path="$.span")
    disputed: dict[str, Json] = {
        "packet_id": body.packet_id,
        "handle": body.handle,
        "unit_id": cited["unit_id"],
        "span": span,
        "span_digest": cited["span_digest"],
        "claim": body.claim,
        "claim_type": body.claim_type,
        "quote": body.quote,
        "evaluators": [evaluator.model_dump() for evaluator in body.evaluators],
        "authority": body.authority,
        "opened_by": auditor.sub,
        "opened_at": format_instant(now),
    }
    new = NewReview(review_id=review_id, packet_id=body.packet_id, namespace=kept.namespace, body=disputed)
    open_review(records, new)
    return shown(KeptReview(review_id=review_id, state="open", body=disputed, adjudications=()))


def record_decision(
    review_id: str, body: AdjudicationRequest, auditor: Principal, *, records: Records, now: Instant
) -> dict[str, Json]:
    """Add a decision to a review. Raises NotFound for one that does not lie with this auditor, Invalid for an authority
    that the review does not name."""
    namespace = jurisdiction(auditor)
    disputed = find_review(records, review_id, namespace=namespace)
    if disputed is None:
        raise NotFound("no such review")
    named = disputed.body["authority"]  # never changes, so that it may be read before the decision is written
    if body.authority != named:
        raise Invalid(f"is not who the review names to decide; allowed: {named}", path="$.authority")
    decision: dict[str, Json] = {
        "state": body.state.value,
        "authority": body.authority,
        "reason": body.reason,
        "recorded_by": auditor.sub,
        "recorded_at": format_instant(now),
    }
    kept = adjudicate(records, review_id, namespace=namespace, state=body.state.value, body=decision)
    if kept is None:
        raise NotFound("no such review")
    return shown(kept)


def reviews(query: ReviewsQuery, auditor: Principal, *, records: Records) -> dict[str, Json]:
    """The reviews that lie with this auditor, in the order they were opened."""
    found = list_reviews(
        records,
        namespace=jurisdiction(auditor),
        state=None if query.state is None else query.state.value,
        packet_id=query.packet_id,
        after=query.after,
        limit=query.limit + 1,
    )
    listed = found[: query.limit]
    return {
        "reviews": [shown(review) for review in listed],
        "next": listed[-1].review_id if len(found) > query.limit else None,
    }


def shown(review: KeptReview) -> dict[str, Json]:
    """A review as answers show it."""
    return {
        "review_id": review.review_id,
        "state": review.state,
        **review.body,
        "adjudications": list(review.adjudications),
    }


def _cited(manifest: Mapping[str, Json], handle: str) -> Mapping[str, Json]:
    """The manifest's record of a handle. Raises Invalid for one that it does not hold."""
    records = manifest["handles"]
    assert isinstance(records, Sequence)
    for record in records:
        if isinstance(record, Mapping) and record.get("handle") == handle:
            return record
    raise Invalid("is not a handle of this packet", path="$.handle")


def _whole_span(cited: Mapping[str, Json]) -> tuple[int, int]:
    span = cited["span"]
    assert isinstance(span, Sequence)
    start, end = span
    assert isinstance(start, int)
    assert isinstance(end, int)
    return start, end
