"""How much does each check try?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """rows, queries: of a dense case. tiled_rows: of the one that takes several tiles. filters: scopes whose rows are
    looked at, by `queries` each. texts: encoded at each padded length; batched_texts: where rows are encoded together.
    with_packaged_model: or with the tiny network alone. shortages: of device memory. turns: of faiss and torch. units:
    scored by BM25. questions: asked of the whole pipeline, at most four.
    """

    rows: int
    queries: int
    tiled_rows: int
    filters: int
    texts: int
    batched_texts: int
    with_packaged_model: bool
    shortages: int
    turns: int
    units: int
    questions: int


FULL = Sizes(
    rows=16_000,
    queries=33,
    tiled_rows=200_000,
    filters=200,
    texts=10,
    batched_texts=128,
    with_packaged_model=True,
    shortages=200,
    turns=200,
    units=2_000,
    questions=4,
)
SMALL = Sizes(
    rows=4_500,
    queries=9,
    tiled_rows=60_000,
    filters=40,
    texts=6,
    batched_texts=16,
    with_packaged_model=False,
    shortages=30,
    turns=20,
    units=400,
    questions=1,
)
