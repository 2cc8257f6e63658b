"""How much does each part try?"""

from dataclasses import dataclass

from eval.bench.drawn_rows import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """texts: encoded a round. longest: tokens of one. pairs: reranked a round. rounds: of everything that is compared
    with a peer. single: queries asked one by one. layers: of the larger networks. rows, dimension, queries: of the
    dense index and of its batches; visible: share of the rows. tenants: that ask in one batch. units, kind: of the
    hybrid index; threads ask it for load_s.
    """

    texts: int
    longest: int
    pairs: int
    rounds: int
    single: int
    layers: int | None
    rows: int
    dimension: int
    queries: tuple[int, ...]
    visible: float
    tenants: int
    units: int
    kind: Kind
    threads: int
    load_s: float


FULL = Sizes(
    texts=4096,
    longest=250,
    pairs=512,
    rounds=3,
    single=200,
    layers=None,
    rows=10_000_000,
    dimension=384,
    queries=(1, 64, 1024),
    visible=0.1,
    tenants=1024,
    units=10_000_000,
    kind=Kind(visible=100_000, dimension=384, terms=10, vocabulary=20_000),
    threads=32,
    load_s=5.0,
)
SMALL = Sizes(
    texts=6,
    longest=40,
    pairs=3,
    rounds=2,
    single=3,
    layers=1,
    rows=20_000,
    dimension=64,
    queries=(1, 8),
    visible=0.1,
    tenants=8,
    units=2_000,
    kind=Kind(visible=400, dimension=64, terms=8, vocabulary=300),
    threads=2,
    load_s=0.3,
)
