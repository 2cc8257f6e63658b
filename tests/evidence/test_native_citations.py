"""Tests of `evidence/native_citations.py`: R34."""

from typing import Any

import pytest

from evidence.adapters import Adapter
from evidence.citations import citation_handle
from evidence.errors import InvalidRequest
from evidence.native_citations import (
    MAX_CITATIONS,
    MAX_QUOTE,
    citations_in_text,
    citations_of,
    citations_of_anthropic,
    citations_of_openai,
    stored_text,
)
from evidence.occurrence import Occurrence
from evidence.sent_text import SentText, sent_text
from tests.builders import revision, unit

TEXT = 'Files with a <tag> or [link] are "refused".\nOthers pass.'
PASSAGE = unit(revision("UP").key, TEXT, start=100)
HANDLE = citation_handle(PASSAGE)
OTHER = "EV-0123456789ABCDEF"
PACKET: dict[str, Any] = {
    "evidence": [
        {"handle": OTHER, "span": [0, 5], "text": "Other"},
        {"handle": HANDLE, "span": [100, 156], "text": TEXT},
    ]
}
SENT = r"Files with a \u003ctag> or \u005blink] are \"refused\".\nOthers pass."


def message(*citations: dict[str, Any], text: str = "Tags are refused.") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text, "citations": list(citations)}]}


def search_result(**fields: Any) -> dict[str, Any]:
    located = {"search_result_index": 1, "start_block_index": 0, "end_block_index": 1, "title": "Uploads"}
    return {"type": "search_result_location", "source": HANDLE, "cited_text": "Others pass.", **located, **fields}


def characters(start: int, end: int, **fields: Any) -> dict[str, Any]:
    return {
        "type": "char_location",
        "document_index": 1,
        "document_title": None,
        "start_char_index": start,
        "end_char_index": end,
        "cited_text": SENT[start:end],
        **fields,
    }


def handles(found: list[Occurrence]) -> list[str]:
    return [occurrence.handle for occurrence in found]


def test_every_handle_in_a_text_is_an_occurrence_whatever_stands_around_it() -> None:
    text = f"[{HANDLE}] ({OTHER}), [[{HANDLE}]], [{HANDLE}, {OTHER}] and [see]({OTHER})."

    assert handles(citations_in_text(text)) == [HANDLE, OTHER, HANDLE, HANDLE, OTHER, OTHER]


@pytest.mark.parametrize("made_up", ["EV-99", "EV-A7-SEC3", "ev-0123456789abcdef", "EV-0123456789ABCDEFG"])
def test_what_only_looks_like_a_handle_is_kept_as_it_stands(made_up: str) -> None:
    """A valid citation beside it must not hide it."""
    assert handles(citations_in_text(f"Limits [{HANDLE}] hold [{made_up}].")) == [HANDLE, made_up]


@pytest.mark.parametrize("marks", ['""', "\u201c\u201d", "\u201e\u201c", "\u00ab\u00bb"])
def test_a_quotation_right_before_a_bracket_is_its_quote(marks: str) -> None:
    found = citations_in_text(f'He says "no", and {marks[0]}25 MB{marks[1]} [{HANDLE}].')

    assert found == [Occurrence(handle=HANDLE, quote="25 MB")]


@pytest.mark.parametrize("text", [f'"25 MB", says [{HANDLE}]', f'25 MB" [{HANDLE}]', f'"25 MB" {HANDLE}'])
def test_words_that_no_quotation_ties_to_the_handle_are_no_quote(text: str) -> None:
    assert citations_in_text(text) == [Occurrence(handle=HANDLE)]


def test_a_bracket_with_two_handles_does_not_say_which_one_is_quoted() -> None:
    assert [found.quote for found in citations_in_text(f'"25 MB" [{HANDLE}, {OTHER}]')] == [None, None]


def test_a_quotation_that_begins_too_far_back_is_none() -> None:
    assert citations_in_text(f'"{"a" * MAX_QUOTE}" [{HANDLE}]')[0].quote is None
    assert citations_in_text(f'"{"a" * (MAX_QUOTE - 3)}" [{HANDLE}]')[0].quote == "a" * (MAX_QUOTE - 3)


def test_a_search_result_location_names_handle_quote_and_claim_and_no_offsets() -> None:
    found = citations_of_anthropic(message(search_result()), packet=PACKET)

    assert found == [Occurrence(handle=HANDLE, quote="Others pass.", claim="Tags are refused.")]


