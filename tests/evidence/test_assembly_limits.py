"""How large may an answer be: exactly at the limit, one beyond, and with optional units left out (R22, R23)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.assembly import Assembled
from evidence.budget import Budget, TokenMeter
from evidence.errors import InvalidRequest
from evidence.packing import Overflow
from evidence.request import PacketRequest
from evidence.state import Disposition
from tests.builders import (
    candidate,
    candidates,
    character_meter,
    claim,
    family,
    request,
    requires,
    revision,
    with_evidence_tokens,
    word_meter,
)
from tests.evidence.answers import BOTH, LIMIT, RULE, WIDE, answer, size, wire
from tests.hostile import HOSTILE_TEXTS

passages = st.lists(
    st.text(max_size=40) | st.sampled_from(HOSTILE_TEXTS) | st.sampled_from(["naïve café", "漢字かな交じり", "😀" * 5]),
    max_size=5,
)


def bounded(max_bytes: int, overflow: Overflow = Overflow.REFUSE) -> PacketRequest:
    return request(budget=Budget(max_bytes=max_bytes), on_overflow=overflow)


# Exactly at the limit


@settings(max_examples=40, deadline=None)
@given(passages)
def test_the_exact_size_is_accepted_and_one_byte_less_is_refused(texts: list[str]) -> None:
    """With multi-byte text, escapes and surrogate pairs. The size is what a client counts in the body."""
    free = answer(candidates(*texts), request())
    needed = len(wire(free)["rendered"]["body"].encode())

    exact, less = answer(candidates(*texts), bounded(needed)), answer(candidates(*texts), bounded(needed - 1))
    assert exact.rendered == free.rendered
    assert less.disposition is Disposition.REFUSED_BUDGET
    assert wire(less)["refusal"]["needed"] == needed
    assert wire(less)["refusal"]["over"] == 1


GATES: dict[str, Callable[[int], PacketRequest]] = {
    "tokens": lambda tokens: request(query_class=WIDE, budget=Budget(max_tokens=tokens)),
    "slot:retrieved-evidence": lambda tokens: request(query_class=with_evidence_tokens(tokens)),
    "window": lambda tokens: request(query_class=WIDE, budget=Budget(window=tokens + 50, reserved_output_tokens=50)),
}


@pytest.mark.parametrize("measure", GATES)
@settings(max_examples=15, deadline=None)
@given(texts=passages, meter=st.sampled_from([word_meter(), character_meter()]))
def test_the_exact_token_count_is_accepted_and_one_token_less_is_refused(
    measure: str, texts: list[str], meter: TokenMeter
) -> None:
    """The count is one of the whole body."""
    selection = candidates(*texts)
    free = answer(selection, meter=meter)
    needed = meter.count(wire(free)["rendered"]["body"])

    exact = answer(selection, GATES[measure](needed), meter=meter)
    less = answer(selection, GATES[measure](needed - 1), meter=meter)
    assert wire(exact)["rendered"]["tokens"] == needed
    assert exact.packet == free.packet
    assert less.disposition is Disposition.REFUSED_BUDGET
    assert wire(less)["refusal"]["measure"] == measure
    assert wire(less)["refusal"]["over"] == 1


@pytest.mark.parametrize(
    ("budget", "evidence_tokens", "measure"),
    [
        (Budget(max_bytes=9, max_tokens=9, window=9), 9, "bytes"),
        (Budget(max_tokens=9, window=9), 9, "tokens"),
        (Budget(window=9), 9, "slot:retrieved-evidence"),
        (Budget(window=9), 10**6, "window"),
    ],
)
def test_a_refusal_names_the_first_limit_that_is_broken(budget: Budget, evidence_tokens: int, measure: str) -> None:
    asked_for = request(query_class=with_evidence_tokens(evidence_tokens), budget=budget)

    assert wire(answer([LIMIT], asked_for, meter=character_meter()))["refusal"]["measure"] == measure


def test_a_token_limit_without_a_tokenizer_is_an_error_and_no_answer() -> None:
    with pytest.raises(InvalidRequest):
        answer([LIMIT], request(budget=Budget(max_tokens=10**6)))
    with pytest.raises(InvalidRequest):
        answer([LIMIT], request(budget=Budget(max_tokens=10**6), version="sha256:another"))


def test_the_slot_budget_of_the_class_applies_only_where_a_tokenizer_is_named() -> None:
    small = request(query_class=with_evidence_tokens(1))

    assert answer([LIMIT], small).disposition is Disposition.ACCEPTED
    assert answer([LIMIT], small, meter=character_meter()).disposition is Disposition.REFUSED_BUDGET


# The mandatory floor


def test_the_mandatory_floor_is_the_smallest_budget_under_which_omit_optional_gives_a_packet() -> None:
    asked_for = request(requirements=BOTH[:1], budget=Budget(max_bytes=1))
    floor = wire(answer([RULE, LIMIT], asked_for))["refusal"]["mandatory_floor"]

    def with_budget(max_bytes: int) -> Assembled:
        changed = replace(asked_for, budget=Budget(max_bytes=max_bytes), on_overflow=Overflow.OMIT_OPTIONAL)
        return answer([RULE, LIMIT], changed)

    assert size(with_budget(floor)) == floor
    assert with_budget(floor - 1).disposition is Disposition.REFUSED_BUDGET


def test_a_refusal_says_truly_whether_omit_optional_would_fit() -> None:
    selection = [LIMIT, *candidates("optional")]
    for max_bytes in range(100, size(answer(selection)), 97):
        budget = Budget(max_bytes=max_bytes)
        refused = wire(answer(selection, request(requirements=BOTH[:1], budget=budget)))["refusal"]
        other = answer(selection, request(requirements=BOTH[:1], budget=budget, on_overflow=Overflow.OMIT_OPTIONAL))

        assert refused["tried"] == ["omit-optional"]
        assert (refused["would_fit"] == ["omit-optional"]) is (other.disposition is Disposition.ACCEPTED)


# Leaving out


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text(max_size=60), min_size=1, max_size=6),
    required=st.sets(st.integers(1, 6)),
    optional=st.sets(st.integers(1, 6)),
    percent=st.integers(40, 100),
)
def test_omit_optional_leaves_out_an_end_of_the_packing_order_and_nothing_mandatory(
    texts: list[str], required: set[int], optional: set[int], percent: int
) -> None:
    """Background goes first, worst rank first; then conditional evidence; mandatory evidence never. What is kept is
    as much as fits: one unit more would have been too much."""
    ranks = range(1, len(texts) + 1)
    selection = [candidate(revision(f"S-{rank}", family=f"{rank}"), texts[rank - 1], rank=rank) for rank in ranks]
    roles = [requires(f"must {rank}", family(f"{rank}")) for rank in sorted(required)]
    roles += [requires(f"may {rank}", family(f"{rank}"), mandatory=False) for rank in sorted(optional)]
    order = [rank for rank in ranks if rank in required]
    order += [rank for rank in ranks if rank in optional - required]
    order += [rank for rank in ranks if rank not in required | optional]
    allowed = size(answer(selection, request(requirements=roles))) * percent // 100

    outcome = wire(
        answer(
            selection,
            request(requirements=roles, budget=Budget(max_bytes=allowed), on_overflow=Overflow.OMIT_OPTIONAL),
        )
    )
    attempts = outcome["manifest"]["packing"]["attempts"]
    if outcome["packet"] is None:
        assert outcome["refusal"]["mandatory_floor"] > allowed
        return
    kept = [int(item["source_id"].removeprefix("S-")) for item in outcome["packet"]["evidence"]]
    assert kept == sorted(order[: len(kept)])
    assert required & set(ranks) <= set(kept)
    assert outcome["rendered"]["bytes"] <= allowed
    assert outcome["packet"]["cut"] is (len(kept) < len(texts))
    assert all(attempt["bytes"] > allowed for attempt in attempts if attempt["units"] == len(kept) + 1)


def test_what_is_left_out_is_listed_with_its_reason() -> None:
    """In selection order; the packet says that it was cut, and that it is not exhaustive."""
    selection = candidates("first", "second", "third", "fourth")
    room = size(answer(selection[:2])) + 10

    whole = wire(answer(selection, bounded(room, Overflow.OMIT_OPTIONAL)))
    assert whole["packet"]["cut"] is True
    assert whole["packet"]["coverage"]["exhaustive"] is False
    assert whole["manifest"]["omissions"]["items"] == [
        {"reason": "omitted-budget", "unit_id": "blue/S-3@1#0"},
        {"reason": "omitted-budget", "unit_id": "blue/S-4@1#0"},
    ]
    assert whole["manifest"]["mandatory_truncated"] is False


def test_a_passage_is_kept_whole_or_not_at_all() -> None:
    """R22: no policy cuts inside a unit."""
    selection = candidates("first passage", "second passage", "third passage")
    texts = {found.unit.text for found in selection}

    for max_bytes in range(size(answer([])), size(answer(selection)), 83):
        packet = answer(selection, bounded(max_bytes, Overflow.OMIT_OPTIONAL)).packet
        if packet is not None:
            evidence = packet["evidence"]
            assert isinstance(evidence, list)
            assert {item["text"] for item in evidence} <= texts


def test_a_role_whose_unit_was_left_out_is_not_selected_and_its_claim_prohibited() -> None:
    optional = [requires("limit", claim("max"), mandatory=False)]
    long_limit = candidate(LIMIT.facts, "at most 25 MB " * 40)
    room = size(answer([RULE])) + 100

    whole = wire(
        answer(
            [RULE, long_limit],
            request(requirements=optional, budget=Budget(max_bytes=room), on_overflow=Overflow.OMIT_OPTIONAL),
        )
    )
    assert whole["packet"]["coverage"] == {
        "roles": [{"role": "limit", "state": "not-selected", "handles": []}],
        "exhaustive": False,
        "prohibited_claims": ["max"],
    }


def test_everything_that_a_refusal_refused_is_listed() -> None:
    whole = wire(answer(candidates("first", "second"), bounded(1)))

    assert whole["manifest"]["omissions"]["items"] == [
        {"reason": "omitted-budget", "unit_id": "blue/S-1@1#0"},
        {"reason": "omitted-budget", "unit_id": "blue/S-2@1#0"},
    ]
