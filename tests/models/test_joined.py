"""Counting joined pieces at their seams: always the number that reading the joined text gives."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from evidence.canonical import canonical
from evidence.escape import escape_strings
from models.errors import NotText
from models.joined import JoinedCounter
from models.local_tokenizer import LocalTokenizer
from models.seams import SEAM
from models.tokens import TOKENIZER_NAMES, Counter, get_counter
from tests.hostile import HOSTILE_TEXTS
from tests.models.chat_families import FAMILIES, MISTRAL, changed, save_family

PACKS, SOAK_PACKS = 300, 10_000
WORDS = ("the", "upload", "limit is", "25", "megabytes;", "don't", "", "\t", "it.\nSee", "`a_b`", "naïve", "上传")
ODD_WORDS = ("e\u0301", "12345", "'ll", "😀", "x\\y", *HOSTILE_TEXTS)
FOLDERS = {family.name: family for family in FAMILIES}


class Spy:
    """A counter that keeps what it was asked to read."""

    def __init__(self, counter: Counter, *, adds_at_seams: bool) -> None:
        self._counter = counter
        self.name, self.digest, self.adds_at_seams = counter.name, counter.digest, adds_at_seams
        self.read: list[str] = []

    def count(self, text: str) -> int:
        self.read.append(text)
        return self._counter.count(text)


@pytest.fixture(scope="module", params=[*TOKENIZER_NAMES, *FOLDERS])
def counter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Counter:
    if request.param in TOKENIZER_NAMES:
        return get_counter(request.param)
    folder = save_family(FOLDERS[request.param], tmp_path_factory.mktemp(request.param))
    return LocalTokenizer(folder, name=f"hf:{folder}")


def random_text(draw: random.Random) -> str:
    words = [draw.choice(ODD_WORDS if draw.random() < 0.2 else WORDS) for _ in range(draw.randrange(40))]
    return " ".join(words)


def rendered_item(draw: random.Random) -> str:
    """An evidence item as a body holds it, sometimes doubly encoded."""
    record = {
        "conflict_group": None,
        "heading": [random_text(draw)],
        "text": random_text(draw),
        "trust": draw.choice(["untrusted-retrieved-data", "…", ""]),
    }
    body = escape_strings(canonical(record).decode())
    return body if draw.random() < 0.6 else escape_strings(json.dumps(body, ensure_ascii=False))[1:-1]


def pack(draw: random.Random, items: Sequence[str]) -> list[str]:
    """The pieces of a body: a head, items with a separator between each two, a tail."""
    chosen = draw.sample(items, draw.randrange(len(items)))
    separator = draw.choice([",", "\n", "},{", "", '","'])
    between = [piece for item in chosen for piece in (separator, item)][1:]
    return [draw.choice(['{"evidence":[', "", "<s>[INST] "]), *between, draw.choice(["]}", "", "\n", ' "end"'])]


def assert_equal_on(counter: Counter, packs: int) -> None:
    draw = random.Random(7)
    items = [rendered_item(draw) for _ in range(40)]
    joined = JoinedCounter(counter, remembered=50)
    for _ in range(packs):
        pieces = pack(draw, items)
        assert joined.count(pieces) == counter.count("".join(pieces))


def test_the_count_at_seams_is_that_of_the_joined_text(counter: Counter) -> None:
    """R23: never an estimate, for any tokenizer, whatever the units hold."""
    assert counter.adds_at_seams
    assert_equal_on(counter, PACKS)


@pytest.mark.soak
def test_the_count_at_seams_is_that_of_the_joined_text_on_ten_thousand_packs(counter: Counter) -> None:
    assert_equal_on(counter, SOAK_PACKS)


def test_pieces_are_read_once_and_then_only_what_lies_between_them(counter: Counter) -> None:
    spy = Spy(counter, adds_at_seams=True)
    joined = JoinedCounter(spy)
    items = [rendered_item(random.Random(seed)) for seed in range(20)]
    joined.count(['{"evidence":[', *(piece for item in items for piece in (item, ",")), "]}"])
    spy.read.clear()

    turned = ['{"evidence":[', *(piece for item in reversed(items) for piece in (item, ",")), "]}"]
    assert joined.count(turned) == counter.count("".join(turned))
    assert sum(map(len, spy.read)) < 0.2 * len("".join(turned))


def test_without_a_proof_the_joined_text_is_read_whole(counter: Counter) -> None:
    spy = Spy(counter, adds_at_seams=False)

    assert JoinedCounter(spy).count(['{"a":"b"', ',"c":"d"}']) == counter.count('{"a":"b","c":"d"}')
    assert spy.read == ['{"a":"b","c":"d"}']


def test_pieces_without_any_seam_are_read_with_their_neighbours(counter: Counter) -> None:
    pieces = ["un", "aff", "able", " text", ", ", "", '"', "a"]

    assert not any(SEAM.search(piece) for piece in pieces)
    assert JoinedCounter(counter).count(pieces) == counter.count("".join(pieces))


@pytest.mark.parametrize("pieces", [[], [""], ["", ""], ['a"'], ['a"', 'a"']])
def test_the_smallest_packs_are_counted(counter: Counter, pieces: list[str]) -> None:
    assert JoinedCounter(counter).count(pieces) == counter.count("".join(pieces))


def test_forgetting_pieces_changes_no_count(counter: Counter) -> None:
    items = [rendered_item(random.Random(seed)) for seed in range(9)]

    assert JoinedCounter(counter, remembered=1).count(items * 3) == counter.count("".join(items * 3))


def test_a_lone_surrogate_is_refused_in_a_piece_too(counter: Counter) -> None:
    with pytest.raises(NotText):
        JoinedCounter(counter).count(['{"a":"b\ud800"', ',"c":"d"}'])


def test_a_start_of_text_mark_is_not_counted_at_each_seam(tmp_path: Path) -> None:
    """Mistral's older layout sets a space before a text. Two seams, and the same three tokens more than without."""
    folder = save_family(MISTRAL, tmp_path)
    counter = LocalTokenizer(folder, name="hf:mistral")
    (folder / "tokenizer.json").write_text(changed(MISTRAL, normalizer=None))
    plain = LocalTokenizer(folder, name="hf:plain")
    pieces = ['"handle"', ":", '"handle"']

    assert JoinedCounter(counter).count(pieces) == plain.count("".join(pieces)) + 1
