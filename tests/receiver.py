"""What does the program at the other end of an adapter really get, and is it all that the answer declares?

A scripted stand-in for a model's provider, one for each adapter. It reads the rendered body as that provider's wire
format defines it, with the standard library and none of our renderers, and records what was handed over. `undelivered`
then holds the record against the answer's packet, measures and manifest.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INSTRUCTIONS = ("system-policy", "task")
_OFFER = "Handles that may be cited, and no others:\n"
_CHATML = ("<|im_start|>", "<|im_end|>\n")  # the template that these tests give to an open-weight runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What came through. `slots`: name -> its whole content, in the order of the input; data slots parsed.

    slot_tokens: of the piece of the body that holds each slot; None where tokens cannot be counted.
    passages: each unit as it was handed over, its text decoded. trust: what each data slot says of itself.
    """

    bytes: int
    tokens: int | None
    slots: Mapping[str, Any]
    slot_tokens: Mapping[str, int] | None
    trust: Mapping[str, str]
    packet: Mapping[str, Any]
    passages: Sequence[Mapping[str, Any]]
    citable: Sequence[str] | None  # the handles offered in the task slot; None where there is no such slot

    @property
    def ids(self) -> list[str]:
        return [passage["handle"] for passage in self.passages]

    @property
    def revisions(self) -> list[tuple[str, str, str]]:
        return [(passage["namespace"], passage["source_id"], passage["revision"]) for passage in self.passages]


def receive(adapter: str, body: str, *, count: Callable[[str], int] | None = None, policy: str = "") -> Received:
    """Read `body` as the receiver of `adapter` does. Raises KeyError, ValueError or TypeError for another format.

    count: of the model's tokens. policy: the text of the system policy, where the format does not part it from the
    task.
    """
    instructions, data, pieces = _READERS[adapter](body, policy)
    slots: dict[str, Any] = {**instructions, **{content["slot"]: content for content in data}}
    packet = slots["retrieved-evidence"]["packet"]
    task = instructions.get("task")
    return Received(
        bytes=len(body.encode("utf-8")),
        tokens=None if count is None else count(body),
        slots=slots,
        slot_tokens=None if count is None else {slot: count(piece) for slot, piece in zip(slots, pieces, strict=True)},
        trust={content["slot"]: content["trust"] for content in data},
        packet={name: value for name, value in packet.items() if name != "evidence"},
        passages=packet["evidence"],
        citable=None if task is None else json.loads(task.partition(_OFFER)[2] or "[]"),
    )


def undelivered(answer: Mapping[str, Any], received: Received) -> list[str]:
    """What the answer declares and the receiver did not get, or got otherwise; empty where all came through."""
    packet, rendered, manifest = answer["packet"], answer["rendered"], answer["manifest"]
    evidence = packet["evidence"]
    declared = [slot["slot"] for slot in rendered["slots"]]
    problems = [
        *_differing("ids", [item["handle"] for item in evidence], received.ids),
        *_differing("ids in the manifest", [one["handle"] for one in manifest["inclusions"]], received.ids),
        *_differing(
            "revisions",
            [(item["namespace"], item["source_id"], item["revision"]) for item in evidence],
            received.revisions,
        ),
        *_differing("texts", [item["text"] for item in evidence], [one.get("text") for one in received.passages]),
        *_differing("what stands beside the texts", _without_text(evidence), _without_text(received.passages)),
        *_differing("the packet", {name: packet[name] for name in packet if name != "evidence"}, received.packet),
        *_differing("bytes", rendered["bytes"], received.bytes),
        *_differing("tokens", rendered["tokens"], received.tokens),
        *_differing("slots", sorted(declared), sorted(received.slots)),
        *_differing(
            "trust",
            {slot["slot"]: slot["trust"] for slot in rendered["slots"] if slot["slot"] not in INSTRUCTIONS},
            received.trust,
        ),
    ]
    noted = {name: content["notice"] for name, content in received.slots.items() if "notice" in content}
    problems += _differing(
        "notices", {slot["slot"]: slot["notice"] for slot in rendered["slots"] if slot["slot"] in noted}, noted
    )
    if received.slot_tokens is not None:
        counted = {slot["slot"]: slot["tokens"] for slot in rendered["slots"]}
        problems += _differing("tokens of the slots", counted, dict(received.slot_tokens))
    if received.citable is not None:
        problems += _differing("citable handles", received.ids, list(received.citable))
    return problems


