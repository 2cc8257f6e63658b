"""Tests of server/queries.py: whoever waits for a code is encoded in company, and gets the one that it gets alone."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import numpy as np
import numpy.typing as npt
import pytest

from evidence.identity import PUBLIC
from models.errors import ModelError
from server.queries import QueryReader
from server.retrieval import Codes, Query
from server.schemas import Channel
from tests.worlds import ANALYZER, RECIPE, WordEncoder

ALONE = WordEncoder()


class Watched(WordEncoder):
    """Waits for `go`, and keeps which queries it was given in one go; `broken` cannot be encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.begun = Event(), Event()
        self.calls: list[list[str]] = []

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        self.calls.append(list(texts))
        self.begun.set()
        assert self.go.wait(10)
        if "broken" in texts:
            raise ModelError("broken")
        return super().encode_queries(texts)


class Swayed(Watched):
    """Gives codes that depend on who is encoded with them."""

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        return super().encode_queries(texts) // np.int8(len(texts))


def reader(encoder: WordEncoder, *, gathers: bool = True) -> QueryReader:
    return QueryReader(
        RECIPE,
        encoder=encoder,
        encoder_trouble=None,
        analyzer=ANALYZER,
        lexical=True,
        max_terms=8,
        gathers=gathers,
    )


@contextmanager
def read_together(encoder: Watched, texts: Sequence[str], *, gathers: bool = True) -> Iterator[list[Future[Query]]]:
    """The first text is being encoded when the others come, one after the other; then all may go on."""
    queries = reader(encoder, gathers=gathers)
    assert queries._gathering is not None
    with ThreadPoolExecutor(len(texts)) as threads:
        reading = []
        for place, text in enumerate(texts):
            reading.append(threads.submit(queries.read, text, Channel.DENSE, asker=(PUBLIC, f"asker {place}")))
            assert encoder.begun.wait(10)
            while len(queries._gathering._queue) < place:
                pass
        encoder.go.set()
        yield reading


def others_than_alone(reading: Sequence[Future[Query]], texts: Sequence[str]) -> list[str]:
    """The texts whose codes are not those that they have alone."""
    codes = [one.result(10).code for one in reading]
    return [text for code, text in zip(codes, texts, strict=True) if not is_own(code, text)]


def is_own(code: Codes | None, text: str) -> bool:
    return code is not None and np.array_equal(code, ALONE.encode_query(text))


def test_queries_that_wait_are_encoded_in_one_go_and_have_the_codes_that_they_have_alone() -> None:
    """R10; two who ask the same share no code (R35)."""
    encoder, texts = Watched(), ["first", "red pump", "blue", "red pump"]

    with read_together(encoder, texts) as reading:
        assert others_than_alone(reading, texts) == []
    assert encoder.calls == [["first"], ["red pump", "blue", "red pump"]]


def test_codes_that_depend_on_company_are_seen() -> None:
    """The comparison above is not blind."""
    texts = ["first", "red pump", "blue"]

    with read_together(Swayed(), texts) as reading:
        assert others_than_alone(reading, texts) == ["red pump", "blue"]


def test_a_query_that_cannot_be_encoded_is_its_callers_alone() -> None:
    texts = ["first", "red pump", "broken", "blue"]

    with read_together(Watched(), texts) as reading:
        assert others_than_alone([*reading[:2], reading[3]], [*texts[:2], texts[3]]) == []
        assert reading[2].result(10).code is None
        assert reading[2].result(10).notes == ("dense: the query could not be encoded",)
        assert reading[3].result(10).notes == ()


def test_a_query_alone_waits_for_nobody() -> None:
    encoder = Watched()
    encoder.go.set()
    queries = reader(encoder)

    for text in ("red pump", "blue"):
        queries.read(text, Channel.DENSE, asker=(PUBLIC, "ann"))
    assert encoder.calls == [["red pump"], ["blue"]]


def test_the_setting_gives_each_query_a_pass_of_its_own() -> None:
    encoder, texts = Watched(), ["first", "red pump", "blue"]

    with read_together(encoder, texts, gathers=False) as reading:
        assert others_than_alone(reading, texts) == []
    assert encoder.calls == [["first"], ["red pump"], ["blue"]]


def test_a_code_that_is_kept_cannot_be_changed() -> None:
    encoder = Watched()
    encoder.go.set()

    code = reader(encoder).read("blue", Channel.DENSE, asker=(PUBLIC, "ann")).code
    assert code is not None
    with pytest.raises(ValueError, match="read-only"):
        code[0] = 1


def test_queries_read_ahead_are_encoded_together_and_are_there_for_this_caller_alone() -> None:
    """R35. One that cannot be encoded takes nothing from the reads that follow."""
    encoder, texts = Watched(), ["pump 1", "pump 2", "pump 3"]
    encoder.go.set()
    queries = reader(encoder)

    queries.read_ahead(texts, asker=(PUBLIC, "ann"))
    queries.read_ahead(["pump 4", "broken"], asker=(PUBLIC, "ann"))
    codes = [queries.read(text, Channel.DENSE, asker=(PUBLIC, "ann")).code for text in texts]
    assert encoder.calls == [texts, ["pump 4", "broken"]]
    assert all(is_own(code, text) for text, code in zip(texts, codes, strict=True))

    queries.read("pump 1", Channel.DENSE, asker=(PUBLIC, "ben"))
    queries.read("pump 4", Channel.DENSE, asker=(PUBLIC, "ann"))
    assert encoder.calls[2:] == [["pump 1"], ["pump 4"]]
