"""Tests of the encoders in company: a text's code is its own, whoever is encoded with it, or gives up (R10)."""

import random
from collections.abc import Sequence

import anyio
import anyio.to_thread
import numpy as np
import pytest
from numpy.typing import NDArray

from models.encoder import Encoder
from models.tokenizer import TokenRow

SIZES = (1, 2, 3, 7, 8, 16, 31, 32, 64)
CALLERS = 4  # who wait for codes at once; those who gave up leave a thread behind that encodes on
CANCELLED = 0.3
Codes = NDArray[np.int8]


def texts_of(encoder: Encoder, count: int) -> list[str]:
    """Texts of the encoder's own words: most as short as queries, some longer, none twice."""
    words = encoder.counter.vocabulary()
    chance = random.Random(61)
    found: dict[str, None] = {}
    while len(found) < count:
        length = chance.choice([1, 2, 3, 5, 8, 13, 24])
        text = " ".join(chance.choice(words) for _ in range(length))
        if len(encoder.counter.row(text).ids) <= encoder.window:
            found[text] = None
    return list(found)


class Company:
    """Texts encoded in calls of one size, in random order, by several threads at once; some callers give up."""

    def __init__(self, encoder: Encoder, texts: Sequence[str], size: int) -> None:
        self._encoder = encoder
        self._texts = texts
        self._chance = random.Random(size)
        places = list(range(len(texts)))
        self._chance.shuffle(places)
        self._calls = [places[first : first + size] for first in range(0, len(places), size)]
        self.codes: dict[int, Codes] = {}
        self.given_up = 0

    def run(self) -> None:
        anyio.run(self._run)

    async def _run(self) -> None:
        turns = anyio.Semaphore(CALLERS)
        async with anyio.create_task_group() as group:
            for call in self._calls:
                group.start_soon(self._call, call, turns, self._chance.random() < CANCELLED)

    async def _call(self, places: list[int], turns: anyio.Semaphore, gives_up: bool) -> None:
        """What was not finished when its caller gave up is encoded again by another one."""
        texts = [self._texts[place] for place in places]
        async with turns:
            if gives_up:
                with anyio.move_on_after(self._chance.random() * 0.01) as waiting:
                    await anyio.to_thread.run_sync(self._encoder.encode_documents, texts, abandon_on_cancel=True)
                self.given_up += waiting.cancelled_caught
            codes = await anyio.to_thread.run_sync(self._encoder.encode_documents, texts)
        self.codes.update(zip(places, codes, strict=True))


def differing(encoder: Encoder, texts: Sequence[str]) -> tuple[dict[int, int], int]:
    """For each call size how many texts got another code than alone, and how many callers gave up."""
    alone = [encoder.encode_query(text) for text in texts]
    found, given_up = {}, 0
    for size in SIZES:
        company = Company(encoder, texts, size)
        company.run()
        found[size] = sum(not np.array_equal(company.codes[place], code) for place, code in enumerate(alone))
        given_up += company.given_up
    return found, given_up


def test_no_code_changes_in_any_company(tiny: Encoder) -> None:
    """On each runtime of this machine; queries and documents have no prompts here."""
    found, given_up = differing(tiny, texts_of(tiny, 48))

    assert found == dict.fromkeys(SIZES, 0)
    assert given_up > 0


@pytest.mark.soak
def test_no_code_of_10_000_texts_changes_in_any_company_on_the_recipes_runtime(minilm: Encoder) -> None:
    found, given_up = differing(minilm, texts_of(minilm, 10_000))

    assert found == dict.fromkeys(SIZES, 0)
    assert given_up > 1000


def test_a_code_that_depends_on_its_company_is_seen(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What float32 does in batches: the comparison above is not blind."""
    encode = tiny.row_vectors

    def together(rows: Sequence[TokenRow], *, batch_sizes: Sequence[int]) -> NDArray[np.float32]:
        return encode(rows, batch_sizes=batch_sizes) * np.float32(1 + (len(rows) > 3) / 50)

    monkeypatch.setattr(tiny, "row_vectors", together)
    found, _ = differing(tiny, texts_of(tiny, 48))
    assert found[1] == found[2] == 0
    assert found[31] > 0
