"""What is asked of a world?

Searches and packets by every channel, fusion, strategy, filter and limit, with names of what the caller sees, of what
they do not, and of what never was.
"""

import functools
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from evidence.citations import citation_handle
from evidence.identity import UnitKey, unit_id
from evidence.unit import Unit
from tests.noninterference.generated_records import CLAIM_KEYS, CLAIM_VALUES, FAMILIES, SOURCES, SUBJECTS
from tests.noninterference.hidden_shapes import ROLE_CLAIM, ROLE_FAMILY, ROLE_SOURCE
from tests.noninterference.world import Asked, Record, Viewpoint, key_of
from tests.worlds import cut

NEVER = "NEVER"
"""A name of nothing."""
_NAMES = (*SOURCES, ROLE_SOURCE, "H-2", NEVER)
_MOMENTS = ("2024-06-01T00:00:00Z", "2026-05-31T23:59:59.999999Z", "2026-06-01T00:00:00Z", "2023-01-01T00:00:00Z")
_FUSIONS: tuple[dict[str, Any], ...] = (
    {"method": "rrf"},
    {"method": "rrf", "rrf_k": 1, "depth": 3},
    {"dense_weight": 0.3},
    {"dense_weight": 1, "depth": 2},
    {"dense_weight": 0, "depth": 5},
)
_FILTERS: tuple[dict[str, Any], ...] = (
    {"family": ["manual"]},
    {"source_id": ["S-1", "H-1", NEVER]},
    {"owner": ["ops"]},
    {"owner": []},
    {"metadata": {"lang": ["en"]}},
    {"metadata": {"n": ["3"], "lang": ["de"]}},
)
_MATCHES: tuple[dict[str, Any], ...] = (
    *({"claim": key} for key in (*CLAIM_KEYS, ROLE_CLAIM, NEVER)),
    *({"claim": CLAIM_KEYS[0], "value": value} for value in CLAIM_VALUES),
    *({"family": family} for family in (*FAMILIES[:2], ROLE_FAMILY, NEVER)),
    *({"source_id": name} for name in _NAMES),
    *({"source_id": name, "public": True} for name in _NAMES[:5]),
)
_SHARED: dict[str, st.SearchStrategy[Any]] = {
    "channel": st.sampled_from(("lexical", "dense", "hybrid")),
    "fusion": st.sampled_from(_FUSIONS),
    "filter": st.sampled_from(_FILTERS),
    "as_of": st.sampled_from(_MOMENTS),
    "use": st.just("historical"),
    "subject": st.sampled_from((*SUBJECTS, NEVER)),
    "rerank": st.just(True),
}
_BUDGETS = st.sampled_from(
    (
        *({"max_bytes": size} for size in (900, 1800, 500, 3000, 1300, 0)),
        *({"max_tokens": size, "tokenizer": "o200k_base"} for size in (300, 700)),
    )
)
_OF_PACKETS: dict[str, st.SearchStrategy[Any]] = {
    "budget": _BUDGETS,
    "on_overflow": st.just("omit-optional"),
    "query_class": st.sampled_from(("enumerate", "decision", "cross-section")),
}
_KINDS = ("packet", "search", "packet", "search", "packet", "search", "packet", "citations", "catalog", "wrong")
_TOOL_RESULTS: tuple[list[dict[str, Any]], ...] = ([], [{"tool": "t", "columns": ["upload"], "rows": [[1], ["S-1"]]}])
_WRONG: tuple[dict[str, Any], ...] = (
    {"k": 0},
    {"k": 3, "fusion": {"depth": 2}},
    {"colour": "blue"},
    {"purpose": "never-granted"},
    {"as_of": "2031-01-01T00:00:00Z"},
    {"filter": {"colour": ["blue"]}},
    {"source_id": "S-1"},
    {"catalog_version": "sha256:" + "0" * 64},
)


@st.composite
def asked_of(draw: st.DrawFn, asker: Viewpoint, asked: Sequence[str], records: Sequence[Record]) -> Asked:
    """One request: a search or a packet as a rule, else what is there at all, or what cannot be answered."""
    match draw(st.sampled_from(_KINDS)):
        case "packet":
            return draw(packets_of(asker, asked, records))
        case "catalog":
            return asker.catalog()
        case "wrong":
            return draw(_wrong(asker, asked))
        case "citations" if records:
            return citations(asker, draw(st.lists(st.sampled_from(records), min_size=1, max_size=4)))
        case _:
            return draw(searches_of(asker, asked))


