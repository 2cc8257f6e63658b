"""Whose support of a claim was disputed, and what did the named authority decide?

The record carries a dispute and every decision on it, and decides nothing (R33). A decision is added, never changed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, insert, select, update

from evidence.canonical import Json, canonical
from evidence.identity import Namespace
from index.catalog_rows import AnyRow
from index.records import Records, packet_bytes
from index.records_tables import adjudication, review

OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReview:
    """A dispute to be kept. `namespace`: of the caller that the packet was answered to. `body`: what is disputed."""

    review_id: str
    packet_id: str
    namespace: Namespace
    body: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReview:
    """A dispute, its decisions in the order they were recorded, and the state that the last one gave: `open` before."""

    review_id: str
    state: str
    body: Mapping[str, Json]
    adjudications: tuple[Mapping[str, Json], ...]


def open_review(records: Records, new: NewReview) -> None:
    """Keep a dispute. Its packet id must be one; whether it was answered is for the caller to know."""
    packet = packet_bytes(new.packet_id)
    assert packet is not None
    with records.writing() as connection:
        connection.execute(
            insert(review).values(
                review_id=new.review_id,
                namespace=new.namespace,
                packet=packet,
                state=OPEN,
                body=canonical(new.body).decode(),
            )
        )


def find_review(records: Records, review_id: str, *, namespace: Namespace | None) -> KeptReview | None:
    """A dispute as it stands; None where this namespace (None: any) has no such dispute."""
    with records.reading() as connection:
        row = connection.execute(_in(namespace).where(review.c.review_id == review_id)).first()
        return None if row is None else _kept(connection, row)


def adjudicate(
    records: Records, review_id: str, *, namespace: Namespace | None, state: str, body: Mapping[str, Json]
) -> KeptReview | None:
    """Add a decision to a dispute, and return all of it; None where this namespace (None: any) has no such dispute."""
    with records.writing() as connection:
        row = connection.execute(_in(namespace).where(review.c.review_id == review_id)).first()
        if row is None:
            return None
        connection.execute(insert(adjudication).values(review=row.number, body=canonical(body).decode()))
        connection.execute(update(review).where(review.c.number == row.number).values(state=state))
        return _kept(connection, connection.execute(select(review).where(review.c.number == row.number)).one())


def list_reviews(
    records: Records,
    *,
    namespace: Namespace | None,
    state: str | None,
    packet_id: str | None,
    after: str | None,
    limit: int,
) -> list[KeptReview]:
    """At most `limit` disputes of a namespace (None: of all), in the order they were opened.

    state, packet_id: only those; None is any. after: begin behind this dispute; nothing when there is no such one.
    """
    query = _in(namespace).order_by(review.c.number).limit(limit)
    if state is not None:
        query = query.where(review.c.state == state)
    if packet_id is not None:
        query = query.where(review.c.packet == packet_bytes(packet_id))
    if after is not None:
        last = _in(namespace).with_only_columns(review.c.number).where(review.c.review_id == after)
        query = query.where(review.c.number > last.scalar_subquery())
    with records.reading() as connection:
        return [_kept(connection, row) for row in connection.execute(query).all()]


def _in(namespace: Namespace | None) -> Select[*tuple[Any, ...]]:
    query = select(review)
    return query if namespace is None else query.where(review.c.namespace == namespace)


def _kept(connection: Connection, row: AnyRow) -> KeptReview:
    decisions = select(adjudication.c.body).where(adjudication.c.review == row.number).order_by(adjudication.c.number)
    return KeptReview(
        review_id=row.review_id,
        state=row.state,
        body=json.loads(row.body),
        adjudications=tuple(json.loads(text) for text in connection.execute(decisions).scalars()),
    )
