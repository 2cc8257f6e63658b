"""What of a conversation stays, folds or is left out (R24)."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.canonical import Json
from evidence.conversation import ExtractiveSummarizer, FoldedConversation, Role, Turn, fold, handles_of, number_turns
from evidence.render import render_json

HANDLE = "EV-0123456789ABCDEF"
OTHER = "EV-ZZZZZZZZZZZZZZZZ"


def talk(count: int, *, words: str = "so it is. And more.") -> tuple[Turn, ...]:
    return number_turns([("user" if turn % 2 else "assistant", f"{turn} {words}") for turn in range(1, count + 1)])


def length(content: Mapping[str, Json]) -> int:
    return len(render_json(content))


def folded(
    turns: Sequence[Turn], *, keep: int = 6, budget: int | None = None, unusable: frozenset[str] = frozenset()
) -> FoldedConversation:
    return fold(
        turns,
        keep=keep,
        budget_tokens=budget,
        measure=None if budget is None else length,
        summarizer=ExtractiveSummarizer(),
        unusable=unusable,
    )


def ids(turns: Sequence[Turn]) -> list[str]:
    return [turn.id for turn in turns]


def test_six_turns_stay_as_they_are_and_a_seventh_folds_the_oldest() -> None:
    six, seven = folded(talk(6)), folded(talk(7))

    assert (ids(six.turns), six.summary, six.notice) == (["T-1", "T-2", "T-3", "T-4", "T-5", "T-6"], None, None)
    assert ids(seven.turns) == ["T-2", "T-3", "T-4", "T-5", "T-6", "T-7"]
    assert seven.summary is not None
    assert ids(seven.summary.turns) == ["T-1"]


def test_the_summary_has_an_id_of_its_own_points_at_its_turns_and_states_their_count() -> None:
    summary = folded(talk(9)).summary

    assert summary is not None
    assert summary.content() == {
        "id": summary.id,
        "first": "T-1",
        "last": "T-3",
        "turns": 3,
        "text": "user: 1 so it is.\nassistant: 2 so it is.\nuser: 3 so it is.",
    }
    assert summary.record()["turns"] == ["T-1", "T-2", "T-3"]
    assert folded(talk(9)).notice == "3 of 9 turns are folded into a summary"


def test_another_turn_in_it_makes_it_another_summary() -> None:
    """The id is a digest of its turns and its text."""
    same, one, other = folded(talk(9)), folded(talk(9)), folded(talk(10))

    assert same.summary is not None
    assert one.summary is not None
    assert other.summary is not None
    assert same.summary.id == one.summary.id
    assert len({one.summary.id, other.summary.id}) == 2


def test_at_exactly_its_budget_a_conversation_stands_whole_and_one_token_less_shortens_the_summary_first() -> None:
    turns = talk(9)
    whole = folded(turns)
    tokens = length(whole.content())

    exact, less = folded(turns, budget=tokens), folded(turns, budget=tokens - 1)
    assert exact == whole
    assert less.turns == whole.turns
    assert less.summary is not None
    assert less.summary.text == "assistant: 2 so it is.\nuser: 3 so it is."
    assert ids(less.summary.turns) == ["T-1", "T-2", "T-3"]


def test_where_a_summary_without_text_is_too_long_the_oldest_turn_that_was_kept_folds_too() -> None:
    turns = talk(9)
    bare = length(fold_with_text("", turns))

    exact, less = folded(turns, budget=bare), folded(turns, budget=bare - 1)
    assert ids(exact.turns) == ids(turns[3:])
    assert exact.summary is not None
    assert exact.summary.text == ""
    assert ids(less.turns) == ids(turns[4:])


def fold_with_text(text: str, turns: Sequence[Turn]) -> dict[str, Json]:
    """The content of the default folding of nine turns, with another text in its summary."""
    content = folded(turns).content()
    summary = content["summary"]
    assert isinstance(summary, dict)
    return {**content, "summary": {**summary, "text": text}}


def test_the_lowest_form_is_a_summary_without_text_and_is_given_even_where_it_does_not_fit() -> None:
    lowest = folded(talk(9), budget=1)

    assert lowest.turns == ()
    assert lowest.summary is not None
    assert (lowest.summary.text, len(lowest.summary.turns)) == ("", 9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.integers(1, 1500))
def test_what_is_folded_fits_or_is_in_its_lowest_form_and_every_turn_is_somewhere(
    texts: list[str], budget: int
) -> None:
    turns = number_turns([("user", text) for text in texts])

    got = folded(turns, budget=budget)
    older = () if got.summary is None else got.summary.turns
    assert (*older, *got.turns) == turns
    assert length(got.content()) <= budget or (got.turns == () and got.summary is not None and got.summary.text == "")


def test_a_turn_that_cites_what_may_not_be_used_is_left_out_of_the_turns_and_that_is_reported() -> None:
    turns = number_turns([("user", "hello"), ("assistant", f"it is 25, see {HANDLE}."), ("user", "and now?")])

    got = folded(turns, unusable=frozenset({HANDLE}))
    assert ids(got.turns) == ["T-1", "T-3"]
    assert ids(got.left_out) == ["T-2"]
    assert got.notice == "1 of 3 turns are left out: they cite evidence that may not be used now"
    assert HANDLE not in render_json(got.content())


def test_it_is_left_out_of_the_summary_as_well() -> None:
    later: list[tuple[Role, str]] = [("user", "go on.")] * 7
    turns = number_turns([("assistant", f"The secret is 25, see {HANDLE}."), *later])

    got = folded(turns, unusable=frozenset({HANDLE}))
    assert got.summary is not None
    assert ids(got.summary.turns) == ["T-2"]
    assert "secret" not in render_json(got.content())
    assert got.record()["left_out"] == ["T-1"]


def test_a_turn_that_cites_what_may_still_be_used_stays() -> None:
    turns = number_turns([("assistant", f"see {HANDLE}")])

    assert folded(turns, unusable=frozenset({OTHER})).turns == turns


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"({HANDLE}), {OTHER}", {HANDLE, OTHER}),
        (f"x{HANDLE}9", {HANDLE}),
        ("EV-0123456789ABCDE", set()),
        ("EV-I123456789ABCDEF", set()),
        ("ev-0123456789abcdef", set()),
    ],
)
def test_handles_are_found_wherever_they_stand(text: str, found: set[str]) -> None:
    assert handles_of(number_turns([("user", text)])) == found


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("One. Two.", "user: One."),
        ("no end", "user: no end"),
        ("over\n  two lines! Yes.", "user: over two lines!"),
        ("version 3.5 is out. Good.", "user: version 3.5 is out."),
        ("x" * 300, "user: " + "x" * 199 + "…"),
        ("", "user: "),
    ],
)
def test_the_default_summary_is_the_first_sentence_of_each_turn(content: str, line: str) -> None:
    assert ExtractiveSummarizer().lines(number_turns([("user", content)])) == [line]


def test_what_the_slot_holds_names_its_slot_and_its_trust() -> None:
    content = folded(talk(1)).content()

    assert content["slot"] == "conversation"
    assert content["trust"] == "semi-trusted"
    assert content["turns"] == [{"id": "T-1", "role": "user", "content": "1 so it is. And more."}]
