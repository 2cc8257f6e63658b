"""Is a query encoded for its caller, whoever asked the same before? (R35)

Bytes cannot tell: a code depends on the text alone. Time can, and a count of encodings stands in for it here: encoding
is by far the longest step of a request, and whether it happens is all that a cache of codes could tell a stranger.
"""

import numpy as np
import numpy.typing as npt
import pytest

from tests.noninterference.application import Application
from tests.noninterference.bench import Bench
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.mutants.caches import SHARED_CODES
from tests.noninterference.relations_of_callers import as_asked_by, others_than
from tests.noninterference.world import Asked, Viewpoint, World
from tests.worlds import principal, record

ANN = Viewpoint(who=principal("blue"))
BY_CALLER = {(other.who.namespace, other.who.sub): other for other in others_than(ANN)}
STRANGERS = [other for caller, other in BY_CALLER.items() if caller != (ANN.who.namespace, ANN.who.sub)]
"""One of each name and tenant: whoever holds more grants, or fewer, is still the same caller."""
WORLD = World(records=(record("A", "A pump for everybody."), record("B", "A pump of Red's.", tenant="red")))
QUERY = "which pump leaks?"
SEARCH, PACKET = ANN.search(QUERY), ANN.packet(QUERY)


class CountingEncoder(FastEncoder):
    """Knows which queries it encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[str] = []

    def encode_query(self, text: str) -> npt.NDArray[np.int8]:
        self.encoded.append(text)
        return super().encode_query(text)


def encodings_of(encoder: CountingEncoder, opened: Application, asked: Asked) -> int:
    """How many encodings a request costs now."""
    before = len(encoder.encoded)
    assert opened.ask(asked).status == 200
    return len(encoder.encoded) - before


@pytest.mark.parametrize("asked", [SEARCH, PACKET], ids=["search", "packet"])
def test_a_query_is_encoded_once_for_each_caller_however_many_strangers_asked_it(bench: Bench, asked: Asked) -> None:
    encoder = CountingEncoder()

    with bench.application(WORLD, encoder=encoder) as opened:
        for other in STRANGERS:
            assert encodings_of(encoder, opened, as_asked_by(other, asked)) == 1
        assert encodings_of(encoder, opened, asked) == 1
        assert encodings_of(encoder, opened, asked) == 0  # what they asked themselves is kept


def test_a_query_that_a_stranger_is_waiting_for_is_encoded_all_the_same(bench: Bench) -> None:
    """Not even requests that are under way together share one."""
    encoder = CountingEncoder()

    with bench.application(WORLD, encoder=encoder) as opened:
        opened.ask_together([SEARCH, *(as_asked_by(other, SEARCH) for other in STRANGERS)])

    assert encoder.encoded.count(QUERY) == 1 + len(STRANGERS)


def test_codes_that_are_shared_are_noticed(bench: Bench) -> None:
    """Fault 17: the caller would be answered faster where a stranger asked before."""
    encoder = CountingEncoder()

    with SHARED_CODES.switched_on(), bench.application(WORLD, encoder=encoder) as opened:
        assert encodings_of(encoder, opened, as_asked_by(STRANGERS[0], SEARCH)) == 1
        assert encodings_of(encoder, opened, SEARCH) == 0
