"""No text becomes control (R26), for every adapter, read by the tokenizers of five families.

Payloads stand wherever something from outside can stand. The ids of added tokens in a body must be those of the same
body with plain words: what the template wrote, and nothing else.
"""

import itertools
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import tokenizers

from evidence.adapters import Adapter, Renderer, renderer_for
from evidence.budget import Budget, Sizes, TokenMeter, broken, limits_for
from evidence.canonical import Json
from evidence.conversation import ExtractiveSummarizer, number_turns
from evidence.instant import Instant
from evidence.prompt import Prompt, build_prompt
from evidence.render import RenderedItem
from evidence.tool_results import ToolResult
from models.joined import JoinedCounter
from models.local_tokenizer import LocalTokenizer, is_layout
from models.templates import open_template
from tests.builders import EXPLANATORY
from tests.hostile import CONTROL_TOKENS
from tests.hostile_payloads import hostile_payloads
from tests.models.chat_families import FAMILIES, Family, save_family

PAYLOADS, SOAK_PAYLOADS = 384, 20_000
UNITS, FIELDS = 4, 5
BATCH = UNITS * FIELDS + 8
MARKERS = tuple(dict.fromkeys((*CONTROL_TOKENS, *itertools.chain(*(family.controls for family in FAMILIES)))))
WORD = "word"
NORMAL_FORMS: dict[str, Callable[[str], str]] = {
    "NFC": partial(unicodedata.normalize, "NFC"),
    "NFKC": partial(unicodedata.normalize, "NFKC"),
    "casefold": str.casefold,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A model's tokenizer, as our counter and as the library reads the same file."""

    counter: LocalTokenizer
    tokenizer: tokenizers.Tokenizer
    controls: frozenset[int]

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def control_ids(self, text: str) -> list[int]:
        return [token for token in self.ids(text) if token in self.controls]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    reader: Reader
    renderer: Renderer


def read_by(folder: Path) -> Reader:
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    added = tokenizer.get_added_tokens_decoder()
    return Reader(
        counter=LocalTokenizer(folder, name="hf:local"),
        tokenizer=tokenizer,
        controls=frozenset(number for number, token in added.items() if not is_layout(token.content)),
    )


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family.name)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    family: Family = request.param
    return save_family(family, tmp_path_factory.mktemp(family.name))


@pytest.fixture(scope="module", params=Adapter, ids=lambda adapter: adapter.value)
def case(request: pytest.FixtureRequest, folder: Path) -> Case:
    adapter: Adapter = request.param
    template = open_template(folder, name="local") if adapter is Adapter.HF_CHAT else None
    return Case(reader=read_by(folder), renderer=renderer_for(adapter, template))


def packet_of(texts: Sequence[str], others: Sequence[str]) -> dict[str, Json]:
    """A packet with these texts in the fields of its units, and others around them."""
    evidence: list[Json] = [
        {
            "handle": f"EV-000000000000000{place}",
            "namespace": "blue",
            "source_id": source_id,
            "revision": revision,
            "title": title,
            "heading": [heading],
            "span": [0, len(text)],
            "status": "current",
            "support_role": "background",
            "conflict_group": None,
            "trust": "untrusted-retrieved-data",
            "text": text,
        }
        for place, (source_id, revision, title, heading, text) in enumerate(in_groups(texts, FIELDS))
    ]
    role, key, owner = others
    coverage: Json = {"roles": [{"role": role, "state": "absent", "handles": []}], "exhaustive": False}
    groups: Json = [{"id": "CG-1", "handles": [], "key": key, "keys": [key], "owners": [owner], "resolution": None}]
    return {"schema": "s", "evidence": evidence, "cut": False, "conflict_groups": groups, "coverage": coverage}


def prompt_of(texts: Sequence[str], renderer: Renderer) -> Prompt:
    """A prompt with these texts in the slots that are not trusted."""
    query, turn, tool, column, cell = texts
    return build_prompt(
        EXPLANATORY,
        clock=Instant(0),
        query=query,
        scope={"namespace": "blue", "subject": turn},
        conversation=number_turns([("user", turn), ("assistant", cell)] * 4),
        unusable=frozenset(),
        tool_results=[ToolResult(tool=tool, columns=(column, "n"), rows=((cell, 1), (turn, 2)))],
        summarizer=ExtractiveSummarizer(),
        write=renderer.segment,
        count=None,
    )


def made_of(texts: Sequence[str], case: Case) -> tuple[dict[str, Json], Prompt | None]:
    inside = UNITS * FIELDS
    packet = packet_of(texts[:inside], texts[inside : inside + 3])
    prompt = None if case.renderer.name.startswith("json") else prompt_of(texts[inside + 3 :], case.renderer)
    return packet, prompt


