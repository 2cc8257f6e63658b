"""The suite `pack`: counts and packings are compared before anything is timed, and nothing is asserted of speed."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from eval.bench import pack
from eval.bench.errors import AnswersDiffer
from eval.bench.goals import GOALS
from eval.bench.peers import tiktoken_peer
from eval.bench.rounds import Effort
from models.tokens import get_counter

needs_tiktoken = pytest.mark.skipif(find_spec("tiktoken") is None, reason="the peer's package, here in our environment")
PYTHON = Path(sys.executable)


class OneMoreInLongTexts:
    """A counter that is wrong about texts of more than so many characters."""

    adds_at_seams = False

    def __init__(self, longest: int) -> None:
        self._counter = get_counter(pack.ENCODING)
        self._longest = longest
        self.name, self.digest = self._counter.name, self._counter.digest

    def count(self, text: str) -> int:
        return self._counter.count(text) + (len(text) > self._longest)


@needs_tiktoken
def test_counting_and_packing_are_compared_for_the_stated_goals() -> None:
    counting, *packing = pack.run(Effort.QUICK, python=PYTHON)

    assert counting.goal == GOALS["C5a"]
    assert "300 fuzzed strings" in counting.equal
    assert [one.goal for one in packing] == [GOALS["C5b"], None, None, None]
    assert all(0 < one.sizes["kept"] <= one.sizes["candidates"] for one in packing)
    assert packing[2].sizes["kept"] < packing[2].sizes["candidates"]


@needs_tiktoken
@pytest.mark.parametrize(("longest", "work"), [(5, "count tokens"), (1000, "pack 400 tokens")])
def test_counts_that_differ_end_without_figures(longest: int, work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In fuzzed strings, and in texts as long as packets alone."""
    monkeypatch.setattr("eval.bench.pack.get_counter", lambda _: OneMoreInLongTexts(longest))

    with pytest.raises(AnswersDiffer, match=work):
        pack.run(Effort.QUICK, python=PYTHON)


def test_appending_stops_at_the_first_passage_that_does_not_fit() -> None:
    """`bb` and `c` are not tried again behind it."""
    assert tiktoken_peer.packed(["aaa", "bbbb", "bb", "c"], 6, len) == [1, 3]
    assert tiktoken_peer.packed(["aaa", "bb", "c"], 6, len) == [3, 6]
    assert tiktoken_peer.packed(["aaa"], 2, len) == [0, 0]
