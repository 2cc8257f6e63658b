"""Does a text keep its code whatever is encoded beside it, also when the device fills up?

R10, on each runtime of a device.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.typing as npt
import torch

from eval.parity.finding import Finding
from eval.parity.sizes import Sizes
from models.batching import ONE_BY_ONE
from models.encoder import Encoder
from models.errors import DeviceOutOfMemory
from models.loading import open_encoder
from models.network import TextEncoder
from models.qualification import qualify, sample_rows, short_buckets
from models.quantize import quantize
from models.registry import EncoderEntry
from models.runtime import batch_sizes_to_try, runtime_names, torch_name
from models.tokenizer import TokenRow

Codes = npt.NDArray[np.int8]

_ROUNDS = 3  # of new neighbours, where there are any
_BATCHES = (1, 4, 8)  # for a device that fills up


def neighbours(entry: EncoderEntry, device: torch.device, sizes: Sizes, *, cache: Path) -> list[Finding]:
    """For each runtime: at every batch size that it qualifies for, texts with new neighbours in new places get the
    codes that they get alone."""
    return [_neighbours(entry, runtime, device, sizes, cache) for runtime in runtime_names(device.type)]


def full_device(entry: EncoderEntry, device: torch.device, *, cache: Path) -> Finding:
    """An encoder on torch whose device is full gives the same codes from smaller batches, or an error of ours where not
    even one row fits; then it serves as before."""
    encoder = open_encoder(entry, runtime=torch_name(device.type), device=device.type, cache=cache)
    bucket = short_buckets(encoder.window)[0]
    allowed = qualify(encoder, buckets=[bucket], batch_sizes=_BATCHES, texts_per_bucket=_BATCHES[-1]).batch_sizes
    rows = sample_rows(encoder.counter, bucket=bucket, count=_BATCHES[-1])
    alone = _codes(encoder, rows, ONE_BY_ONE)
    differing = errors = 0
    for room in (*_BATCHES, 0, _BATCHES[-1]):
        with _room_for(room):
            try:
                differing += int((_codes(encoder, rows, allowed) != alone).any(axis=1).sum())
            except DeviceOutOfMemory:
                errors += 1
    return Finding(
        name="out of memory, codes come from smaller batches, or our error",
        place=encoder.runtime,
        passed=differing == 0 and errors == 1,
        figures={
            "model": entry.name,
            "batch_sizes": " ".join(map(str, allowed)),
            "differing": differing,
            "errors": errors,
        },
    )


def _neighbours(entry: EncoderEntry, runtime: str, device: torch.device, sizes: Sizes, cache: Path) -> Finding:
    encoder = open_encoder(entry, runtime=runtime, device=device.type, cache=cache)
    buckets = short_buckets(encoder.window)
    tried = batch_sizes_to_try(device.type)
    count = sizes.texts if tried == ONE_BY_ONE else sizes.batched_texts
    measured = qualify(encoder, buckets=buckets, batch_sizes=tried, texts_per_bucket=count)
    samples = [sample_rows(encoder.counter, bucket=length, count=count) for length in buckets]
    rows = [row for sample in samples for row in sample]
    alone = _codes(encoder, rows, ONE_BY_ONE)
    encoded = differing = 0
    for size in measured.batch_sizes:
        for round_ in range(1 if size == 1 else _ROUNDS):
            order = list(range(len(rows)))
            random.Random(f"{size} {round_}").shuffle(order)  # noqa: S311 - a sample to test with, not a secret
            codes = _codes(encoder, [rows[place] for place in order], (1, size))
            encoded += len(rows)
            differing += int((codes != alone[order]).any(axis=1).sum())
    return Finding(
        name="neighbours change no code",
        place=runtime,
        passed=measured.qualifies and differing == 0,
        figures={
            "model": entry.name,
            "texts": len(rows),
            "batch_sizes": " ".join(map(str, measured.batch_sizes)),
            "encoded": encoded,
            "differing": differing,
        },
    )


@contextmanager
def _room_for(rows: int) -> Iterator[None]:
    """Batches of more rows find no memory."""
    forward = TextEncoder.forward

    def with_little_memory(
        network: TextEncoder, ids: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if len(ids) > rows:
            raise torch.OutOfMemoryError("made by the parity suite")
        return forward(network, ids, mask)

    with mock.patch.object(TextEncoder, "forward", with_little_memory):
        yield


def _codes(encoder: Encoder, rows: Sequence[TokenRow], sizes: Sequence[int]) -> Codes:
    return quantize(encoder.row_vectors(rows, batch_sizes=sizes), scale=encoder.entry.scale)
