"""How does a bench get an index of millions of rows without texts, a catalog or an encoder?

A real generation, published and opened again as any other, made of arrays; and the search of the server over it. Useful
where the cost of searching alone is measured. Not useful for packets: there is no text to read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from evidence.access import Principal
from evidence.eligibility import Eligibility, Filter, Use
from evidence.identity import PUBLIC, RevisionKey
from evidence.instant import parse_instant
from index.bm25 import formula
from index.compartments import Eligible, nothing
from index.generation import open_generation
from index.generation_format import RevisionRun
from index.postings import Postings
from index.publishing import Contents, publish, publisher_lock
from index.ranges import RowRanges
from index.recipe import Recipe
from index.segments import Segments
from server.retrieval import Outcome, Query, retrieve
from server.schemas import Channel, Fusion, SearchRequest
from server.scope import scope_for
from server.searchable import SearchableRows

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One query, as the channels take it. code: (d,) int8."""

    terms: tuple[str, ...]
    code: Codes


class Searched:
    """A generation, opened, and the server's search over it."""

    def __init__(self, segments: Segments, *, recipe: Recipe, device: torch.device) -> None:
        self.segments = segments
        self._rows = SearchableRows(formula=formula(recipe.bm25), device=device, product="auto")

    @property
    def product(self) -> str:
        """Who multiplies codes here."""
        return self._rows.of(self.segments).dense.older.product.value

    def eligible(self, ranges: RowRanges) -> Eligible:
        """These rows, as what one request may use."""
        return replace(_NOTHING, ranges=ranges)

    def nearest(self, code: Codes, *, eligible: Eligible, k: int) -> list[int]:
        """The first `k` rows of the dense channel alone, best first."""
        rows: list[int] = self._rows.of(self.segments).dense.topk(code, ranges=eligible.ranges, k=k).rows.tolist()
        return rows

    def ask(self, asked: Asked, channel: Channel, *, eligible: Eligible, depth: int) -> Outcome:
        """The first `depth` of each channel wanted, fused; statistics of the same rows are kept from the last time."""
        query = Query(
            text="",
            terms=None if channel is Channel.DENSE else asked.terms,
            code=None if channel is Channel.LEXICAL else asked.code,
            tokens_seen=0,
            tokens_total=0,
            notes=(),
        )
        return retrieve(
            SearchRequest(query="-", channel=channel, k=1, fusion=Fusion(depth=depth)),
            query,
            searchable=self._rows.of(self.segments),
            eligible=eligible,
            statistics=self._rows.statistics(self.segments, eligible.ranges),
        )


def recipe_of(dimension: int) -> Recipe:
    """A recipe for rows that no encoder made."""
    return Recipe(
        encoder="drawn",
        model_digest="sha256:drawn",
        query_prompt="",
        document_prompt="",
        pooling="mean",
        normalize=True,
        scale="0.2",
        dimension=dimension,
        window=256,
        runtime="drawn-1",
        precision="int8",
        chunker="drawn",
        chunk_target=220,
        contextual=False,
        analyzer="drawn",
        bm25="lucene",
        k1="1.2",
        b="0.75",
    )


def publish_rows(
    directory: Path,
    *,
    recipe: Recipe,
    runs: Sequence[RevisionRun],
    codes: Iterable[Codes],
    postings: Postings,
    lengths: npt.NDArray[np.int32],
) -> str:
    """Publish a generation in `directory`; its name. Arguments as those of `Contents`."""
    with publisher_lock(directory) as lock:
        contents = Contents(recipe=recipe, runs=runs, codes=codes, postings=postings, lengths=lengths)
        return publish(contents, lock=lock)


def open_rows(directory: Path, name: str, *, recipe: Recipe) -> Segments:
    """What was published in `directory` under that name. Reads all of it once."""
    return Segments.alone(open_generation(directory, name, recipe=recipe))


def run_of(source_id: str, start: int, end: int) -> RevisionRun:
    """The rows of one public source."""
    key = RevisionKey(PUBLIC, source_id, "1")
    return RevisionRun(key=key, facts_digest="sha256:drawn", label_digest="sha256:drawn", start=start, end=end)


_NOTHING = nothing(
    Eligibility(
        scope=scope_for(Principal(sub="bench", tenant=None), purpose=None),
        use=Use.CURRENT,
        at=parse_instant("2026-01-01T00:00:00Z"),
        as_of=None,
        subject=None,
        filter=Filter(),
    )
)