@st.composite
def searches_of(draw: st.DrawFn, asker: Viewpoint, asked: Sequence[str]) -> Asked:
    """A search, its k below, at and above what there is."""
    more = _drawn(draw, _SHARED, 2)
    k = min(draw(st.sampled_from((1, 2, 3, 3, 10))), more.get("fusion", {}).get("depth", 200))
    return asker.search(draw(st.sampled_from(asked)), k=k, **more)


@st.composite
def packets_of(draw: st.DrawFn, asker: Viewpoint, asked: Sequence[str], records: Sequence[Record]) -> Asked:
    """A packet by any strategy, with roles to fill and limits to keep."""
    more = {**_drawn(draw, _SHARED, 1), **_drawn(draw, _OF_PACKETS, 2)}
    strategy = draw(st.sampled_from(("narrow", "narrow", "broad", "document", "auto")))
    if strategy == "document":
        more |= {"source_id": draw(st.sampled_from(_NAMES)), "public": draw(st.booleans())}
    k = draw(st.sampled_from((None, None, 1, 2)))
    if k is not None:
        more["k"] = k
    number = draw(st.sampled_from((0, 1, 2, 3)))
    matches = draw(st.lists(_matches(records), min_size=number, max_size=number))
    more["requirements"] = [
        {"role": f"r{place}", "match": match, "mandatory": place != 1} for place, match in enumerate(matches)
    ]
    if records and draw(st.sampled_from((False, False, False, False, True))):
        named = draw(st.lists(st.sampled_from(records), min_size=1, max_size=3))
        more |= {"adapter": draw(st.sampled_from(("openai", "anthropic"))), "conversation": conversation(named)}
        more["tool_results"] = draw(st.sampled_from(_TOOL_RESULTS))
    return asker.packet(draw(st.sampled_from(asked)), strategy=strategy, **more)


def conversation(records: Sequence[Record]) -> list[dict[str, str]]:
    """A turn for each record, citing its first passage, and one citing what never was."""
    handles = [*(handle_of(record) for record in records), "EV-0000000000000000"]
    return [{"role": "assistant", "content": f"See {handle}."} for handle in handles]


def citations(asker: Viewpoint, records: Sequence[Record]) -> Asked:
    """Citations of the first passages of these records to be judged, from a packet that nobody made."""
    shown: list[dict[str, Any]] = []
    for record in records:
        key = key_of(record)
        named = {"namespace": key.namespace, "source_id": key.source_id, "revision": key.revision}
        unit = first_unit(record)
        shown.append({"handle": citation_handle(unit), **named, "span": [unit.start, unit.end], "text": unit.text})
    occurrences = [
        {"handle": item["handle"], "quote": quote, "claim_type": kind}
        for item in shown
        for quote, kind in ((item["text"], None), (item["text"], "fact"), ("?", None))
    ]
    body = {
        "packet": {"use": "draft" if asker.drafts else "current", "evidence": shown},
        "occurrences": [*occurrences, {"handle": "EV-0000000000000000", "quote": "upload"}],
        **({} if asker.purpose is None else {"purpose": asker.purpose}),
    }
    return Asked(who=asker.who, method="POST", target="/v1/citations/validate", body=body)


def unit_id_of(record: Record) -> str:
    """The id of a record's first passage."""
    return unit_id(UnitKey(*key_of(record), 0))


def handle_of(record: Record) -> str:
    """The handle of a record's first passage."""
    return citation_handle(first_unit(record))


def first_unit(record: Record) -> Unit:
    """A record's first passage."""
    return _first_unit(json.dumps(dict(record)))


@functools.lru_cache(maxsize=4096)
def _first_unit(record: str) -> Unit:
    return cut([json.loads(record)])[0].units[0]


def _matches(records: Sequence[Record]) -> st.SearchStrategy[dict[str, Any]]:
    units = [unit_id_of(record) for record in records] + ["red/S-1@1#0", f"blue/{NEVER}@1#0"]
    return st.sampled_from([*_MATCHES, *({"unit_id": unit} for unit in units)])


@st.composite
def _wrong(draw: st.DrawFn, asker: Viewpoint, asked: Sequence[str]) -> Asked:
    """A request that cannot be answered: the error, too, is the same."""
    query, wrong = draw(st.sampled_from(asked)), draw(st.sampled_from(_WRONG))
    return asker.packet(query, **wrong) if draw(st.booleans()) else asker.search(query, **wrong)


def _drawn(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]], most: int) -> dict[str, Any]:
    number = draw(st.sampled_from((1, 0, 1, most)))
    names = draw(st.lists(st.sampled_from(sorted(fields)), min_size=number, max_size=number, unique=True))
    return {name: draw(fields[name]) for name in names}
