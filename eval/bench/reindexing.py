"""How close does a whole reindex come to the encoder's own rate, and what memory does it take as a catalog grows?

A tenth of the passages first, then all of them, each in a catalog of its own: encoded, kept, analyzed and published.
Beside both stands the encoder alone, over passages of the same lengths, before and after. Memory is the most that the
process held while a reindex went on, above what it held with the model warm and nothing else.
"""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from eval.bench.drawn_texts import texts_of
from eval.bench.machine import forget_peak, peak_bytes, resident_bytes
from eval.bench.measured import Measured, Verdict
from eval.bench.rounds import Effort
from eval.bench.synthetic_catalog import UNITS_PER_SOURCE, Sizes, make_catalog
from index.reindex import BATCH_TEXTS, ReindexReport
from models.encoder import Encoder
from models.loading import open_encoder
from models.registry import DEFAULT_ENCODER, find_encoder
from models.runtime import runtime_names

GOAL, MEMORY_GOAL = "C9", "C9 memory"
LEAST_SHARE = 0.9
MOST_BYTES = 2 * 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    passages: int
    words: int  # of a passage, each one token
    sampled: int  # passages that the encoder alone is timed with, twice


_SIZES = {
    Effort.FULL: _Sizes(passages=100_000, words=40, sampled=2_000),
    Effort.QUICK: _Sizes(passages=10 * UNITS_PER_SOURCE, words=10, sampled=20),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One reindex. held_bytes: the most that the process held above the warm model."""

    report: ReindexReport
    held_bytes: int

    @property
    def tokens_per_s(self) -> float:
        return self.report.tokens / self.report.seconds


def run(device: torch.device, effort: Effort, *, cache: Path, progress: Callable[[str, int, int], None]) -> Measured:
    """A verdict on the rate and one on the memory. Raises what opening the model raises."""
    sizes = _SIZES[effort]
    entry = find_encoder(DEFAULT_ENCODER, folder=None)
    encoder = open_encoder(entry, runtime=runtime_names(device.type)[0], device=device.type, cache=cache)
    rates = [_alone(encoder, sizes)]
    gc.collect()
    warm = resident_bytes()
    few, all_of_them = (
        _reindexed(encoder, passages, sizes.words, above=warm, progress=progress)
        for passages in (sizes.passages // 10, sizes.passages)
    )
    rates.append(_alone(encoder, sizes))
    return Measured(verdicts=verdicts(few, all_of_them, rates))


def verdicts(few: Run, many: Run, rates: list[float]) -> tuple[Verdict, Verdict]:
    """rates: tokens a second of the encoder alone, of each time that it was timed."""
    rate = statistics.mean(rates)
    share = many.tokens_per_s / rate
    held = [one.held_bytes for one in (few, many)]
    return (
        Verdict(
            goal=GOAL,
            says=f"a whole reindex at {LEAST_SHARE:.0%} of the encoder's own rate or more",
            found=f"{many.report.units:,} passages, {many.report.tokens:,} tokens in {many.report.seconds:,.1f} s:"
            f" {many.tokens_per_s:,.0f} tokens/s, the encoder alone {rate:,.0f}"
            f" ({min(rates):,.0f} to {max(rates):,.0f}): {share:.1%}",
            is_met=share >= LEAST_SHARE,
        ),
        Verdict(
            goal=MEMORY_GOAL,
            says=f"at most {MOST_BYTES / 2**30:g} GiB above the model",
            found=", ".join(
                f"{size / 2**20:,.0f} MiB with {one.report.units:,} passages"
                for size, one in zip(held, (few, many), strict=True)
            ),
            is_met=max(held) <= MOST_BYTES,
        ),
    )


def _reindexed(
    encoder: Encoder, passages: int, words: int, *, above: int, progress: Callable[[str, int, int], None]
) -> Run:
    forget_peak()
    with tempfile.TemporaryDirectory() as made:
        report = make_catalog(
            Path(made) / "catalog",
            encoder,
            Sizes(units=passages, tenants=1, words=words),
            progress=progress,
            draws_codes=False,
        )
    return Run(report=report, held_bytes=peak_bytes() - above)


def _alone(encoder: Encoder, sizes: _Sizes) -> float:
    """Tokens a second, of passages as long as those of the catalog, as many at once as a reindex gives it."""
    length = sizes.words + encoder.counter.special_tokens
    texts = texts_of(encoder.counter, [length] * sizes.sampled)
    encoder.encode_documents(texts[:BATCH_TEXTS])  # warm
    begun = time.perf_counter()
    for first in range(0, len(texts), BATCH_TEXTS):
        encoder.encode_documents(texts[first : first + BATCH_TEXTS])
    return length * len(texts) / (time.perf_counter() - begun)
