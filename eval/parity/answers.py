"""Are whole answers the same on every device and by every product, given the same query codes?

R10 and R31: over all of the pipeline, `run` apart.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.parity.dense import Backend
from eval.parity.finding import Finding
from eval.parity.sizes import Sizes
from eval.parity.small_catalog import ANALYZER, PRINCIPALS, QUERIES, HashEncoder, small_catalog
from evidence.instant import parse_instant
from index.catalog import Catalog
from models.errors import ModelMissing
from server.opening import open_requests
from server.parsing import parse
from server.pipeline import Pipeline
from server.reranking import Mixed, RerankerSlot
from server.schemas import PacketRequest, SearchRequest
from server.settings import ProductChoice, Settings

_NOW = parse_instant("2026-06-01T00:00:00Z")
_SEARCHES: tuple[dict[str, Any], ...] = (
    {"k": 7},
    {"k": 7, "channel": "dense"},
    {"k": 7, "fusion": {"method": "rrf", "depth": 9}},
    {"k": 5, "filter": {"family": ["family-1"]}},
)
_PACKETS: tuple[dict[str, Any], ...] = (
    {"k": 5},
    {"strategy": "auto", "requirements": [{"role": "limit", "match": {"claim": "fact-0"}}]},
    {"strategy": "broad", "filter": {"family": ["family-2"]}},
    {"k": 4, "budget": {"max_bytes": 6_000}, "on_overflow": "omit-optional"},
)


def whole(backends: Sequence[Backend], sizes: Sizes, *, folder: Path) -> Finding:
    """Every search and every packet, compared byte by byte in canonical form with the first backend's; `run` apart."""
    with small_catalog(folder / "catalog") as catalog:
        asked = [list(_answers(backend, catalog, sizes)) for backend in backends]
    differing = sum(
        answer != expected for answers in asked[1:] for answer, expected in zip(answers, asked[0], strict=True)
    )
    return Finding(
        name="whole answers are the same",
        place=", ".join(backend.place for backend in backends),
        passed=differing == 0 and all(asked),
        figures={
            "answers": sum(map(len, asked)),
            "bytes": len(b"".join(asked[0])),
            "differing": differing,
            "digest": f"sha256:{hashlib.sha256(b''.join(asked[0])).hexdigest()}",
        },
    )


def _answers(backend: Backend, catalog: Catalog, sizes: Sizes) -> Iterator[bytes]:
    pipeline = _pipeline(backend, catalog)
    for principal in PRINCIPALS:
        for query in QUERIES[: sizes.questions]:
            for more in _SEARCHES:
                yield _written(pipeline.search(parse({"query": query, **more}, SearchRequest), principal))
            for more in _PACKETS:
                yield _written(pipeline.packet(parse({"query": query, **more}, PacketRequest), principal))


def _pipeline(backend: Backend, catalog: Catalog) -> Pipeline:
    settings = Settings(dense_product=ProductChoice(backend.product.value))
    return Pipeline(
        catalog,
        settings=settings,
        device=backend.device,
        encoder=HashEncoder(),
        encoder_trouble=None,
        analyzer=ANALYZER,
        reranker=RerankerSlot(_no_reranker),
        requests=open_requests(settings),
        clock=lambda: _NOW,
    )


def _written(answer: Any) -> bytes:
    return json.dumps({name: value for name, value in answer.items() if name != "run"}, sort_keys=True).encode()


def _no_reranker() -> Mixed:
    raise ModelMissing("none here")
