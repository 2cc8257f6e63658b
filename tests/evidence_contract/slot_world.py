"""Over which documents, and how, are the slots of a model's input asked for?"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import server.query_classes
from evidence.access import Principal
from server.pipeline import Pipeline
from tests.evidence_contract.answers import Answer, ask
from tests.worlds import principal, record

BLUE = principal("blue")
RED = principal("red")
TOKENIZER = "o200k_base"
BUDGETS = {  # the default class, in tokens
    "system-policy": 700,
    "task": 400,
    "conversation": 800,
    "retrieved-evidence": 6000,
    "tool-results": 1200,
    "caller-turn": 300,
}
TRUST = {
    "system-policy": "trusted",
    "task": "trusted",
    "conversation": "semi-trusted",
    "retrieved-evidence": "untrusted",
    "tool-results": "untrusted",
    "caller-turn": "trusted-as-intent",
}
SHIPPED = Path(server.query_classes.__file__).with_name("query_classes")
NUMBERS = " ".join(str(number) for number in range(1_000_001, 1_000_031))  # several tokens a term


def records() -> list[dict[str, Any]]:
    sentence = "The portal takes files of many kinds and keeps each of them for thirty days. "
    many = [record(f"S-{number:02}", f"{sentence * 3}Sheet {number}.", tenant="blue") for number in range(80)]
    stale = record("OLD", "Files were once kept for ten days.", tenant="blue", status="superseded")
    rare = record("ZEBRA", "A zebra crossed the yard.", tenant="blue")
    return [*many, stale, rare, record("R", "Red keeps files for a day.", tenant="red")]


def answer(pipeline: Pipeline, query: str = "how long are files kept", *, who: Principal = BLUE, **more: Any) -> Answer:
    return ask(pipeline, who, query, **{"adapter": "openai", "budget": {"tokenizer": TOKENIZER}, **more})


def slots(found: Answer) -> dict[str, dict[str, Any]]:
    return {slot["slot"]: slot for slot in found["rendered"]["slots"]}


def contents(found: Answer) -> dict[str, dict[str, Any]]:
    """What each data slot holds, as the model reads it."""
    said = [json.loads(message["content"]) for message in json.loads(found["rendered"]["body"])["messages"][2:]]
    return {content["slot"]: content for content in said}


def said_by_turns(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def table(rows: int) -> list[dict[str, Any]]:
    return [{"tool": "ledger", "columns": ["day", "files"], "rows": [[f"d{n}", n * 10] for n in range(rows)]}]


def largest_that_fits(slot: str, grown: Callable[[int], Answer], most: int) -> int:
    """How far the content grows before the slot gets a notice."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if slots(grown(middle))[slot]["notice"] is None:
            low = middle
        else:
            high = middle
    return low
