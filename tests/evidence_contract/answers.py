"""What does the answer to a packet request say?

Short ways to ask for a packet and to read its body, so that a test names only what it is about.
"""

from collections.abc import Iterator
from typing import Any

from evidence.access import Principal
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest

Answer = dict[str, Any]


def ask(pipeline: Pipeline, who: Principal, query: str, **body: Any) -> Answer:
    """The body of `POST /v1/packets` for this query and these further fields."""
    return dict(pipeline.packet(parse({"query": query, **body}, PacketRequest), who))


def needs(role: str, claim: str, value: str | None = None, *, mandatory: bool = True) -> dict[str, Any]:
    """A requirement by claim key."""
    return {"role": role, "match": {"claim": claim, "value": value}, "mandatory": mandatory}


def sources(answer: Answer) -> list[str]:
    """The source of each passage of the packet, in the packet's order."""
    return [item["source_id"] for item in answer["packet"]["evidence"]]


def item_of(answer: Answer, source_id: str) -> dict[str, Any]:
    """The one passage of that source."""
    (item,) = [item for item in answer["packet"]["evidence"] if item["source_id"] == source_id]
    return dict(item)


def role_states(answer: Answer) -> dict[str, str]:
    """Role -> state, as the manifest tells it, which a refusal has too."""
    return {role["role"]: role["state"] for role in answer["manifest"]["coverage"]["roles"]}


def outcome(answer: Answer) -> tuple[str, str, str]:
    """State, behaviour, disposition."""
    return answer["state"], answer["behaviour"], answer["disposition"]


def left_out(answer: Answer, reason: str) -> list[dict[str, Any]]:
    """The omissions with this reason, in the manifest's order."""
    return [item for item in answer["manifest"]["omissions"]["items"] if item["reason"] == reason]


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every string in a JSON value with its path, list positions as `[]`; keys are no values."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from strings(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from strings(part, f"{path}[]")
