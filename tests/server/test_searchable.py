"""Tests of server/searchable.py: what steps in without changing an answer is stated in `run`, and only there (R15)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from index import dense, device_lexical, torch_scan
from index.catalog import Catalog
from index.device_lexical import DeviceLexical
from index.gathering import Gathering
from index.generation import Generation
from index.product import Product, product_self_test
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest, SearchRequest
from server.searchable import NO_MEMORY, NO_MEMORY_FOR_WORDS, NO_PRODUCT, SearchableRows
from server.timing import Stopwatch
from tests.worlds import arrive, build, pipeline_over, principal, record

ANYONE = principal(None)
CPU = torch.device("cpu")
SHORTAGES = 3  # of memory in one search, after which the CPU answers
needs_int8 = pytest.mark.skipif(not product_self_test(CPU), reason="this CPU's int8 product saturates")


@pytest.fixture(name="catalog")
def fixture_catalog(tmp_path: Path) -> Iterator[Catalog]:
    """Some rows published, some in a delta: two dense searches a request."""
    build(tmp_path / "catalog", [record("A", "The upload limit is 25 MB."), record("B", "Latches are inspected.")])
    with Catalog.open(tmp_path / "catalog") as catalog:
        arrive(catalog, [record("C", "An upload of more than the limit fails.")])
        yield catalog


def search(pipeline: Pipeline, **more: Any) -> tuple[dict[str, Any], str | None]:
    """An answer less its `run` block, and the fallback stated there."""
    answer: dict[str, Any] = dict(pipeline.search(parse({"query": "upload limit", **more}, SearchRequest), ANYONE))
    return answer, answer.pop("run")["fallback"]


def packet(pipeline: Pipeline) -> tuple[dict[str, Any], str | None]:
    answer: dict[str, Any] = dict(pipeline.packet(parse({"query": "upload limit"}, PacketRequest), ANYONE))
    return answer, answer.pop("run")["fallback"]


def fill_up(monkeypatch: pytest.MonkeyPatch, *, calls: int) -> None:
    """The device has no room for the next `calls` products."""
    real, remaining = torch_scan.int8_product, [calls]

    def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        remaining[0] -= 1
        if remaining[0] >= 0:
            raise torch.OutOfMemoryError
        return real(left, right)

    monkeypatch.setattr(torch_scan, "int8_product", product)


@needs_int8
@pytest.mark.parametrize("ask", [search, packet])
def test_an_answer_that_the_cpu_gave_for_a_full_device_says_so_in_run_and_is_the_same(
    ask: Any, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10; the next answer is the device's again."""
    pipeline = pipeline_over(catalog, dense_product="torch")
    expected = ask(pipeline)
    fill_up(monkeypatch, calls=SHORTAGES)

    assert expected[1] is None
    assert ask(pipeline) == (expected[0], NO_MEMORY)
    assert ask(pipeline) == expected


@needs_int8
def test_a_shortage_that_a_smaller_tile_made_good_is_no_fallback(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_over(catalog, dense_product="torch")
    expected = search(pipeline)
    fill_up(monkeypatch, calls=SHORTAGES - 1)

    assert search(pipeline) == expected


@needs_int8
def test_a_request_that_searched_nothing_by_codes_does_not_report_the_shortage_of_another(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_over(catalog, dense_product="torch")
    fill_up(monkeypatch, calls=SHORTAGES)

    assert search(pipeline)[1] == NO_MEMORY
    assert search(pipeline, channel="lexical")[1] is None


@needs_int8
def test_a_device_that_had_no_room_for_the_proof_is_stated_in_every_answer(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(device: torch.device, asked: Product) -> Product:
        if device != CPU:
            raise torch.OutOfMemoryError
        return Product.TORCH

    expected, _ = search(pipeline_over(catalog))
    monkeypatch.setattr(dense, "choose_product", choose)
    pipeline = pipeline_over(catalog)
    monkeypatch.setattr(pipeline._rows, "_device", torch.device("cuda"))

    assert search(pipeline) == (expected, NO_MEMORY)


def words_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on CUDA, with tensors of the CPU, and every scope is a large one."""

    def make(self: SearchableRows, generation: Generation) -> DeviceLexical:
        return DeviceLexical(generation.postings, generation.lengths, generation.order, CPU)

    monkeypatch.setattr(SearchableRows, "_make_postings", make)
    monkeypatch.setattr(device_lexical, "LARGE_SCOPE", 1)


def test_words_looked_up_on_a_device_give_the_answer_of_the_cpu(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R9. Rows of the delta are the CPU's."""
    expected = search(pipeline_over(catalog), channel="lexical")
    weighed: list[int] = []
    real = device_lexical._weights

    def counting(*some: Any, **arrays: Any) -> torch.Tensor:
        weighed.append(1)
        return real(*some, **arrays)

    words_on_a_device(monkeypatch)
    monkeypatch.setattr(device_lexical, "_weights", counting)
    assert search(pipeline_over(catalog), channel="lexical") == expected
    assert len(expected[0]["hits"]) == 2
    assert weighed == [1]


def test_words_that_the_cpu_looked_up_for_a_full_device_say_so_in_run(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R15; the next answer is the device's again."""
    words_on_a_device(monkeypatch)
    pipeline = pipeline_over(catalog)
    expected = search(pipeline, channel="lexical")

    def full(*_: object, **__: object) -> torch.Tensor:
        raise torch.OutOfMemoryError

    with monkeypatch.context() as patch:
        patch.setattr(device_lexical, "_weights", full)
        assert search(pipeline, channel="lexical") == (expected[0], NO_MEMORY_FOR_WORDS)
    assert search(pipeline, channel="lexical") == expected


def test_faiss_in_place_of_a_product_that_is_not_exact_is_stated_in_every_answer(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = search(pipeline_over(catalog))
    monkeypatch.setattr(dense, "choose_product", lambda device, asked: Product.FAISS)

    assert search(pipeline_over(catalog)) == (expected, NO_PRODUCT)
    assert search(pipeline_over(catalog, dense_product="faiss")) == (expected, None)


def test_the_setting_that_gives_each_search_a_pass_of_its_own_reaches_the_index(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(Gathering[Any, Any]):
        def ask(self, asked: Any) -> Any:
            raise AssertionError("gathered")

    monkeypatch.setattr(dense, "GATHERED_ROWS", 1)
    monkeypatch.setattr(dense, "Gathering", Refusing)

    search(pipeline_over(catalog, gather_searches=False))
    with pytest.raises(AssertionError, match="gathered"):
        search(pipeline_over(catalog))


def test_everything_that_stepped_in_is_told_once_and_in_order(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R15: no fallback hides another one."""
    pipeline = pipeline_over(catalog)
    monkeypatch.setattr(type(pipeline), "fallback", "the index is on the CPU")
    watch = Stopwatch()
    for told in ("words on the CPU", "dense on the CPU", "words on the CPU"):
        watch.fell_back(told)

    run = pipeline._run(watch)
    assert run["fallback"] == "the index is on the CPU; words on the CPU; dense on the CPU"
