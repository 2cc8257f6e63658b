"""The blocks that the adapter `anthropic` writes (R26, R34)."""

import json
from typing import Any

import pytest

from evidence.adapters import Adapter
from evidence.canonical import Json
from evidence.errors import UnreadableBody
from evidence.prompt import Prompt
from evidence.tool_results import ToolResult
from tests.builders import EXPLANATORY
from tests.evidence.prompts import prompt, renderer

TABLE = ToolResult(tool="orders", columns=("n",), rows=((1,),))
ONE, OTHER = "EV-0123456789ABCDEF", "EV-ZZZZZZZZZZZZZZZZ"
PACKET: dict[str, Json] = {
    "schema": "s",
    "evidence": [
        {"handle": ONE, "title": "Limits <b>", "text": "[at most] 25"},
        {"handle": OTHER, "title": "", "text": "none"},
    ],
}


def body(asked: Prompt | None = None) -> dict[str, Any]:
    """What an Anthropic client would send."""
    read: dict[str, Any] = json.loads(renderer(Adapter.ANTHROPIC).write(PACKET, prompt=asked or prompt()))
    return read


def blocks(read: dict[str, Any]) -> list[dict[str, Any]]:
    (message,) = read["messages"]
    assert message["role"] == "user"
    found: list[dict[str, Any]] = message["content"]
    return found


def test_the_policy_and_the_task_are_the_system_blocks() -> None:
    policy, task = body()["system"]

    assert policy == {"type": "text", "text": EXPLANATORY.policy.text}
    assert task["text"].startswith(EXPLANATORY.task)


def test_each_unit_is_a_search_result_whose_source_is_its_handle() -> None:
    results = [block for block in blocks(body()) if block["type"] == "search_result"]

    assert results == [
        {
            "type": "search_result",
            "source": ONE,
            "title": "Limits \\u003cb>",
            "content": [{"type": "text", "text": "\\u005bat most] 25"}],
            "citations": {"enabled": True},
        },
        {
            "type": "search_result",
            "source": OTHER,
            "title": "",
            "content": [{"type": "text", "text": "none"}],
            "citations": {"enabled": True},
        },
    ]


def test_the_packet_without_its_passages_stands_before_them() -> None:
    packet = json.loads(blocks(body())[0]["text"])

    assert packet["slot"] == "retrieved-evidence"
    assert packet["packet"]["evidence"] == [{"handle": ONE, "title": "Limits <b>"}, {"handle": OTHER, "title": ""}]


def test_blocks_stand_in_slot_order() -> None:
    found = blocks(body(prompt(turns=[("user", "hello")], tools=[TABLE])))

    kinds = [json.loads(block["text"])["slot"] if block["type"] == "text" else block["source"] for block in found]
    assert kinds == ["conversation", "retrieved-evidence", ONE, OTHER, "tool-results", "caller-turn"]


@pytest.mark.parametrize(("field", "value"), [("source", OTHER), ("title", "Other"), ("type", "document")])
def test_a_body_whose_search_results_are_not_the_units_of_its_packet_is_unreadable(field: str, value: str) -> None:
    read = body()
    blocks(read)[1][field] = value

    with pytest.raises(UnreadableBody):
        renderer(Adapter.ANTHROPIC).parse(json.dumps(read))


def test_a_body_that_lacks_a_search_result_is_unreadable() -> None:
    read = body()
    del blocks(read)[2]

    with pytest.raises(UnreadableBody):
        renderer(Adapter.ANTHROPIC).parse(json.dumps(read))
