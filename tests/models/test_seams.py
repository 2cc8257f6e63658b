"""For which tokenizers counts add at seams, and that nothing is claimed for the others."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers

from models.seams import SEAM, counts_add_at_seams, crosses_a_seam, outermost_seams
from tests.models.chat_families import CHATML, DEEP, FAMILIES, GEMMA, MISTRAL, Family, changed, tokenizer_file

Record = dict[str, Any]


def record_of(family: Family) -> Record:
    record: Record = json.loads(tokenizer_file(family))
    return record


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_layouts_of_common_models_add_at_seams(family: Family) -> None:
    assert counts_add_at_seams(record_of(family))


@pytest.mark.parametrize(
    ("text", "seams"),
    [('a"b', [1]), ('"a":"b"', [2, 6]), ("a\\n", [1]), ('é"', []), ("a'", []), ('a "', []), ('""', []), ("", [])],
)
def test_a_seam_lies_between_a_letter_or_digit_and_a_quote_or_backslash(text: str, seams: list[int]) -> None:
    assert [seam.start() for seam in SEAM.finditer(text)] == seams


def model(record: Record, **options: object) -> None:
    record["model"].update(options)


def without(character: str) -> Callable[[Record], None]:
    return lambda record: record["model"]["vocab"].pop(character)


def adding(token: str) -> Callable[[Record], None]:
    return lambda record: record["added_tokens"].append({"content": token})


def splitting(**step: object) -> Callable[[Record], None]:
    return lambda record: record.update(
        pre_tokenizer={"type": "Split", "invert": False, "behavior": "Isolated", **step}
    )


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda record: model(record, vocab={**record["model"]["vocab"], 'e"': 9}), id="a token crosses"),
        pytest.param(lambda record: model(record, type="Unigram"), id="a unigram model"),
        pytest.param(lambda record: model(record, type="WordLevel"), id="whole words"),
        pytest.param(lambda record: model(record, type="WordPiece"), id="WordPiece without its splitter"),
        pytest.param(lambda record: model(record, dropout=0.1), id="dropout"),
        pytest.param(lambda record: model(record, end_of_word_suffix="</w>"), id="an end-of-word suffix"),
        pytest.param(lambda record: model(record, vocab=None), id="no vocabulary"),
        pytest.param(lambda record: record.pop("model"), id="no model"),
        pytest.param(without("7"), id="an unknown digit"),
        pytest.param(without('"'), id="an unknown quote"),
        pytest.param(adding('say"'), id="an added token with a quote"),
        pytest.param(adding("back\\slash"), id="an added token with a backslash"),
        pytest.param(adding("<tool>x"), id="an added token that ends in a letter"),
        pytest.param(adding("<tool＂>"), id="an added token with a quote in NFKC"),
        pytest.param(splitting(pattern={"Regex": r"(?<=a)\w+"}), id="an unknown pattern"),
        pytest.param(splitting(pattern={"String": 'a"'}), id="a literal at a seam"),
        pytest.param(lambda record: record.update(pre_tokenizer={"type": "UnicodeScripts"}), id="another splitter"),
        pytest.param(lambda record: record.update(normalizer={"type": "Precompiled"}), id="another normalizer"),
        pytest.param(
            lambda record: record.update(normalizer={"type": "Replace", "pattern": {"String": '"'}, "content": "''"}),
            id="a normalizer that changes quotes",
        ),
        pytest.param(lambda record: record.update(normalizer={"type": "Sequence", "normalizers": 1}), id="no steps"),
        pytest.param(lambda record: record.update(pre_tokenizer=[]), id="no step"),
    ],
)
def test_where_it_is_not_proved_nothing_is_claimed(spoil: Callable[[Record], object]) -> None:
    record = record_of(CHATML)
    spoil(record)

    assert not counts_add_at_seams(record)


def test_a_token_that_crosses_a_seam_makes_counts_differ() -> None:
    """Why the vocabulary is looked at: with a merge of `e` and `"`, the parts have one token more than the whole."""
    record = record_of(MISTRAL)
    record["model"]["vocab"]['e"'] = 5000
    record["model"]["merges"].insert(0, ["e", '"'])
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps({**record, "padding": None, "truncation": None}))

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert count('handle":') != count("handle") + count('e":') - count("e")
    assert crosses_a_seam(record["model"]["vocab"])


@pytest.mark.parametrize("family", [DEEP, GEMMA], ids=lambda family: family.name)
def test_a_long_run_of_digits_before_a_seam_is_grouped_from_its_own_start(family: Family) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(changed(family, padding=None, truncation=None))

    for digits in ("1", "12", "123", "1234", "12345"):
        whole = tokenizer.encode(f'{digits}"1234', add_special_tokens=False).tokens
        left = tokenizer.encode(digits, add_special_tokens=False).tokens
        assert whole[: len(left)] == left


def test_the_outermost_seams_are_the_first_and_the_last_of_all() -> None:
    draw = random.Random(17)
    for _ in range(2000):
        text = "".join(draw.choices('ab9"\\ .é{', k=draw.randrange(14)))
        places = [seam.start() for seam in SEAM.finditer(text)]

        assert outermost_seams(text) == ((places[0], places[-1]) if places else None), text
