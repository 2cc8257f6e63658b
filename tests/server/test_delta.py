"""Is what came in after the last reindex found exactly as it will be after the next one? (R9-R12, R29)"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Principal
from evidence.identity import Namespace, SourceKey
from index.bm25 import DEFAULTS
from index.catalog import Catalog
from index.recipe import Recipe
from index.reindex import reindex
from server.keys import create_key
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest, SearchRequest
from tests.worlds import ANALYZER, RECIPE, WordEncoder, arrive, extend, pipeline_over, principal, record, without_run

WORDS = ["limit", "upload", "latch", "hinge", "torque", "bolt", "audit", "owner", "file", "large", "door", "rule"]
WHO = (
    principal(None),
    principal("blue", roles=("engineer",)),
    principal("blue", sub="eve"),
    principal("red", purposes=("audit",)),
)
REQUESTS: tuple[dict[str, Any], ...] = (
    {"query": "upload limit large", "k": 20},
    {"query": "latch note rule rule", "k": 3, "fusion": {"method": "rrf"}},
    {"query": "owner of the door", "k": 5, "fusion": {"depth": 5}},
    {"query": "audit torque bolt", "channel": "lexical", "k": 7},
    {"query": "audit torque bolt", "channel": "dense", "k": 7},
    {"query": "absent", "channel": "lexical"},
)


@contextmanager
def catalog_in(directory: Path, records: Sequence[dict[str, Any]], recipe: Recipe = RECIPE) -> Iterator[Catalog]:
    """An indexed catalog of `records`."""
    with Catalog.create(directory, recipe, prepare=create_key) as catalog:
        extend(catalog, records)
        publish(catalog)
        yield catalog


def publish(catalog: Catalog) -> None:
    reindex(catalog, encoder=WordEncoder(), analyzer=ANALYZER, progress=lambda _: None)


def answers(pipeline: Pipeline) -> list[dict[str, Any]]:
    """To every request of everybody; hits, packets narrow and broad, and the overview."""
    found = []
    for who in WHO:
        found += [searched(pipeline, who, **request) for request in REQUESTS]
        found.append(pipeline.overview(who, purpose=None))
    for request in (REQUESTS[0], {"query": "x", "strategy": "broad"}):
        found.append(without_run(body(pipeline.packet(parse(request, PacketRequest), WHO[1]))))
    return found


def body(answer: Any) -> Any:
    """The body of an answer, however it is wrapped."""
    return getattr(answer, "body", answer)


def searched(pipeline: Pipeline, who: Principal, **request: Any) -> dict[str, Any]:
    return without_run(pipeline.search(parse(request, SearchRequest), who))


def found(pipeline: Pipeline, who: Principal, **request: Any) -> list[str]:
    return [hit["source"]["source_id"] for hit in searched(pipeline, who, **request)["hits"]]


def some_record(dice: random.Random, source_id: str, revision: str, tenant: str | None) -> dict[str, Any]:
    paragraphs = [" ".join(dice.choices(WORDS, k=dice.randint(1, 40))) for _ in range(dice.randint(1, 4))]
    return record(
        source_id,
        "\n\n".join(paragraphs),
        tenant=tenant,
        revision=revision,
        title=dice.choice(["", "Limits", "A door"]),
        access={"roles": dice.choice([[], ["engineer"]])} if tenant == "blue" else {},
    )


class World:
    """A catalog that changes at random, by everything that can happen to one."""

    def __init__(self, catalog: Catalog, dice: random.Random) -> None:
        self._catalog = catalog
        self._dice = dice
        self._records: dict[tuple[str | None, str], list[dict[str, Any]]] = {}
        self._revisions = 0

    def step(self) -> None:
        """Add, add a revision, relabel, delete, or delete and add again with other content."""
        steps: list[Callable[[], None]] = [self._add, self._add, self._add, self._relabel, self._delete, self._replace]
        self._dice.choice(steps if self._records else steps[:1])()

    def _add(self) -> None:
        for _ in range(self._dice.randint(1, 3)):
            key = (self._dice.choice([None, "blue", "red"]), self._dice.choice("abcdefgh"))
            self._revisions += 1
            offered = some_record(self._dice, key[1], str(self._revisions), key[0])
            held = self._records.setdefault(key, [])
            if held:
                offered["access"] = held[0]["access"]
            held.append(offered)
            arrive(self._catalog, [offered])

    def _relabel(self) -> None:
        key = self._dice.choice(sorted(self._records, key=str))
        access = {**self._records[key][0]["access"], "roles": self._dice.choice([[], ["engineer"], ["user:eve"]])}
        self._records[key] = [{**held, "access": access} for held in self._records[key]]
        arrive(self._catalog, self._records[key], relabel=True)

    def _delete(self) -> None:
        key = self._dice.choice(sorted(self._records, key=str))
        del self._records[key]
        self._catalog.delete(SourceKey(Namespace(key[0] or "public"), key[1]))

    def _replace(self) -> None:
        """The key of a revision with other bytes, which only a deletion in between allows."""
        key = self._dice.choice(sorted(self._records, key=str))
        held = self._records.pop(key)
        self._catalog.delete(SourceKey(Namespace(key[0] or "public"), key[1]))
        fresh = {**some_record(self._dice, key[1], held[0]["revision"], key[0]), "access": held[0]["access"]}
        self._records[key] = [fresh]
        arrive(self._catalog, [fresh])


@pytest.mark.parametrize(
    ("variant", "seed"),
    [("lucene", 0), ("okapi", 1), ("plus", 2), ("l", 3)]
    + [pytest.param(variant, seed, marks=pytest.mark.soak) for variant in DEFAULTS for seed in range(10, 20)],
)
def test_answers_are_the_same_before_and_after_a_reindex(tmp_path: Path, variant: str, seed: int) -> None:
    """R9-R12, R29: whatever happened since the last one, byte for byte."""
    dice = random.Random(f"{variant}{seed}")
    recipe = replace(RECIPE, bm25=variant)
    start = [some_record(dice, name, "0", tenant) for name in "xyz" for tenant in (None, "blue", "red")]
    with catalog_in(tmp_path / "c", start, recipe) as catalog:
        world = World(catalog, dice)
        pipeline = pipeline_over(catalog)
        for _ in range(2):
            for _ in range(4):
                world.step()
                before = answers(pipeline)
            assert answers(pipeline_over(catalog)) == before  # this one makes the delta at once, not by and by
            publish(catalog)
            assert answers(pipeline) == before


def test_what_is_invisible_changes_nothing_in_a_delta_either(tmp_path: Path) -> None:
    """R6: the whole catalog against one that never held anything else than what the caller may see."""
    dice = random.Random(7)
    made = [some_record(dice, f"{name}{at}", "0", name) for name in (None, "blue", "red") for at in range(12)]
    dice.shuffle(made)
    for who in WHO:
        with (
            catalog_in(tmp_path / f"{who.sub}-{who.tenant}-full", made[:18]) as full,
            catalog_in(
                tmp_path / f"{who.sub}-{who.tenant}-visible", [one for one in made[:18] if may_see(who, one)]
            ) as visible,
        ):
            arrive(full, made[18:])
            arrive(visible, [one for one in made[18:] if may_see(who, one)])

            answered = [searched(pipeline_over(full), who, **request) for request in REQUESTS]
            assert answered == [searched(pipeline_over(visible), who, **request) for request in REQUESTS]
            assert answered[0]["hits"]


def may_see(who: Principal, one: dict[str, Any]) -> bool:
    """For the records of this file: public, or the tenant's own, with a role that is held."""
    access = one["access"]
    own = access.get("public") or access.get("tenant") == who.tenant
    return bool(own) and (not access.get("roles") or bool(set(access["roles"]) & set(who.roles)))


