"""How long does the whole path of a request take, alone and with many clients at once?

Encode, filter, two channels, fuse, revalidate, pack, render, count, manifest: a packet, against four libraries glued by
hand that end with a prompt. Then a server and its clients, and where the time of a request goes.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from eval.bench.clients import Client, load, serving
from eval.bench.errors import AnswersDiffer
from eval.bench.glued import Glued, Rows
from eval.bench.goals import GOALS
from eval.bench.measured import Load, Measured, Verdict, percentile
from eval.bench.rounds import Comparison, Effort, in_turn, milliseconds
from eval.bench.synthetic_catalog import FORMULA, Questions, Sizes, kept_catalog, principal_of
from evidence.identity import unit_id
from evidence.packing import Overflow
from index.analysis import Analyzer
from index.generation import open_current
from models.encoder import Encoder
from models.folder import open_folder
from models.loading import open_encoder
from models.registry import DEFAULT_ENCODER, find_encoder
from models.runtime import runtime_names
from models.tokens import get_counter
from server.keys import load_key
from server.opening import open_pipeline
from server.pipeline import Pipeline
from server.schemas import BudgetBody, PacketRequest, SearchRequest
from server.settings import DeviceChoice, Settings
from server.tokens import issue

CLIENTS = 64
MOST_LONGER_S = 0.003
GATHERED: Mapping[str, str] = {"MUNIMENT_GATHER_SEARCHES": "true", "MUNIMENT_GATHER_QUERIES": "true"}
UNBATCHED: Mapping[str, str] = dict.fromkeys(GATHERED, "false")
K = 20
MAX_TOKENS = 4000
TOKENIZER = "o200k_base"
LEAST_OVERLAP = 0.95  # of the first K: two runtimes of one network may differ in the last bit of a code
_MOST_P99 = 0.2  # of the peer's
_TOKEN_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    catalog: Sizes
    asking: int  # tenants that ask, the first ones
    compared: int  # queries whose answers are compared
    timed: int  # queries of each side for the percentiles
    load_s: float
    load_asking: int  # tenants of the clients


_WORK = {
    Effort.FULL: _Work(
        catalog=Sizes(units=1_000_000, tenants=100, words=80),
        asking=4,
        compared=20,
        timed=100,
        load_s=60,
        load_asking=32,
    ),
    Effort.QUICK: _Work(
        catalog=Sizes(units=400, tenants=4, words=20), asking=2, compared=3, timed=5, load_s=2, load_asking=4
    ),
}


def run(device: torch.device, effort: Effort, *, cache: Path, progress: Callable[[str, int, int], None]) -> Measured:
    """One comparison and a verdict on its percentiles, and one load. Raises AnswersDiffer, BenchError, and what opening
    the model raises."""
    work = _WORK[effort]
    entry = find_encoder(DEFAULT_ENCODER, folder=None)
    encoder = open_encoder(entry, runtime=runtime_names(device.type)[0], device=device.type, cache=cache)
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made) / "catalog"
        shutil.copytree(kept_catalog(cache, encoder, work.catalog, progress=progress), directory)
        settings = Settings(device=DeviceChoice(device.type), cache_dir=cache)
        with open_pipeline(directory, settings=settings) as pipeline:
            pipeline.warm_up()
            comparison, verdict = _compared(pipeline, encoder, work)
        progress("serve clients", 0, 1)
        loads = [
            _loaded(directory, encoder, work, device=device, cache=cache, settings=settings, how=how)
            for settings, how in ((GATHERED, ""), (UNBATCHED, ", without batching"))
        ]
        progress("serve clients", 1, 1)
    return Measured(
        comparisons=(comparison,),
        verdicts=(verdict, batching(*loads)),
        loads=tuple(loads),
    )


def batching(served: Load, alone: Load) -> Verdict:
    """Whether it pays to work on several requests together. alone: the same server without."""
    least = GOALS["C8"].ratio_at_least
    assert least is not None
    ratio, longer = served.answers_per_s / alone.answers_per_s, served.percentile_s(50) - alone.percentile_s(50)
    return Verdict(
        goal="C8",
        says=f"at least x{least:g} of the answers without batching, p50 at most {milliseconds(MOST_LONGER_S)} longer",
        found=f"x{ratio:.2f}, p50 {milliseconds(served.percentile_s(50))} and {milliseconds(alone.percentile_s(50))}",
        is_met=ratio >= least and longer <= MOST_LONGER_S,
    )


def _compared(pipeline: Pipeline, encoder: Encoder, work: _Work) -> tuple[Comparison, Verdict]:
    sides = _Sides(pipeline, encoder, work)
    name = f"the whole path to a packet, {work.catalog.units:,} units, {100 // work.catalog.tenants}% visible"
    overlap = sides.overlap(work.compared)
    if overlap < LEAST_OVERLAP:
        raise AnswersDiffer(name, f"{overlap:.3f} of the first {K} are the same, at least {LEAST_OVERLAP} is asked for")
    timed = in_turn(sides.ours, sides.theirs)
    comparison = Comparison(
        work=name,
        us=f"muniment ({encoder.runtime})",
        peer="sentence-transformers, faiss with a bitmap, rank-bm25, bpe",
        equal=f"{overlap:.3f} of the first {K} of {work.compared} queries",
        amount=1,
        unit="packets",
        sizes={"units": work.catalog.units, "tenants": work.catalog.tenants, "k": K, "max_tokens": MAX_TOKENS},
        ours=timed[0],
        theirs=timed[1],
        goal=GOALS["C7"],
    )
    pairs = [(_seconds(sides.ours), _seconds(sides.theirs)) for _ in range(work.timed)]
    ours, theirs = (percentile(tuple(sorted(side)), 99) for side in zip(*pairs, strict=True))
    verdict = Verdict(
        goal="C7 p99",
        says=f"p99 of the whole path at most x{_MOST_P99} of the peer's",
        found=f"{milliseconds(ours)} and {milliseconds(theirs)} of {work.timed} queries each: x{ours / theirs:.2f}",
        is_met=ours <= _MOST_P99 * theirs,
    )
    return comparison, verdict


class _Sides:
    """Both ways to the same answers. Every call takes the next question, of the next of the tenants that ask."""

    def __init__(self, pipeline: Pipeline, encoder: Encoder, work: _Work) -> None:
        self._pipeline = pipeline
        self._asking = [principal_of(tenant) for tenant in range(work.asking)]
        self._questions = Questions(encoder, seed=0)
        self._turn = 0
        self._glued = Glued(
            _rows(pipeline),
            tenants=[str(one.namespace) for one in self._asking],
            model=_peer_model(encoder, pipeline.device),
            scale=encoder.entry.scale,
            analyzer=Analyzer(),
            variant=FORMULA,
            counter=get_counter(TOKENIZER),
        )

    def ours(self) -> object:
        """One packet."""
        who = self._asking[self._next()]
        return self._pipeline.packet(packet_request(next(self._questions)), who)

    def theirs(self) -> object:
        """One prompt."""
        who = self._asking[self._next()]
        return self._glued.packet(next(self._questions), str(who.namespace), k=K, max_tokens=MAX_TOKENS)

    def overlap(self, queries: int) -> float:
        """Which share of the first K both sides have in common, on average."""
        shares = []
        for _ in range(queries):
            who, text = self._asking[self._next()], next(self._questions)
            found = self._pipeline.search(SearchRequest(query=text, k=K), who)
            hits = found["hits"]
            assert isinstance(hits, list)
            theirs = {unit_id(self._glued.key(row)) for row in self._glued.search(text, str(who.namespace), k=K)}
            ours = {hit["unit_id"] for hit in hits if isinstance(hit, dict)}
            shares.append(len(ours & theirs) / max(len(ours), len(theirs), 1))
        return sum(shares) / len(shares)

    def _next(self) -> int:
        self._turn += 1
        return self._turn % len(self._asking)


def packet_request(text: str) -> PacketRequest:
    """What is asked of both sides."""
    return PacketRequest(
        query=text,
        k=K,
        budget=BudgetBody(max_tokens=MAX_TOKENS, tokenizer=TOKENIZER),
        on_overflow=Overflow.OMIT_OPTIONAL,
    )


def _rows(pipeline: Pipeline) -> Rows:
    """What the catalog publishes, as arrays and lists."""
    generation = open_current(pipeline.catalog.directory, pipeline.catalog.recipe)
    keys = generation.keys_of(range(generation.rows))
    with pipeline.catalog.read() as reading:
        texts = [unit.input_text for unit in reading.units(keys)]
    return Rows(codes=generation.codes[:], texts=texts, keys=keys)


def _peer_model(encoder: Encoder, device: torch.device) -> Any:
    """sentence-transformers, which brings no types."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415 - as above

    disable_progress_bar()
    path = str(open_folder(encoder.entry).path)
    return SentenceTransformer(path, device=device.type, local_files_only=True, trust_remote_code=False)


def _loaded(
    directory: Path,
    encoder: Encoder,
    work: _Work,
    *,
    device: torch.device,
    cache: Path,
    settings: Mapping[str, str],
    how: str,
) -> Load:
    key = load_key(directory)
    now = int(time.time())
    clients = [
        Client(
            token=issue(principal_of(number % work.load_asking), key=key, now_s=now, lifetime_s=_TOKEN_S),
            bodies=_bodies(Questions(encoder, seed=1 + number)),
        )
        for number in range(CLIENTS)
    ]
    chosen = {
        "MUNIMENT_DEVICE": device.type,
        "MUNIMENT_CACHE_DIR": str(cache),
        "MUNIMENT_LOG_LEVEL": "error",
        **settings,
    }
    told = f"{CLIENTS} clients ask for packets{how}"
    with serving(directory, settings=chosen) as server:
        return load(server, clients, path="/v1/packets", seconds=work.load_s, work=told)


def _bodies(questions: Questions) -> Iterator[bytes]:
    for text in questions:
        yield json.dumps(packet_request(text).model_dump(mode="json", exclude_unset=True)).encode()


def _seconds(side: Callable[[], object]) -> float:
    begun = time.perf_counter()
    side()
    return time.perf_counter() - begun
