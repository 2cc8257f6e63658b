"""Does it matter what multiplies, and on which device? (M4)

The relation raises Difference. What R6 lets differ is the `run` block, which says what served: it is held against what
must have served, and then taken out, of these answers and of no others.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from index import dense, product
from index.product import Product
from server.in_process import HttpResponse
from tests.noninterference import application
from tests.noninterference.application import Application, compared, running
from tests.noninterference.bench import Bench, Difference, parting
from tests.noninterference.relations_of_histories import Layout, built
from tests.noninterference.world import Asked, World

CPU = torch.device("cpu")
RUN = {"device", "fallback", "milliseconds"}
FALLBACK = "many dense queries at once by faiss: the int8 product is not exact on this processor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Who multiplies. fails: the int8 product does not compute exactly here, so that `auto` takes faiss."""

    product: Product
    device: str = "cpu"
    fails: bool = False

    def says(self, run: dict[str, Any]) -> bool:
        """Whether the `run` block says so. Until something was searched it names no fallback."""
        known = (None, self.fallback) if self.fails else (None,)
        return run["device"] == self.device and run["fallback"] in known and set(run) == RUN

    @property
    def fallback(self) -> str | None:
        """What it says once something was searched (R15)."""
        return FALLBACK if self.fails else None


def backends_here() -> list[Backend]:
    """Those that this machine has; the first is on every machine."""
    found = [
        Backend(product=Product.FAISS),
        Backend(product=Product.COMPILED),
        Backend(product=Product.AUTO),
        Backend(product=Product.AUTO, fails=True),
    ]
    if product.choose_product(CPU) is Product.TORCH:
        found.append(Backend(product=Product.TORCH))
    if torch.cuda.is_available():
        found.append(Backend(product=Product.TORCH, device="cuda"))
    return found


def backends(bench: Bench, world: World, requests: Sequence[Asked], *, layout: Layout) -> None:
    """M4. The same catalog, searched by each backend of this machine."""
    with built(bench, world, layout=layout) as made, ExitStack() as stack:
        directory = made.catalog.directory
        served = [(one, stack.enter_context(_served(bench, directory, one))) for one in backends_here()]
        for asked in requests:
            answers = [(backend, less_run(backend, _asked(backend, opened, asked))) for backend, opened in served]
            first, expected = answers[0]
            for backend, found in answers[1:]:
                if found != expected:
                    raise Difference(f"{asked}\n{first} and {backend}\n{parting(expected, found)}")
        for backend, opened in served:
            if opened.pipeline.fallback != backend.fallback:
                raise Difference(f"{backend}: in the end the fallback is {opened.pipeline.fallback}")


def less_run(backend: Backend, response: HttpResponse) -> tuple[int, tuple[tuple[bytes, bytes], ...], bytes]:
    """All of a response that must not differ between backends: the `run` block is out, and with it the length that
    follows from it. Raises Difference where the block is not what this backend must say, or holds anything else."""
    status, headers, body = compared(response)
    record = json.loads(body)
    if "run" not in record:
        return status, headers, body
    run = record.pop("run")
    if not backend.says(run):
        raise Difference(f"{backend}: {run}")
    left = tuple((name, value) for name, value in headers if name != b"content-length")
    return status, left, json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")


@contextmanager
def _served(bench: Bench, directory: Path, backend: Backend) -> Iterator[Application]:
    with (
        mock.patch.object(application, "CPU", torch.device(backend.device)),
        running(directory, portal=bench.portal, dense_product=backend.product.value) as opened,
    ):
        yield opened


def _asked(backend: Backend, opened: Application, asked: Asked) -> HttpResponse:
    if not backend.fails:
        return opened.ask(asked)
    with mock.patch.object(dense, "choose_product", return_value=Product.FAISS):  # what `auto` chooses then
        return opened.ask(asked)
