"""How fast do encoders and rerankers run on this device, against sentence-transformers in half precision?

The product's own encoder and reranker, in batches that qualify here, tokenizing included on both sides. Vectors and
scores are compared before anything is timed.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer

from eval.bench.drawn_texts import mixed_lengths, texts_of
from eval.bench.errors import AnswersDiffer
from eval.bench.gpu.parts import Part, Row
from eval.bench.gpu.shapes import BGE_BASE, MINILM_RERANKER, RERANKER_M3, Shape, save_encoder, save_reranker
from eval.bench.gpu.sizes import Sizes
from eval.bench.rounds import in_turn, milliseconds
from models.batching import ONE_BY_ONE
from models.encoder import Encoder
from models.folder import open_folder
from models.loading import open_cross_encoder, open_encoder
from models.network import no_progress_bar
from models.qualification import SHORT_TEXTS_PER_BUCKET, qualify, short_buckets
from models.registry import DEFAULT_ENCODER, EncoderEntry, LocalFolder, find_encoder
from models.runtime import batch_sizes_to_try, torch_name
from models.tokenizer import Tokenizer

_SHORTEST = 10  # tokens
_QUERY_TOKENS = 12
_PEER_BATCH = 128  # of sentence-transformers; 32 by default
_LEAST_COSINE = 0.999  # of half precision to half precision
_SCORES_APART = 0.1  # of logits, half precision to half precision
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Goal:
    """tokens_per_s: at least. ratio: of the peer's time to ours, at least; None where none is set."""

    tokens_per_s: float
    ratio: float | None

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f", x{self.ratio:g} of sentence-transformers"
        return f"{self.tokens_per_s / _MILLION:g}M tokens/s{ratio}"


def parts(device: torch.device, sizes: Sizes, *, folder: Path) -> list[Part]:
    """The parts, to be measured in this order. folder: empty, for networks."""
    minilm = find_encoder(DEFAULT_ENCODER, folder=None)
    return [
        Part(name="MiniLM", needs_s=8, measure=lambda: _minilm(minilm, device, sizes, folder)),
        Part(name="bge-base shape", needs_s=12, measure=lambda: _bge(device, sizes, folder)),
        Part(name="MiniLM reranker shape", needs_s=8, measure=lambda: _small_reranker(device, sizes, folder)),
        Part(name="reranker-v2-m3 shape", needs_s=25, measure=lambda: _large_reranker(device, sizes, folder)),
    ]


def _minilm(entry: EncoderEntry, device: torch.device, sizes: Sizes, cache: Path) -> list[Row]:
    encoder, peer = _encoder(entry, device, cache), _sentence_transformer(entry, device)
    many = _encoded("MiniLM", encoder, peer, sizes, _Goal(tokens_per_s=7 * _MILLION, ratio=3.5))
    return [many, _one_query(encoder, peer, sizes)]


def _bge(device: torch.device, sizes: Sizes, folder: Path) -> list[Row]:
    entry = save_encoder(folder / "bge-base", _cut(BGE_BASE, sizes), device=device)
    encoder, peer = _encoder(entry, device, folder), _sentence_transformer(entry, device)
    return [_encoded(entry.name, encoder, peer, sizes, _Goal(tokens_per_s=1.8 * _MILLION, ratio=None))]


def _small_reranker(device: torch.device, sizes: Sizes, folder: Path) -> list[Row]:
    return [_reranked(MINILM_RERANKER, device, sizes, folder, goal=None)]


def _large_reranker(device: torch.device, sizes: Sizes, folder: Path) -> list[Row]:
    return [_reranked(RERANKER_M3, device, sizes, folder, goal=_Goal(tokens_per_s=0.45 * _MILLION, ratio=1.8))]


def _encoded(name: str, encoder: Encoder, peer: SentenceTransformer, sizes: Sizes, goal: _Goal) -> Row:
    lengths = mixed_lengths(sizes.texts, shortest=_SHORTEST, longest=min(sizes.longest, encoder.window))
    texts = texts_of(encoder.counter, lengths)

    def theirs() -> object:
        return peer.encode(texts, batch_size=_PEER_BATCH, show_progress_bar=False)

    cosine = float((encoder.document_vectors(texts) * np.asarray(theirs(), np.float32)).sum(axis=1).min())
    if cosine < _LEAST_COSINE:
        raise AnswersDiffer(name, f"a cosine is {cosine:.5f}")
    timed = in_turn(lambda: encoder.document_vectors(texts), theirs, rounds=sizes.rounds)
    return _rate(f"{name}, {sizes.texts} texts of {_SHORTEST} to {max(lengths)} tokens", sum(lengths), timed, goal)


