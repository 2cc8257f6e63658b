"""Is the answer that over the visible part where hundreds of records are hidden, and texts are as long as real ones?
(M1, R6)"""

from random import Random
from typing import Any

from tests.noninterference.bench import Bench
from tests.noninterference.generated_records import Records
from tests.noninterference.generators import acyclic
from tests.noninterference.hidden_shapes import Shape, hidden, ways_of_hiding
from tests.noninterference.relations import visible_only
from tests.noninterference.world import Asked, Record, Viewpoint, World
from tests.worlds import principal, record

WORDS = [
    *("upload", "limit", "case", "video", "photo", "file", "technician", "visit", "latch", "hinge", "pump", "filter"),
    *("warranty", "drum", "water", "heat", "door", "seal", "bulletin", "revision", "inspect", "replace", "measure"),
    *("torque", "bolt", "screw", "panel", "board", "sensor", "cable", "motor", "fan", "belt", "noise", "leak"),
]
VIEWS = (
    Viewpoint(who=principal("blue", roles=("technician",), purposes=("repair",))),
    Viewpoint(who=principal("blue", roles=("technician",), purposes=("repair",)), purpose="repair"),
    Viewpoint(who=principal(None)),
)


def sentences(chance: Random, count: int) -> str:
    return " ".join(" ".join(chance.choices(WORDS, k=9)).capitalize() + "." for _ in range(count))


def crowded(view: Viewpoint, queries: list[str], *, visible: int, hidden_ones: int) -> World:
    """So many records of the caller's, some of them restricted or public, among so many others."""
    chance, kept = Random(1), Records()
    seen: list[Record] = []
    for number in range(visible):
        tenant = None if number % 3 == 0 else "blue"
        access: dict[str, Any] = {"roles": ["technician"]} if number % 5 == 0 else {}
        text, title = sentences(chance, chance.randint(1, 9)), " ".join(chance.choices(WORDS, k=3))
        family, start = chance.choice(WORDS[:5]), "2024-01-01T00:00:00Z"
        seen.append(
            record(f"S-{number}", text, tenant=tenant, access=access, title=title, family=family, effective_from=start)
        )
        kept.place(seen[-1]["access"], f"S-{number}", 1)
    shapes, ways = [*Shape], ways_of_hiding(view)
    others = [
        hidden(
            kept,
            view,
            chance.choice(seen),
            query=chance.choice(queries),
            shape=shapes[number % len(shapes)],
            hiding=chance.choice(ways),
            variant=number,
        )
        for number in range(hidden_ones)
    ]
    records = [*seen, *others]
    chance.shuffle(records)
    return World(records=acyclic(records))


def asked(view: Viewpoint, queries: list[str]) -> list[Asked]:
    first, second, third, *_ = queries
    limits = {
        "budget": {"max_bytes": 9000, "max_tokens": 2500, "tokenizer": "o200k_base"},
        "on_overflow": "omit-optional",
    }
    needed = [
        {"role": "own", "match": {"source_id": "S-1"}, "mandatory": False},
        {"role": "family", "match": {"family": "upload"}},
        {"role": "hidden", "match": {"source_id": "H-1"}, "mandatory": False},
    ]
    return [
        *(view.search(query, k=20) for query in queries),
        *(view.search(query, k=7, channel=channel) for query in queries[:4] for channel in ("lexical", "dense")),
        *(view.search(query, k=7, fusion={"method": "rrf", "depth": 7}) for query in queries[:4]),
        *(view.packet(query, k=5, requirements=needed, **limits) for query in queries[:4]),
        view.packet(first, strategy="broad"),
        view.packet(second, strategy="auto", requirements=needed),
        view.search(third, as_of="2025-06-01T00:00:00Z"),
        view.search(third, use="historical", filter={"family": ["upload", "case"]}),
        view.catalog(),
    ]


def drawn_queries() -> list[str]:
    chance = Random(7)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 6))) for _ in range(12)]


def test_hundreds_of_hidden_records_change_not_one_byte(bench: Bench) -> None:
    queries = drawn_queries()

    for view in VIEWS:
        visible_only(bench, crowded(view, queries, visible=60, hidden_ones=260), view, asked(view, queries))


def test_a_thousand_hidden_records_beside_a_visible_one_change_not_one_byte(bench: Bench) -> None:
    queries, view = drawn_queries(), VIEWS[0]

    visible_only(bench, crowded(view, queries, visible=1, hidden_ones=1000), view, asked(view, queries))
