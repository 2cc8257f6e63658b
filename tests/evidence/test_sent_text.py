"""Which place of a stored text does a place of its sent form stand for?"""

from hypothesis import given
from hypothesis import strategies as st

from evidence.render import quoted
from evidence.sent_text import sent_text


def test_a_place_behind_an_escape_is_that_of_the_character_which_it_stands_for() -> None:
    r"""Sent as `\u003cb>\n\"`: the stored text is five characters long."""
    sent = sent_text('<b>\n"')

    assert sent.length == 12
    assert [sent.stored_place(at) for at in (0, 6, 7, 8, 10, 12)] == [0, 1, 2, 3, 4, 5]


def test_no_place_lies_inside_an_escape_nor_between_the_halves_of_a_pair() -> None:
    r"""U+E0041 is a tag, sent as the pair `\udb40\udc41`."""
    sent = sent_text("a\U000e0041b")

    assert sent.length == 14
    assert [sent.stored_place(at) for at in (1, 13, 14)] == [1, 2, 3]
    assert {sent.stored_place(at) for at in range(2, 13)} == {None}


@given(st.text(alphabet=st.sampled_from('ab"\\<[\n\x00u003cd\U000e0041\U0001f600\u200b'), max_size=20))
def test_each_boundary_between_characters_is_found_and_nothing_else(text: str) -> None:
    """Against the parts of the text, each quoted by itself."""
    sent = sent_text(text)
    boundaries = {len(quoted(text[:place])): place for place in range(len(text) + 1)}

    assert sent.length == len(quoted(text))
    assert {at: sent.stored_place(at) for at in range(sent.length + 1)} == {
        at: boundaries.get(at) for at in range(sent.length + 1)
    }