def test_the_escapes_of_a_native_quote_are_undone() -> None:
    (found,) = citations_of_anthropic(message(search_result(cited_text=SENT)), packet=PACKET)

    assert found.quote == TEXT


def test_a_native_quote_that_was_cut_inside_an_escape_stays_as_it_came() -> None:
    (found,) = citations_of_anthropic(message(search_result(cited_text=r"03ctag> or \u005")), packet=PACKET)

    assert found.quote == r"03ctag> or \u005"


def test_a_location_by_characters_becomes_a_span_of_the_stored_text() -> None:
    start, end = SENT.index(r"\u003ctag>"), SENT.index(" or ")

    (found,) = citations_of_anthropic(message(characters(start, end)), packet=PACKET)

    at = 100 + TEXT.index("<tag>")
    assert (found.handle, found.quote, found.span) == (HANDLE, "<tag>", (at, at + 5))


def test_a_location_whose_numbers_do_not_hold_its_words_has_no_offsets() -> None:
    (found,) = citations_of_anthropic(message(characters(0, 5, cited_text="Other")), packet=PACKET)

    assert (found.quote, found.span) == ("Other", None)


@pytest.mark.parametrize("place", [(5, 5), (-3, 5), (9, 4), (10_000, 10_001)])
def test_a_location_that_is_no_place_has_no_offsets(place: tuple[int, int]) -> None:
    (found,) = citations_of_anthropic(message(characters(*place, cited_text="")), packet=PACKET)

    assert found.span is None


def test_a_document_is_known_by_its_title_before_its_number() -> None:
    (found,) = citations_of_anthropic(message(characters(0, 5, document_title=OTHER, document_index=1)), packet=PACKET)

    assert found.handle == OTHER


@pytest.mark.parametrize("index", [2, -1, None, True, "1"])
def test_a_document_that_was_not_sent_is_no_citation_of_one_that_was(index: object) -> None:
    (found,) = citations_of_anthropic(message(characters(0, 5, document_index=index)), packet=PACKET)

    assert found.handle == ""


def test_a_native_citation_of_something_else_keeps_what_it_names() -> None:
    web = {"type": "web_search_result_location", "url": "https://example.org", "cited_text": "x", "title": "Example"}

    assert handles(citations_of_anthropic(message(web), packet=PACKET)) == ["https://example.org"]


def test_a_source_that_is_not_in_the_packet_is_not_replaced_by_the_one_at_its_number() -> None:
    found = citations_of_anthropic(message(search_result(source="EV-99")), packet=PACKET)

    assert handles(found) == ["EV-99"]


def test_handles_that_a_model_wrote_into_the_text_count_beside_native_citations() -> None:
    found = citations_of_anthropic(message(search_result(), text=f"Refused [{OTHER}]."), packet=PACKET)

    assert handles(found) == [HANDLE, OTHER]


def test_blocks_without_text_cite_nothing() -> None:
    thinking: dict[str, Any] = {"content": [{"type": "thinking", "thinking": HANDLE}, {"type": "text", "text": "No."}]}

    assert citations_of_anthropic(thinking, packet=PACKET) == []


CHAT = {"role": "assistant", "content": f"Refused [{HANDLE}].", "annotations": []}


@pytest.mark.parametrize(
    "answer",
    [
        CHAT,
        {"choices": [{"message": CHAT}]},
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": f"Refused [{HANDLE}]."}]}]},
    ],
    ids=["message", "chat completion", "response"],
)
def test_each_shape_of_an_openai_answer_is_read(answer: Any) -> None:
    assert handles(citations_of_openai(answer)) == [HANDLE]


@pytest.mark.parametrize(
    "annotation",
    [
        {"type": "file_citation", "index": 3, "file_id": "file-7", "filename": f"{HANDLE}.txt"},
        {"type": "url_citation", "start_index": 0, "end_index": 7, "url": f"https://example.org/{HANDLE}", "title": ""},
        {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 7, "title": HANDLE, "url": "x"}},
    ],
    ids=["file", "url", "nested"],
)
def test_an_annotation_names_its_handle_and_its_offsets_into_the_answer_are_not_taken_for_the_source(
    annotation: dict[str, Any],
) -> None:
    found = citations_of_openai({"content": "Refused.", "annotations": [annotation]})

    assert found == [Occurrence(handle=HANDLE)]


