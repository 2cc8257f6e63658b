"""How fast are tokens counted and packets packed, against tiktoken in an environment of its own?

Both sides have the same published vocabulary, and count on one core, one text after the other. Packing by tiktoken is
what is done without a packer: append a passage, count the whole again, stop at the first that does not fit. Ours counts
all candidates first, for a refusal says what everything would need, so what it gains falls with what is left out.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from eval.bench.errors import AnswersDiffer
from eval.bench.goals import GOALS, Goal
from eval.bench.peers import tiktoken_peer
from eval.bench.rounds import Comparison, Effort, in_turn
from eval.bench.token_work import SHORT_WORDS, UNIT_WORDS, Writer
from evidence.budget import Limit, Measure, Sizes
from evidence.packing import Block, Overflow, Packed, Tier, pack
from models.folder import open_folder
from models.joined import JoinedCounter
from models.registry import DEFAULT_ENCODER, find_encoder
from models.tokenizer import Tokenizer
from models.tokens import Counter, get_counter, openai_vocabulary

ENCODING = "o200k_base"
_SHORT = "short passages"
_END_S = 10

Find = Callable[[], list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    texts: int
    words: int  # of a text
    fuzzed: int
    candidates: int
    limit: int  # tokens of a packet


_SIZES = {
    Effort.FULL: _Sizes(texts=200, words=400, fuzzed=20_000, candidates=200, limit=8000),
    Effort.QUICK: _Sizes(texts=4, words=40, fuzzed=300, candidates=20, limit=400),
}


class _Peer:
    """tiktoken in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.name = f"tiktoken {self._answer()['version']}"

    def find(self, work: str) -> list[int]:
        """What the work of that name finds, done anew."""
        assert self._process.stdin is not None
        self._process.stdin.write(work + "\n")
        self._process.stdin.flush()
        found: list[int] = self._answer()
        return found

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


def run(effort: Effort, *, python: Path) -> list[Comparison]:
    """Counting texts, then packing short passages and whole units, each against two ways of counting at each append:
    tiktoken's, and our own counter's. python: an interpreter that has tiktoken.

    Raises AnswersDiffer.
    """
    sizes = _SIZES[effort]
    counter = get_counter(ENCODING)
    tokenizer = Tokenizer(open_folder(find_encoder(DEFAULT_ENCODER, folder=None)).tokenizer_file)
    writer = Writer([word for word in tokenizer.vocabulary() if word.isalpha()])
    texts = [writer.text(sizes.words) for _ in range(sizes.texts)]
    fuzzed = writer.fuzz(sizes.fuzzed)
    packs = {
        _SHORT: writer.passages(SHORT_WORDS, count=sizes.candidates),
        "units": writer.passages(UNIT_WORDS, count=sizes.candidates),
    }
    work = {"encoding": ENCODING, "texts": {"texts": texts, "fuzz": fuzzed}, "packs": packs, "limit": sizes.limit}
    with _started(python, work) as peer:
        _require_equal("count tokens", [counter.count(text) for text in fuzzed], peer.find("fuzz"))
        found = [_counting(texts, counter, peer, fuzzed=len(fuzzed))]
        for name, passages in packs.items():
            appended: Find = partial(tiktoken_peer.packed, passages, sizes.limit, counter.count)
            tiktoken = _Appending(peer.name, partial(peer.find, name))
            packing = _Packing(name=name, passages=passages, limit=sizes.limit, counter=counter)
            found.append(packing.against(tiktoken, goal=GOALS["C5b"] if name == _SHORT else None))
            found.append(packing.against(_Appending("muniment's own count", appended), goal=None))
    return found


class _Appending(NamedTuple):
    """A way to pack by counting again at each append."""

    name: str
    find: Find


def _counting(texts: Sequence[str], counter: Counter, peer: _Peer, *, fuzzed: int) -> Comparison:
    ours: Find = partial(tiktoken_peer.counted, texts, counter.count)
    theirs: Find = partial(peer.find, "texts")
    counts = ours()
    _require_equal("count tokens", counts, theirs())
    timed = in_turn(ours, theirs)
    return Comparison(
        work=f"count tokens of {ENCODING}",
        us="muniment (bpe-openai)",
        peer=peer.name,
        equal=f"every count, and those of {fuzzed:,} fuzzed strings",
        amount=sum(len(text.encode()) for text in texts),
        unit="bytes",
        sizes={"texts": len(texts), "tokens": sum(counts)},
        ours=timed[0],
        theirs=timed[1],
        goal=GOALS["C5a"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packing:
    """Passages of one kind, and how many tokens of them fit."""

    name: str
    passages: Sequence[str]
    limit: int
    counter: Counter

    def against(self, peer: _Appending, *, goal: Goal | None) -> Comparison:
        work = f"pack {self.limit:,} tokens of {len(self.passages)} {self.name}"
        found = self._packed()
        _require_equal(work, found, peer.find())
        if self.counter.count("".join(self.passages[: found[0]])) != found[1]:
            raise AnswersDiffer(work, "the count is not that of the packet")
        timed = in_turn(self._packed, peer.find)
        tokens = self.counter.count("".join(self.passages))
        return Comparison(
            work=work,
            us="muniment (packing, joined counts)",
            peer=f"{peer.name}, again at each append",
            equal="which passages are kept, and the tokens of them all",
            amount=1,
            unit="packets",
            sizes={"candidates": len(self.passages), "tokens": tokens, "kept": found[0], "kept_tokens": found[1]},
            ours=timed[0],
            theirs=timed[1],
            goal=goal,
        )

    def _packed(self) -> list[int]:
        """How many passages the packer keeps, and their tokens; counted afresh, as for a new request."""
        joined = JoinedCounter(self.counter)

        def measure(kept: Sequence[int]) -> Sizes:
            pieces = [self.passages[position] for position in kept]
            return Sizes(bytes=sum(map(len, pieces)), tokens=joined.count(pieces))

        blocks = [Block(positions=(at,), tier=Tier.BACKGROUND, roles=frozenset()) for at in range(len(self.passages))]
        limits = [Limit(measure=Measure.TOKENS, allowed=self.limit)]
        found = pack(blocks, overflow=Overflow.OMIT_OPTIONAL, limits=limits, measure=measure)
        assert isinstance(found, Packed), "nothing is mandatory"
        assert found.sizes.tokens is not None
        return [len(found.kept), found.sizes.tokens]


def _require_equal(work: str, ours: list[int], theirs: list[int]) -> None:
    if ours != theirs:
        differing = sum(mine != other for mine, other in zip(ours, theirs, strict=True))
        raise AnswersDiffer(work, f"{differing} of {len(ours)} numbers")


@contextmanager
def _started(python: Path, work: Mapping[str, object]) -> Iterator[_Peer]:
    """The peer over this work; its process ends with the context."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / tiktoken_peer.WORK_FILE).write_text(json.dumps(work), "utf-8")
        (folder / tiktoken_peer.VOCABULARY_FILE).write_bytes(openai_vocabulary(ENCODING))
        command = [str(python), tiktoken_peer.__file__, str(folder)]
        with subprocess.Popen(  # noqa: S603 - an interpreter and a script of ours
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as process:
            try:
                yield _Peer(process)
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.wait(timeout=_END_S)