def _one_query(encoder: Encoder, peer: SentenceTransformer, sizes: Sizes) -> Row:
    texts = texts_of(encoder.counter, [_QUERY_TOKENS] * (2 * sizes.single))
    ours, theirs = _p50_in_turn(
        texts, encoder.query_vector, lambda text: peer.encode([text], batch_size=1, show_progress_bar=False)
    )
    return Row(
        work=f"one query of {_QUERY_TOKENS} tokens, p50",
        goal="a third of sentence-transformers, which runs eagerly",
        reached=f"{milliseconds(ours)} and {milliseconds(theirs)}: x{theirs / ours:.2f}",
        is_met=ours <= theirs / 3,
        figures={"ours_s": ours, "theirs_s": theirs, "ratio": theirs / ours},
    )


def _reranked(shape: Shape, device: torch.device, sizes: Sizes, folder: Path, *, goal: _Goal | None) -> Row:
    entry = save_reranker(folder / shape.name, _cut(shape, sizes), device=device)
    assert isinstance(entry.location, LocalFolder)
    opened = open_cross_encoder(entry, runtime=torch_name(device.type), device=device.type, cache=folder)
    with no_progress_bar():
        peer = CrossEncoder(str(entry.location.path), device=device.type, model_kwargs={"dtype": _half(device)})
    tokenizer = Tokenizer(open_folder(entry).tokenizer_file)
    lengths = mixed_lengths(sizes.pairs, shortest=_SHORTEST, longest=sizes.longest)
    query, *texts = texts_of(tokenizer, [_QUERY_TOKENS, *lengths])
    tokens = sum(lengths) + sizes.pairs * (_QUERY_TOKENS - 1)  # the query's special tokens, less one between the two

    def theirs() -> object:
        return peer.predict([(query, text) for text in texts], batch_size=_PEER_BATCH, show_progress_bar=False)

    scores = np.array(opened.score(query, texts).scores) / 2**20
    apart = float(np.abs(scores - np.asarray(theirs(), np.float64)).max())
    if apart > _SCORES_APART:
        raise AnswersDiffer(shape.name, f"scores are up to {apart:.3g} apart")
    timed = in_turn(lambda: opened.score(query, texts), theirs, rounds=sizes.rounds)
    return _rate(f"{shape.name} shape, {sizes.pairs} pairs", tokens, timed, goal)


def _rate(work: str, tokens: int, timed: tuple[tuple[float, ...], tuple[float, ...]], goal: _Goal | None) -> Row:
    ours, theirs = (statistics.median(side) for side in timed)
    rate, ratio = tokens / ours, theirs / ours
    met = None if goal is None else rate >= goal.tokens_per_s and (goal.ratio is None or ratio >= goal.ratio)
    return Row(
        work=work,
        goal="" if goal is None else str(goal),
        reached=f"{rate / _MILLION:.3g}M tokens/s, x{ratio:.2f} of sentence-transformers",
        is_met=met,
        figures={"tokens": tokens, "tokens_per_s": rate, "ratio": ratio, "ours_s": ours, "theirs_s": theirs},
    )


def _encoder(entry: EncoderEntry, device: torch.device, cache: Path) -> Encoder:
    """On torch, in batches that a short qualification allows."""
    runtime = torch_name(device.type)
    alone = open_encoder(entry, runtime=runtime, device=device.type, cache=cache)
    tried = batch_sizes_to_try(device.type)
    if tried == ONE_BY_ONE:
        return alone
    allowed = qualify(
        alone, buckets=short_buckets(alone.window), batch_sizes=tried, texts_per_bucket=SHORT_TEXTS_PER_BUCKET
    ).batch_sizes
    return open_encoder(entry, runtime=runtime, device=device.type, cache=cache, batch_sizes=allowed or ONE_BY_ONE)


def _sentence_transformer(entry: EncoderEntry, device: torch.device) -> SentenceTransformer:
    with no_progress_bar():
        return SentenceTransformer(
            str(open_folder(entry).path),
            device=device.type,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": _half(device)},
        )


def _half(device: torch.device) -> torch.dtype:
    """Half precision where it is fast."""
    return torch.float16 if device.type == "cuda" else torch.float32


def _cut(shape: Shape, sizes: Sizes) -> Shape:
    return shape if sizes.layers is None else replace(shape, layers=sizes.layers)


def _p50_in_turn(
    texts: Sequence[str], ours: Callable[[str], object], theirs: Callable[[str], object]
) -> tuple[float, float]:
    """Seconds of one call of each side, every text once; one of each warms up."""
    sides = (ours, theirs)
    seconds: tuple[list[float], list[float]] = ([], [])
    for number, text in enumerate([texts[0], texts[1], *texts]):
        begun = time.perf_counter()
        sides[number % 2](text)
        if number >= 2:
            seconds[number % 2].append(time.perf_counter() - begun)
    return statistics.median(seconds[0]), statistics.median(seconds[1])
