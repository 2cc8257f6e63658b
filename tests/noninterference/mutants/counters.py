"""What if an answer carried a number that the whole catalog has a part in? (R6, R29)

Counts of matches, versions that count writes, tags of the whole index and cursors that name a row: the catalog that the
caller does not see shows in each of them.
"""

import base64
from dataclasses import replace

import numpy as np
from starlette.types import Message, Receive, Scope, Send

import index.snapshot
from evidence import access
from evidence.canonical import Json, digest
from evidence.eligibility import Use
from index.catalog_read import Holdings
from index.compartments import Visible, see
from index.generation import current_name, is_published
from server.edge import Edge
from server.searching import Searcher
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.relations import Relation

_search = Searcher.search
_called = Edge.__call__


def _search_with_total(self: Searcher) -> dict[str, Json]:
    answer = _search(self)
    with self.authority.pin(self.request, self.principal, self.watch, now=self.authority.now()) as pinned:
        segments = pinned.snapshot.segments
        everything = np.arange(segments.rows)
        matched = np.zeros(segments.rows, dtype=np.bool_)
        for term in self.ranker.read(self.request, pinned).terms or ():
            matched |= segments.holds(term, everything)
    return {**answer, "total": int(matched.sum())}


def _see_with_counted_version(holdings: Holdings, *, scope: access.Scope, use: Use) -> Visible:
    """Each scope has its own version, which is where its caches expect it: what moves them all is the counter."""
    version = digest({"writes": holdings.change, "scope": scope.record(), "use": use.value})
    return replace(see(holdings, scope=scope, use=use), catalog_version=version)


async def _called_with_tag(self: Edge, scope: Scope, receive: Receive, send: Send) -> None:
    async def send_tagged(message: Message) -> None:
        if message["type"] == "http.response.start":
            directory = scope["app"].state.pipeline.catalog.directory
            generation = current_name(directory) if is_published(directory) else "none"
            message["headers"] = [*message["headers"], (b"etag", f'"{generation}"'.encode())]
        await send(message)

    await _called(self, scope, receive, send_tagged if scope["type"] == "http" else send)


def _search_with_cursor(self: Searcher) -> dict[str, Json]:
    answer = _search(self)
    with self.authority.pin(self.request, self.principal, self.watch, now=self.authority.now()) as pinned:
        outcome = self.ranker.rank(self.request, self.ranker.read(self.request, pinned), pinned)
    rows = [ranked.row for ranked in outcome.candidates[: self.request.k]]
    return {**answer, "next": base64.b64encode(b"after %d" % rows[-1]).decode() if rows else None}


COUNTERS = (
    Mutant(
        number=9,
        name="total hits of everything",
        what="a search says how many rows of the whole index match",
        killer=Relation.M1,
        switched_on=replacing(Searcher, "search", _search_with_total),
    ),
    Mutant(
        number=10,
        name="catalog version from a global counter",
        what="the version counts the writes to the whole catalog",
        killer=Relation.M6,
        switched_on=replacing(index.snapshot, "see", _see_with_counted_version),
    ),
    Mutant(
        number=11,
        name="ETag from a global epoch",
        what="every response names the generation of the whole index in a header",
        killer=Relation.M1,
        switched_on=replacing(Edge, "__call__", _called_with_tag),
    ),
    Mutant(
        number=12,
        name="cursor encodes a row id",
        what="a search says where to go on, as the row number of its last hit",
        killer=Relation.M1,
        switched_on=replacing(Searcher, "search", _search_with_cursor),
    ),
)