def misplaced(answer: Mapping[str, Any]) -> list[str]:
    """The handles whose passage does not stand in the body where the manifest says."""
    body, wrong = answer["rendered"]["body"], []
    texts = {item["handle"]: item["text"] for item in answer["packet"]["evidence"]}
    for inclusion in answer["manifest"]["inclusions"]:
        start, end = inclusion["decision"]["rendered_span"]
        if texts[inclusion["handle"]] not in _unquoted(body[start:end]):
            wrong.append(inclusion["handle"])
    return wrong


def hashes_of(answer: Mapping[str, Any]) -> tuple[str, str]:
    """The rendered hash of the body, and the hash of the manifest's own record without that hash (ASCII records)."""
    manifest = json.loads(json.dumps(answer["manifest"]))
    del manifest["hashes"]["manifest"]
    plain = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return _sha256(answer["rendered"]["body"]), _sha256(plain)


def _read_json(body: str, _: str) -> "Read":
    """The adapter `json` hands over evidence alone; its slot is the whole body."""
    return {}, [{"slot": "retrieved-evidence", "trust": "untrusted", "packet": json.loads(body)}], [body]


def _read_openai(body: str, _: str) -> "Read":
    pieces = _items_of(body, opening='{"messages":[')
    messages = [json.loads(piece) for piece in pieces]
    roles = [message["role"] for message in messages]
    if roles != ["system"] * len(INSTRUCTIONS) + ["user"] * (len(messages) - len(INSTRUCTIONS)):
        raise ValueError("instructions stand first, data behind them")
    contents = [message["content"] for message in messages]
    instructions, data = contents[: len(INSTRUCTIONS)], contents[len(INSTRUCTIONS) :]
    return dict(zip(INSTRUCTIONS, instructions, strict=True)), [json.loads(content) for content in data], pieces


def _read_anthropic(body: str, _: str) -> "Read":
    """The provider publishes no tokenizer, so that nothing is counted and no pieces are needed."""
    read = json.loads(body)
    (message,) = read["messages"]
    if message["role"] != "user":
        raise ValueError("everything but the system blocks is the user's")
    blocks = message["content"]
    data = [json.loads(block["text"]) for block in blocks if block["type"] == "text"]
    results = [block for block in blocks if block["type"] == "search_result"]
    (evidence,) = [content["packet"]["evidence"] for content in data if content["slot"] == "retrieved-evidence"]
    for item, result in zip(evidence, results, strict=True):
        (passage,) = result["content"]
        if not result["citations"]["enabled"] or result["source"] != item["handle"]:
            raise ValueError("a search result that cannot be cited, or stands for another unit")
        item["text"] = json.loads(f'"{passage["text"]}"')
    return dict(zip(INSTRUCTIONS, (block["text"] for block in read["system"]), strict=True)), data, []


def _read_chat(body: str, policy: str) -> "Read":
    opening, closing = _CHATML
    turns = [turn.partition(closing) for turn in body.split(opening)[1:]]
    contents = [tuple(content.split("\n", 1)) for content, _, _ in turns]
    if [role for role, *_ in contents] != ["system", "user", "assistant"] or turns[-1][1]:
        raise ValueError("a system turn, a user turn, and the opening of the model's own")
    system, user = contents[0][1], contents[1][1]
    if not policy or not system.startswith(policy):
        raise ValueError("the system turn begins with the policy")
    task, lines = system[len(policy) :].lstrip("\n"), user.split("\n")
    return {"system-policy": policy, "task": task}, [json.loads(line) for line in lines], [policy, task, *lines]


def _items_of(body: str, *, opening: str) -> list[str]:
    """The exact piece of the body that each item of its first list takes."""
    decoder, at, pieces = json.JSONDecoder(), len(opening), []
    if not body.startswith(opening):
        raise ValueError("the body begins otherwise")
    while body[at] != "]":
        _, end = decoder.raw_decode(body, at)
        pieces.append(body[at:end])
        at = end + (body[end] == ",")
    return pieces


Read = tuple[dict[str, str], list[Any], list[str]]
"""The instructions by slot, the data slots, and the pieces of the body that hold them, in the same order."""

_READERS: Mapping[str, Callable[[str, str], Read]] = {
    "json": _read_json,
    "openai": _read_openai,
    "anthropic": _read_anthropic,
    "hf-chat": _read_chat,
}


def _differing(what: str, declared: object, got: object) -> list[str]:
    return [] if json.dumps(declared, sort_keys=True) == json.dumps(got, sort_keys=True) else [what]


def _without_text(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.items() if name != "text"} for item in items]


def _unquoted(piece: str) -> list[str]:
    """A piece of a body, unquoted once and twice: an adapter quotes a passage at least once."""
    once = json.loads(f'"{piece}"')
    try:
        return [once, json.loads(f'"{once}"')]
    except ValueError:
        return [once]


def _sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()