def test_what_waits_for_a_reindex_is_stated_beside_what_came_with_codes(tmp_path: Path) -> None:
    """R15."""
    with catalog_in(tmp_path / "c", [record("A", "The upload limit.")]) as catalog:
        arrive(catalog, [record("B", "Another upload limit.")])
        extend(catalog, [record("C", "A third upload limit.")])
        pipeline = pipeline_over(catalog)

        answer = searched(pipeline, WHO[0], query="upload limit")
        assert sorted(hit["source"]["source_id"] for hit in answer["hits"]) == ["A", "B"]
        assert answer["degraded"] == ["index: usable revisions that wait for a reindex: 1"]


def test_a_newer_revision_replaces_the_one_in_the_index_at_once(tmp_path: Path) -> None:
    """R4, and nothing of the old chunks is left behind."""
    old = record(
        "A", "The upload limit is 25 MB.\n\n" + "More words about it. " * 60, effective_from="2025-01-01T00:00:00Z"
    )
    new = record("A", "The limit is gone.", revision="2", effective_from="2026-01-01T00:00:00Z")
    with catalog_in(tmp_path / "c", [old]) as catalog:
        pipeline = pipeline_over(catalog)
        assert len(found(pipeline, WHO[0], query="limit")) > 1
        arrive(catalog, [new])

        assert found(pipeline, WHO[0], query="limit") == ["A"]
        answer = searched(pipeline, WHO[0], query="limit")
        assert [hit["source"]["revision"] for hit in answer["hits"]] == ["2"]
        assert answer["stats_scope"]["units"] == 1


def test_a_word_that_only_a_source_taken_out_again_held_is_a_word_nobody_knows(tmp_path: Path) -> None:
    """R6: whoever asks for it gets what they got before it came, and the question fails for nobody."""
    ann, eve = principal("blue"), principal("red")
    asked = [{"query": query} for query in ("walrus zyzzyva", "zyzzyva", "secret", "walrus")]

    with catalog_in(tmp_path / "catalog", []) as catalog:
        pipeline = pipeline_over(catalog)
        arrive(catalog, [record("S1", "A zyzzyva in secret.", tenant="red")])
        assert found(pipeline, eve, query="zyzzyva", channel="lexical") == ["S1"]
        arrive(catalog, [record("S2", "Walrus news of the day.", tenant="blue")])
        before = [searched(pipeline, ann, **request) for request in asked]
        assert found(pipeline, eve, query="zyzzyva", channel="lexical") == ["S1"]
        catalog.delete(SourceKey(Namespace("red"), "S1"))
        assert [searched(pipeline, ann, **request) for request in asked] == before
        assert found(pipeline, eve, query="zyzzyva", channel="lexical") == []
