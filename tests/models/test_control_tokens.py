"""No text becomes control (R26), for every adapter, read by the tokenizers of five families.

Payloads stand wherever something from outside can stand, in packets that are packed as a server packs them. The ids of
added tokens in a body must be those of the same body with plain words: what the template wrote, and nothing else. And
each packet is accepted at exactly what its body measures and refused one below (R22, R23).
"""

import itertools
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import tokenizers

from evidence.adapters import Adapter, renderer_for
from evidence.assembly import Assembled
from evidence.budget import Budget, TokenMeter
from evidence.canonical import canonical
from evidence.chat import ChatTemplate
from evidence.state import Disposition, State
from models.joined import JoinedCounter
from models.local_tokenizer import LocalTokenizer, is_layout
from models.templates import open_template
from tests.hostile import CONTROL_TOKENS
from tests.hostile_payloads import hostile_payloads
from tests.models.chat_families import FAMILIES, Family, save_family
from tests.models.hostile_packets import BATCH, BESIDE, SAID, WORD, Question, batches, question

PAYLOADS, SOAK_PAYLOADS = 2 * BATCH, 20_000
MARKERS = tuple(dict.fromkeys((*CONTROL_TOKENS, *itertools.chain(*(family.controls for family in FAMILIES)))))
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
    """An adapter, and the family whose model reads what it writes. template: for a model that runs on one."""

    adapter: Adapter
    reader: Reader
    template: ChatTemplate | None

    def question(self, texts: list[str]) -> Question:
        return question(texts, adapter=self.adapter, template=self.template)

    def counted(self, texts: list[str]) -> Question:
        """... with the family's tokens counted, but for the provider that publishes no tokenizer (R23)."""
        asked, counter = self.question(texts), self.reader.counter
        if self.adapter is Adapter.ANTHROPIC:
            return asked
        count = JoinedCounter(counter).count
        return asked.counted_by(
            TokenMeter(name=counter.name, digest=counter.digest, count=counter.count, count_joined=count)
        )

    def body(self, texts: list[str]) -> str:
        return body_of(self.question(texts).answer(Budget()))


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
    return Case(adapter=adapter, reader=read_by(folder), template=template)


def body_of(answer: Assembled) -> str:
    assert answer.rendered is not None
    body = answer.rendered["body"]
    assert isinstance(body, str)
    return body


def payloads(count: int) -> list[str]:
    return list(hostile_payloads(count, markers=MARKERS))


def assert_inert(case: Case, texts: list[str], *, plain: list[int]) -> None:
    answer = case.question(texts).answer(Budget())
    body = body_of(answer)
    ids = case.reader.ids(body)

    assert [token for token in ids if token in case.reader.controls] == plain
    read_back = renderer_for(case.adapter, case.template).parse(body)
    assert answer.packet is not None
    assert canonical(read_back) == canonical(answer.packet)
    assert_exact(case, texts, body=body, tokens=len(ids))


def assert_exact(case: Case, texts: list[str], *, body: str, tokens: int) -> None:
    """R22, R23: packed at what the body measures and at one more, and refused at one byte or one token less. What it
    measures is counted here, by the library that the family's file is made for."""
    asked, needed = case.counted(texts), {"bytes": len(body.encode()), "tokens": tokens}
    if asked.means.meter is None:
        del needed["tokens"]
    for over in (0, 1):
        accepted = asked.answer(limited({measure: size + over for measure, size in needed.items()}))
        assert accepted.rendered is not None
        assert accepted.rendered["body"] == body
        assert {measure: accepted.rendered[measure] for measure in needed} == needed
    for measure, size in needed.items():
        refused = asked.answer(limited({**needed, measure: size - 1}))
        assert (refused.disposition, refused.packet) == (Disposition.REFUSED_BUDGET, None)
        assert refused.refusal is not None
        assert {name: refused.refusal[name] for name in ("measure", "needed", "over")} == {
            "measure": measure,
            "needed": size,
            "over": 1,
        }


def limited(sizes: Mapping[str, int]) -> Budget:
    return Budget(max_bytes=sizes["bytes"], max_tokens=sizes.get("tokens"))


def assert_all_inert(case: Case, count: int) -> None:
    plain = case.reader.control_ids(case.body([WORD] * BATCH))
    for batch in batches(payloads(count)):
        assert_inert(case, batch, plain=plain)


def test_no_payload_becomes_a_control_token_and_every_packet_is_exact_and_read_back(case: Case) -> None:
    assert_all_inert(case, PAYLOADS)


@pytest.mark.soak
def test_none_of_twenty_thousand_payloads_becomes_a_control_token_and_every_packet_is_exact(case: Case) -> None:
    assert_all_inert(case, SOAK_PAYLOADS)


@pytest.mark.parametrize("form", NORMAL_FORMS)
def test_a_body_in_another_form_opens_no_new_delimiter(case: Case, form: str) -> None:
    """Someone may normalize or casefold it on the way: still no `<` and no `[` that the frame did not have."""
    change = NORMAL_FORMS[form]
    plain = change(case.body([WORD] * BATCH))

    for batch in batches(payloads(PAYLOADS)):
        changed = change(case.body(batch))
        assert {mark: changed.count(mark) for mark in "<[｜"} == {mark: plain.count(mark) for mark in "<[｜"}
        assert case.reader.control_ids(changed) == case.reader.control_ids(plain)


def test_payloads_written_raw_do_become_control_tokens(folder: Path) -> None:
    """What the tests above would see: without the escape the same payloads hold hundreds of them."""
    reader = read_by(folder)

    raw = json.dumps(payloads(PAYLOADS), ensure_ascii=False)
    assert len(reader.control_ids(raw)) > 20


def test_only_the_template_writes_control_tokens(case: Case) -> None:
    written = case.reader.control_ids(case.body([WORD] * BATCH))

    assert bool(written) == (case.adapter is Adapter.HF_CHAT)


def test_each_payload_of_a_packet_stands_in_its_body_or_in_its_manifest(case: Case) -> None:
    """Claimed values and what fills no role are in the manifest alone; `json` renders the evidence alone, so that what
    stands in other slots is not asked there."""
    texts = [f"payload-{number}-" for number in range(BATCH)]
    answer = case.question(texts).answer(Budget())

    body, record = body_of(answer), canonical(answer.manifest).decode()
    asked = texts[:-SAID] if case.adapter is Adapter.JSON else texts
    assert [text for text in asked if text not in body + record] == []
    assert [text for text in texts[:-BESIDE] if text not in body] == []
    assert [text for text in asked[BATCH - SAID :] if text not in body] == []
    assert answer.state is State.CONFLICTING


def test_payloads_are_the_same_in_every_run_and_differ_among_themselves() -> None:
    made = payloads(2_000)

    assert made == payloads(2_000)
    assert len(set(made)) > 1_900
    assert distinct_characters(made) > 200


def distinct_characters(texts: Iterable[str]) -> int:
    return len(set().union(*map(set, texts)))
