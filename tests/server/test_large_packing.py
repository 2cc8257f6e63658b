"""Is a packet of 8,000 tokens, out of 200 candidates, packed exactly? (R22, R23)"""

import json
import random
from typing import Any

import pytest

from evidence.adapters import Adapter
from evidence.assembly import Assembled, assemble
from evidence.budget import Budget, TokenMeter
from evidence.envelope import Candidate
from evidence.packing import Overflow
from evidence.slots import Slot
from models.joined import JoinedCounter
from models.tokens import TOKENIZER_NAMES, get_counter
from tests.builders import candidate, claim, means, request, requires, retrieval, revision, snapshot, with_budget
from tests.hostile import HOSTILE_TEXTS

LIMIT = 8000
CANDIDATES = 200
SENTENCE = "the pump seal is inspected daily before a technician opens valve 7 at 2.5 bar (see note) and records it"
WIDE = with_budget(Slot.RETRIEVED_EVIDENCE, 10**6)


def passages() -> list[Candidate]:
    """200 passages of 10 to 150 words, some with hostile text in them; the last one fills a mandatory role."""
    made = random.Random(8000)
    found = []
    for number in range(CANDIDATES):
        words = [made.choice(SENTENCE.split()) for _ in range(made.randint(10, 150))]
        words.insert(made.randrange(len(words)), made.choice(HOSTILE_TEXTS))
        claims = {"limit": "25"} if number == CANDIDATES - 1 else {}
        text = " ".join(words)
        found.append(candidate(revision(f"S-{number:03}", text=text, claims=claims), text, rank=number + 1))
    return found


SELECTION = passages()
EVERYTHING = snapshot([one.facts for one in SELECTION])


def packed(tokenizer: str, *, max_tokens: int, adapter: Adapter = Adapter.JSON) -> tuple[Assembled, TokenMeter]:
    counter = get_counter(tokenizer)
    joined = JoinedCounter(counter)
    meter = TokenMeter(name=tokenizer, digest=counter.digest, count=counter.count, count_joined=joined.count)
    asked = request(
        query_class=WIDE,
        requirements=[requires("limit", claim("limit"))],
        budget=Budget(max_tokens=max_tokens),
        tokenizer=tokenizer,
        on_overflow=Overflow.OMIT_OPTIONAL,
        adapter=adapter,
    )
    answer = assemble(
        asked,
        snapshot=EVERYTHING,
        retrieval=retrieval(SELECTION),
        means=means(meter=meter),
        units_of=lambda _: (),
    )
    return answer, meter


@pytest.mark.parametrize("adapter", [Adapter.JSON, Adapter.OPENAI])
@pytest.mark.parametrize("tokenizer", TOKENIZER_NAMES)
def test_eight_thousand_tokens_out_of_two_hundred_candidates_are_packed_exactly(
    tokenizer: str, adapter: Adapter
) -> None:
    """The packet fits by a full count of its body, and the attempt with one block more, which was measured, does not;
    the mandatory passage is there although it is the last of the ranking."""
    answer, meter = packed(tokenizer, max_tokens=LIMIT, adapter=adapter)

    assert answer.rendered is not None
    body: Any = answer.rendered["body"]
    tokens: Any = answer.rendered["tokens"]
    manifest = json.loads(json.dumps(answer.manifest))
    kept = [item["source_id"] for item in json.loads(json.dumps(answer.packet))["evidence"]]
    attempts = manifest["packing"]["attempts"]
    assert meter.count(body) == tokens <= LIMIT
    assert kept == [f"S-{number:03}" for number in range(len(kept) - 1)] + [f"S-{CANDIDATES - 1:03}"]
    assert any(attempt["units"] == len(kept) + 1 and attempt["tokens"] > LIMIT for attempt in attempts)


@pytest.mark.parametrize("tokenizer", TOKENIZER_NAMES)
def test_the_same_packet_fits_its_own_size_and_loses_a_passage_one_token_below(tokenizer: str) -> None:
    first, _ = packed(tokenizer, max_tokens=LIMIT)
    assert first.rendered is not None
    size: Any = first.rendered["tokens"]

    same, _ = packed(tokenizer, max_tokens=size)
    smaller, _ = packed(tokenizer, max_tokens=size - 1)
    assert same.rendered == first.rendered
    assert smaller.rendered is not None
    assert smaller.rendered != first.rendered
