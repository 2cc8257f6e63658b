"""Which world holds most of what could come out in another order, and what is asked there?"""

import random
from typing import Any

from tests.noninterference.world import Asked, Record, Viewpoint, World
from tests.worlds import principal, record

ANN = Viewpoint(who=principal("blue", roles=("technician",), purposes=("repair",)), purpose="repair")
SOURCES = 9
_WORDS = ("upload", "limit", "valve", "pump", "drum", "latch", "seal", "heat", "video", "case")
_TOKENS = {"max_tokens": 6000, "tokenizer": "o200k_base"}


def tangle(rows: int) -> World:
    """Three conflicts of three sources each, equal texts across namespaces, revisions that are over, whatever in a
    record is a list; and so many further records that a scan is worth sharing."""
    found: list[Record] = []
    for number in range(SOURCES):
        tenant = "blue" if number % 3 else None
        others = [other for other in (number - 1, number - 2) if other // 3 == number // 3]
        more: dict[str, Any] = {
            "claims": [
                {"key": f"{key}-{number // 3}", "value": str(number % 2), "quote": "the limit"} for key in ("a", "b")
            ],
            "contradicts": [{"source_id": f"T-{other}", "public": other % 3 == 0} for other in others],
            "family": ("manual", "bulletin", "note")[number % 3],
            "owner": f"owner-{number}",
            "authority": ("manufacturer", "forum")[number % 2],
            "applies_to": ["valve", "pump", "drum"][: number % 3 + 1],
            "citable_for": ["limit", "approval", "warning"][: number % 4],
            "metadata": {"lang": ["en", "de", "fr"][: number % 3 + 1], "n": number, "checked": bool(number % 2)},
        }
        text = f"the limit of upload is {number % 3}" if number % 2 else "the limit of upload"
        begins = "2025-01-01T00:00:00Z"
        found.append(record(f"T-{number}", text, tenant=tenant, revision="2", effective_from=begins, **more))
        found.append(record(f"T-{number}", f"it was {number}", tenant=tenant, effective_to=begins))
    found += [record(f"S-{number}", "the limit of all", tenant="blue", owner=f"owner-{number}") for number in range(5)]
    chosen = random.Random(rows)
    found += [
        record(f"R-{number}", " ".join(chosen.choices(_WORDS, k=12)), tenant="blue", owner=f"owner-{number % 7}")
        for number in range(rows)
    ]
    return World(records=tuple(found))


def questions() -> list[Asked]:
    """Packets by every strategy and for every provider, searches, and what is there at all."""
    roles = [
        {"role": "limit", "match": {"claim": "a-0", "value": "1"}},
        {"role": "manual", "match": {"family": "manual"}, "mandatory": False},
        {"role": "gone", "match": {"source_id": "T-4"}},
    ]
    small = {"budget": {"max_bytes": 4000}, "on_overflow": "omit-optional"}
    said = [{"role": "user", "content": "and the limit?"}, {"role": "assistant", "content": "See EV-0000000000000000."}]
    tool = {"tool": "count", "columns": ["name", "n"], "rows": [["a", 1], ["b", 2.5], ["c", 3]]}
    query = "the limit of upload"
    return [
        ANN.packet(query, k=20, requirements=roles),
        ANN.search(query, k=20),
        ANN.search(query, k=20, fusion={"method": "rrf"}, rerank=True),
        *(ANN.search("all", k=2, channel=channel, fusion={"depth": 2}) for channel in ("lexical", "dense")),  # of ties
        ANN.packet(query, k=3, strategy="auto", requirements=roles, query_class="cross-section"),
        ANN.packet(query, strategy="broad", requirements=roles, filter={"family": ["manual", "note"]}),
        ANN.packet(query, strategy="document", source_id="T-4"),
        ANN.packet(query, use="historical"),
        ANN.packet(query, as_of="2024-06-01T00:00:00Z", filter={"metadata": {"lang": ["en"]}}),
        ANN.packet(query, k=20, **small),
        ANN.packet(query, adapter="openai", conversation=said, tool_results=[tool], budget=_TOKENS),
        ANN.packet(query, adapter="anthropic", subject="pump"),
        ANN.catalog(),
    ]
