"""How does a test change a rendered body on its way to the receiver, and what would the provider send back?

Everything here reads and writes the wire format of a provider with the standard library, and none of our renderers.
"""

import json
from collections.abc import Callable
from typing import Any

Edit = Callable[[dict[str, Any]], None]
"""Changes a packet in place."""


def scripted_reply(adapter: str, body: str, packet: dict[str, Any]) -> dict[str, Any]:
    """An answer that cites every passage natively, or by its handle, and then a handle that does not exist."""
    if adapter == "anthropic":
        blocks = json.loads(body)["messages"][0]["content"]
        citations = [
            {
                "type": "search_result_location",
                "source": block["source"],
                "title": block["title"],
                "cited_text": block["content"][0]["text"],
                "search_result_index": index,
                "start_block_index": 0,
                "end_block_index": 1,
            }
            for index, block in enumerate(block for block in blocks if block["type"] == "search_result")
        ]
        return {
            "role": "assistant",
            "content": [{"type": "text", "text": "All of it [EV-99].", "citations": citations}],
        }
    cited = " ".join(f"[{item['handle']}]" for item in packet["evidence"])
    return {"choices": [{"message": {"role": "assistant", "content": f"All of it {cited} [EV-99]."}}]}


def with_packet(adapter: str, body: str, edit: Edit) -> str:
    """The body with its packet edited, on the wire of its provider."""

    def edited(slots: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for slot in slots:
            if slot["slot"] == "retrieved-evidence":
                edit(slot["packet"])
        return slots

    if adapter == "json":
        packet = json.loads(body)
        edit(packet)
        return json.dumps(packet)
    return with_slots(adapter, body, edited)


def with_slots(adapter: str, body: str, edit: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> str:
    """The body with its data slots edited; the passages of the evidence are in its packet meanwhile."""
    if adapter == "hf-chat":
        start = body.index("<|im_start|>user\n") + len("<|im_start|>user\n")
        end = body.index("<|im_end|>", start)
        slots = [json.loads(line) for line in body[start:end].split("\n")]
        return body[:start] + "\n".join(json.dumps(slot) for slot in edit(slots)).replace("<", "\\u003c") + body[end:]
    read = json.loads(body)
    if adapter == "openai":
        system = [message for message in read["messages"] if message["role"] == "system"]
        slots = [json.loads(message["content"]) for message in read["messages"] if message["role"] == "user"]
        user = [{"role": "user", "content": json.dumps(slot)} for slot in edit(slots)]
        return json.dumps({"messages": system + user}, separators=(",", ":"))
    blocks = read["messages"][0]["content"]
    slots = [json.loads(block["text"]) for block in blocks if block["type"] == "text"]
    passages = [block["content"][0]["text"] for block in blocks if block["type"] == "search_result"]
    for slot in slots:
        if slot["slot"] == "retrieved-evidence":
            for item, passage in zip(slot["packet"]["evidence"], passages, strict=True):
                item["text"] = json.loads(f'"{passage}"')
    changed: list[dict[str, Any]] = []
    for slot in edit(slots):
        items = slot["packet"]["evidence"] if slot["slot"] == "retrieved-evidence" else []
        texts = [item.pop("text") for item in items]
        changed.append({"type": "text", "text": json.dumps(slot)})
        changed += [search_result(item, text) for item, text in zip(items, texts, strict=True)]
    return json.dumps({**read, "messages": [{"role": "user", "content": changed}]})


def search_result(item: dict[str, Any], text: str) -> dict[str, Any]:
    return {
        "type": "search_result",
        "source": item["handle"],
        "title": item["title"],
        "content": [{"type": "text", "text": json.dumps(text)[1:-1]}],
        "citations": {"enabled": True},
    }


def offering_another(adapter: str, body: str, handle: str) -> str:
    """The body with another handle in place of `handle` where the task slot offers it."""
    other = "EV-0000000000000000"
    if adapter == "hf-chat":
        return body.replace(handle, other, 1)
    read = json.loads(body)
    task = read["messages"][1] if adapter == "openai" else read["system"][1]
    name = "content" if adapter == "openai" else "text"
    task[name] = task[name].replace(handle, other)
    return json.dumps(read, separators=(",", ":"))