def batches(count: int) -> Iterator[list[str]]:
    """Payloads, so many to a packet; the last packet is filled up."""
    for batch in in_groups(list(hostile_payloads(count, markers=MARKERS)), BATCH):
        yield [*batch, *[WORD] * (BATCH - len(batch))]


def in_groups(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (texts[start : start + size] for start in range(0, len(texts), size))


def assert_inert(case: Case, batch: Sequence[str], *, plain: Sequence[int]) -> None:
    packet, prompt = made_of(batch, case)
    body = case.renderer.write(packet, prompt=prompt)
    ids = case.reader.ids(body)

    assert [token for token in ids if token in case.reader.controls] == list(plain)
    assert case.renderer.parse(body) == packet
    frame, items = case.renderer.frame(packet, prompt=prompt), items_of(packet, case)
    assert frame.body(items) == body
    assert JoinedCounter(case.reader.counter).count(frame.pieces(items)) == len(ids)
    assert_exact(case, size=len(ids), bytes_=len(body.encode()))


def items_of(packet: dict[str, Json], case: Case) -> list[RenderedItem]:
    evidence = packet["evidence"]
    assert isinstance(evidence, list)
    return [case.renderer.item(item) for item in evidence if isinstance(item, dict)]


def assert_exact(case: Case, *, size: int, bytes_: int) -> None:
    """R22, R23: accepted at its size and one above, refused one below."""
    counter = case.reader.counter
    meter = TokenMeter(
        name=counter.name, digest=counter.digest, count=counter.count, count_joined=JoinedCounter(counter).count
    )
    sizes = Sizes(bytes=bytes_, tokens=size, evidence_tokens=0)
    fits = {
        over: not broken(limits_for(Budget(max_tokens=size + over), EXPLANATORY, meter=meter), sizes)
        for over in (-1, 0, 1)
    }
    assert fits == {-1: False, 0: True, 1: True}


def assert_all_inert(case: Case, count: int) -> None:
    packet, prompt = made_of([WORD] * BATCH, case)
    plain = case.reader.control_ids(case.renderer.write(packet, prompt=prompt))
    for batch in batches(count):
        assert_inert(case, batch, plain=plain)


def test_no_payload_becomes_a_control_token_and_every_packet_is_read_back(case: Case) -> None:
    assert_all_inert(case, PAYLOADS)


@pytest.mark.soak
def test_none_of_twenty_thousand_payloads_becomes_a_control_token(case: Case) -> None:
    assert_all_inert(case, SOAK_PAYLOADS)


@pytest.mark.parametrize("form", NORMAL_FORMS)
def test_a_body_in_another_form_opens_no_new_delimiter(case: Case, form: str) -> None:
    """Someone may normalize or casefold it on the way: still no `<` and no `[` that the frame did not have."""
    change = NORMAL_FORMS[form]
    packet, prompt = made_of([WORD] * BATCH, case)
    plain = change(case.renderer.write(packet, prompt=prompt))

    for batch in batches(PAYLOADS):
        packet, prompt = made_of(batch, case)
        changed = change(case.renderer.write(packet, prompt=prompt))
        assert {mark: changed.count(mark) for mark in "<[｜"} == {mark: plain.count(mark) for mark in "<[｜"}
        assert case.reader.control_ids(changed) == case.reader.control_ids(plain)


def test_payloads_written_raw_do_become_control_tokens(folder: Path) -> None:
    """What the tests above would see: without the escape the same payloads hold hundreds of them."""
    reader = read_by(folder)

    raw = json.dumps(list(hostile_payloads(PAYLOADS, markers=MARKERS)), ensure_ascii=False)
    assert len(reader.control_ids(raw)) > 20


def test_only_the_template_writes_control_tokens(case: Case) -> None:
    packet, prompt = made_of([WORD] * BATCH, case)

    written = case.reader.control_ids(case.renderer.write(packet, prompt=prompt))
    assert bool(written) == case.renderer.name.startswith("hf-chat")


def test_payloads_are_the_same_in_every_run_and_differ_among_themselves() -> None:
    payloads = list(hostile_payloads(2_000, markers=MARKERS))

    assert payloads == list(hostile_payloads(2_000, markers=MARKERS))
    assert len(set(payloads)) > 1_900
    assert distinct_characters(payloads) > 200


def distinct_characters(texts: Iterable[str]) -> int:
    return len(set().union(*map(set, texts)))
