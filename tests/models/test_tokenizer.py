from pathlib import Path

import pytest
import tokenizers

from models.encoder import Encoder
from models.errors import NotText
from models.folder import open_folder
from models.registry import DEFAULT_ENCODER, find_encoder
from models.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def file() -> Path:
    return open_folder(find_encoder(DEFAULT_ENCODER, folder=None)).tokenizer_file


@pytest.fixture(scope="module")
def tokenizer(file: Path) -> Tokenizer:
    return Tokenizer(file)


def test_the_files_own_truncation_and_padding_are_switched_off(file: Path, tokenizer: Tokenizer) -> None:
    """R23: as it ships, everything has 128 tokens."""
    shipped = tokenizers.Tokenizer.from_file(str(file))

    assert len(shipped.encode("door").ids) == len(shipped.encode("door " * 300).ids) == 128
    assert (tokenizer.count("door"), tokenizer.count("door " * 300)) == (1, 300)


def test_a_row_is_the_published_ids_with_special_tokens(tokenizer: Tokenizer) -> None:
    """[CLS] 101, hello 7592, world 2088, [SEP] 102 of BERT's vocabulary."""
    assert tokenizer.row("Hello world").ids == [101, 7592, 2088, 102]
    assert tokenizer.row("").ids == [101, 102]
    assert tokenizer.special_tokens == 2


def test_offsets_are_code_points_and_leave_special_tokens_out(tokenizer: Tokenizer) -> None:
    text = "héllo 日本 \U0001f600 door"

    offsets = tokenizer.offsets(text)
    assert [text[start:end] for start, end in offsets] == ["héllo", "日", "本", "\U0001f600", "door"]
    assert len(offsets) == tokenizer.count(text)


def test_a_long_text_has_the_tokens_and_offsets_of_its_parts(tokenizer: Tokenizer) -> None:
    """It takes another way through the library, on which other threads go on."""
    part, times = "héllo 日本 door\n", 500
    alone = tokenizer.offsets(part)

    expected = [(first + at, last + at) for at in range(0, times * len(part), len(part)) for first, last in alone]
    assert list(tokenizer.offsets(part * times)) == expected
    assert tokenizer.row(part * times).ids == [101, *(tokenizer.row(part).ids[1:-1] * times), 102]


def test_windows_hold_every_token_once_in_order(tokenizer: Tokenizer) -> None:
    text = " ".join(f"number {place}" for place in range(40))
    whole = tokenizer.row(text).ids[1:-1]

    windows = tokenizer.windows(text, window=16, most=99)
    assert [token for row in windows.rows for token in row.ids[1:-1]] == whole
    assert all(len(row.ids) <= 16 and (row.ids[0], row.ids[-1]) == (101, 102) for row in windows.rows)
    assert (windows.seen, windows.total) == (len(whole), len(whole))


def test_what_does_not_fit_the_windows_allowed_is_counted(tokenizer: Tokenizer) -> None:
    """R14."""
    windows = tokenizer.windows("door " * 40, window=16, most=2)

    assert len(windows.rows) == 2
    assert (windows.seen, windows.total) == (28, 40)


def test_each_window_of_a_pair_starts_with_the_query_and_marks_the_text(tokenizer: Tokenizer) -> None:
    hello, door = 7592, tokenizer.row("door").ids[1]

    pairs = tokenizer.pair_windows("hello hello hello", "door " * 14, window=16, query_most=2, most=9)
    assert [row.ids for row in pairs.rows] == [
        [101, hello, hello, 102, *[door] * 11, 102],
        [101, hello, hello, 102, *[door] * 3, 102],
    ]
    assert pairs.rows[1].types == [0, 0, 0, 0, 1, 1, 1, 1]
    assert (pairs.seen, pairs.total) == (14, 14)


def test_a_lone_surrogate_is_not_text(tokenizer: Tokenizer) -> None:
    with pytest.raises(NotText):
        tokenizer.count("a\ud800b")


def test_the_vocabulary_holds_no_special_tokens(tokenizer: Tokenizer) -> None:
    vocabulary = tokenizer.vocabulary()

    assert len(vocabulary) == 30522 - 5
    assert not {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} & set(vocabulary)


def test_an_encoder_counts_with_its_own_tokenizer(minilm: Encoder) -> None:
    assert minilm.counter.count("Hello world") == 2
    assert minilm.document_window == 256
