import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.vocabulary import Vocabulary, write_terms


def vocabulary(*terms: str) -> Vocabulary:
    text, offsets = write_terms(terms)
    return Vocabulary(text=text, offsets=offsets)


def test_terms_are_numbered_in_code_point_order() -> None:
    assert dict(vocabulary("", "a", "ab", "b", "ä", "\uffff", "\U00010000")) == {
        "": 0,
        "a": 1,
        "ab": 2,
        "b": 3,
        "ä": 4,
        "\uffff": 5,
        "\U00010000": 6,
    }


@pytest.mark.parametrize("term", ["", "0", "aa", "abc", "c", "\ud800", "\U0010ffff"])
def test_a_term_that_is_not_there_is_absent(term: str) -> None:
    held = vocabulary("a", "ab", "b")

    assert term not in held
    assert held.get(term) is None


def test_an_empty_vocabulary_holds_nothing() -> None:
    assert dict(vocabulary()) == {}
    assert "a" not in vocabulary()


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=30))
def test_a_vocabulary_is_the_dictionary_of_its_sorted_terms(terms: set[str]) -> None:
    ascending = sorted(terms)

    assert dict(vocabulary(*ascending)) == {term: number for number, term in enumerate(ascending)}


@pytest.mark.parametrize("size", [1, 2, 3, 11, 12, 64, 65])
def test_every_look_up_takes_as_many_steps_whether_or_not_the_term_is_there(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6: whose text holds a term must not show in the time that looking takes."""
    terms = [f"t{number:02}" for number in range(size)]
    held = vocabulary(*terms)
    read: list[int] = []
    term_of = Vocabulary._term

    def counted(self: Vocabulary, number: int) -> bytes:
        read.append(number)
        return term_of(self, number)

    monkeypatch.setattr(Vocabulary, "_term", counted)
    steps = set()
    for asked in (*terms, *(f"{term}x" for term in terms), "a", "z"):
        read.clear()
        held.get(asked)
        steps.add(len(read))
    assert len(steps) == 1
