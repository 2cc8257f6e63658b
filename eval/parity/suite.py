"""Is every number the same on each device of this machine, and as it is on any other?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from eval.parity import answers, dense, encoding, lexical, libraries, memory
from eval.parity.dense_cases import cases
from eval.parity.finding import Finding
from eval.parity.sizes import Sizes
from eval.parity.tiny_encoder import save_tiny_encoder
from index.product import Product
from models.registry import DEFAULT_ENCODER, EncoderEntry, find_encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something to be looked at: `find` makes its findings, and may raise whatever a broken device raises."""

    name: str
    find: Callable[[], list[Finding]]


def checks(devices: Sequence[torch.device], sizes: Sizes, *, folder: Path) -> Iterator[Check]:
    """Every check on every device, to be made in this order.

    devices: the CPU first. folder: empty, for networks and a catalog.
    """
    backends = dense.backends(devices)
    yield Check(name="exact products", find=lambda: [_exact(device, backends) for device in devices])
    yield Check(name="dense scores", find=lambda: _dense_scores(backends, devices, sizes))
    for backend in backends:
        yield Check(name="usable rows", find=_one(partial(dense.usable, backend, sizes)))
        if backend.product is Product.TORCH:
            yield Check(name="shortages", find=_one(partial(memory.shortages, backend, sizes)))
        if backend.device.type == "cuda":
            yield Check(name="memory withheld", find=_one(partial(memory.withheld, backend)))
    yield Check(name="lexical scores", find=_one(partial(lexical.integers, sizes)))
    for device in devices:
        yield Check(name="lexical scores for GPUs", find=_one(partial(lexical.on_device, device, sizes)))
    yield Check(name="whole answers", find=lambda: [answers.whole(backends, sizes, folder=folder)])
    yield Check(name="faiss and torch in turn", find=_one(partial(libraries.in_turn, backends, sizes)))
    yield Check(name="selectors", find=libraries.selectors)
    for entry in _encoders(sizes, folder):
        for device in devices:
            yield Check(name="codes", find=partial(encoding.neighbours, entry, device, sizes, cache=folder))
            yield Check(name="full device", find=_one(partial(encoding.full_device, entry, device, cache=folder)))


def _one(find: Callable[[], Finding]) -> Callable[[], list[Finding]]:
    return lambda: [find()]


def _dense_scores(backends: Sequence[dense.Backend], devices: Sequence[torch.device], sizes: Sizes) -> list[Finding]:
    prepared = list(cases(sizes))
    scores = [dense.integers(backend, prepared) for backend in backends]
    exact = {backend.device for backend in backends if backend.product is Product.TORCH}
    many = [dense.at_once(device, prepared) for device in devices if device in exact]
    return [*scores, _agreeing(scores), *many]


def _exact(device: torch.device, backends: Sequence[dense.Backend]) -> Finding:
    """A CPU without VNNI is served by faiss; a CUDA device that is not exact is of no use."""
    products = [backend.product.value for backend in backends if backend.device == device]
    return Finding(
        name="a product proves exact",
        place=device.type,
        passed=bool(products),
        figures={"products": " ".join(products) or "none"},
    )


def _agreeing(scores: Sequence[Finding]) -> Finding:
    digests = {str(finding.figures["digest"]) for finding in scores}
    return Finding(
        name="all of them gave the same bytes",
        place=f"{len(scores)} products",
        passed=len(digests) == 1,
        figures={"digests": len(digests), "digest": min(digests, default="none:")},
    )


def _encoders(sizes: Sizes, folder: Path) -> list[EncoderEntry]:
    tiny = save_tiny_encoder(folder / "tiny")
    return [tiny, find_encoder(DEFAULT_ENCODER, folder=None)] if sizes.with_packaged_model else [tiny]