def test_the_quote_of_a_file_citation_is_kept() -> None:
    annotation = {"type": "file_citation", "file_citation": {"file_id": HANDLE, "quote": "Others pass."}}

    assert citations_of_openai({"content": "", "annotations": [annotation]}) == [
        Occurrence(handle=HANDLE, quote="Others pass.")
    ]


def test_an_annotation_without_a_handle_keeps_what_it_names() -> None:
    annotations = [{"type": "file_citation", "file_id": "file-7"}, {"type": "file_path"}]

    assert handles(citations_of_openai({"content": "", "annotations": annotations})) == ["file-7", ""]


def test_a_message_that_only_calls_a_tool_cites_nothing() -> None:
    assert citations_of_openai({"role": "assistant", "content": None, "tool_calls": [{}]}) == []


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ([], "$.answer"),
        ({"content": "plain"}, "$.answer.content"),
        ({"content": [7]}, "$.answer.content[0]"),
        ({"content": [{"type": "text", "text": None}]}, "$.answer.content[0].text"),
        ({"content": [{"type": "text", "text": "", "citations": 7}]}, "$.answer.content[0].citations"),
    ],
)
def test_an_answer_of_another_shape_is_refused_with_its_place(answer: Any, path: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        citations_of_anthropic(answer, packet=PACKET)

    assert refused.value.path == path


@pytest.mark.parametrize("adapter", list(Adapter))
def test_an_answer_that_is_a_text_stands_for_itself(adapter: Adapter) -> None:
    assert handles(citations_of(adapter, f"See [{HANDLE}].", packet=PACKET)) == [HANDLE]


def test_the_adapter_that_is_no_provider_has_no_other_shape() -> None:
    with pytest.raises(InvalidRequest, match="must be a text"):
        citations_of(Adapter.JSON, {"content": []}, packet=PACKET)


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert stored_text(r"\ud83d\ude00") == "\U0001f600"
    assert stored_text(r"\ud83d") is None


class Watched(dict[str, Any]):
    """An item of a packet that counts how often it is looked at."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.looks += 1
        return super().get(key, default)


def looks_at_each_item(citations: int) -> int:
    items = [Watched(handle=f"EV-{place}", span=[0, 5], text="Other") for place in range(50)]
    cited = message(*[search_result(source="EV-99")] * citations)
    citations_of_anthropic(cited, packet={"evidence": items})
    return sum(item.looks for item in items)


def test_the_packet_is_read_as_often_for_many_citations_as_for_one() -> None:
    assert looks_at_each_item(MAX_CITATIONS) == looks_at_each_item(1) == 50


def test_a_passage_is_written_as_it_was_sent_once_however_often_it_is_cited(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def counting(text: str) -> SentText:
        written.append(text)
        return sent_text(text)

    monkeypatch.setattr("evidence.native_citations.sent_text", counting)
    found = citations_of_anthropic(message(*[characters(0, 5)] * 100, *[search_result()] * 100), packet=PACKET)

    assert len(found) == 200
    assert found[0].span == (100, 105)
    assert written == [TEXT]


def test_no_citation_by_characters_writes_no_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("evidence.native_citations.sent_text")

    assert len(citations_of_anthropic(message(search_result()), packet=PACKET)) == 1


@pytest.mark.parametrize(
    ("adapter", "answer", "path"),
    [
        (Adapter.JSON, "EV-1 " * 257, "$.answer"),
        (Adapter.ANTHROPIC, message(*[{}] * 257), "$.answer.content[0].citations"),
        (Adapter.ANTHROPIC, message(*[{}] * 256, text="[EV-1]"), "$.answer.content[0].text"),
        (Adapter.OPENAI, {"content": "EV-1 " * 257}, "$.answer"),
        (
            Adapter.OPENAI,
            {"content": [{"type": "text", "text": "", "annotations": [{}] * 257}]},
            "$.answer.content[0].annotations",
        ),
    ],
)
def test_one_citation_too_many_is_refused_where_it_stands_with_the_number_allowed(
    adapter: Adapter, answer: object, path: str
) -> None:
    with pytest.raises(InvalidRequest, match="at most 256 are allowed") as refused:
        citations_of(adapter, answer, packet=PACKET)

    assert refused.value.path == path


def test_as_many_citations_as_are_allowed_are_read() -> None:
    assert len(citations_of(Adapter.JSON, "EV-1 " * 256, packet={})) == 256
    assert len(citations_of(Adapter.ANTHROPIC, message(*[{}] * 256), packet=PACKET)) == 256
