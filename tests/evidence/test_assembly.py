"""From a ranked selection to an answer: its shape, its state, and what must never get through."""

import json

import pytest

from evidence.assembly import assemble, is_stale_version, refuse
from evidence.budget import Budget, TokenMeter
from evidence.canonical import Json
from evidence.envelope import Candidate
from evidence.errors import BrokenGuarantee
from evidence.request import Strategy
from evidence.revision import RevisionFacts, Status
from evidence.state import Behaviour, Disposition, State
from tests.builders import (
    RED,
    candidate,
    candidates,
    claim,
    eligibility,
    family,
    means,
    request,
    requires,
    retrieval,
    revision,
    snapshot,
    word_meter,
)
from tests.evidence.answers import BOTH, LIMIT, RULE, answer, units_of, wire

# The shape of an answer (the contract of `POST /v1/packets`)


def test_an_accepted_answer_has_the_fields_of_the_contract_and_no_other() -> None:
    whole = wire(answer([LIMIT, RULE], request(requirements=BOTH)))

    assert set(whole) == {
        "packet_id", "disposition", "state", "behaviour", "packet", "rendered", "refusal", "manifest",
    }  # fmt: skip
    assert set(whole["packet"]) == {
        "schema", "catalog_version", "namespace", "strategy", "as_of", "use", "evidence", "cut", "conflict_groups",
        "coverage",
    }  # fmt: skip
    assert set(whole["packet"]["coverage"]) == {"roles", "exhaustive", "prohibited_claims"}
    assert set(whole["rendered"]) == {"adapter", "body", "bytes", "tokens", "tokenizer", "slots"}
    assert whole["refusal"] is None


def test_an_evidence_item_says_whose_text_it_is_and_that_it_is_not_to_be_trusted() -> None:
    facts = revision("SB 7", "2", namespace="public", title="Latches", status=Status.CURRENT)
    found = candidate(facts, "Inspect the latch.", start=40)

    assert wire(answer([found]))["packet"]["evidence"] == [
        {
            "handle": wire(answer([found]))["manifest"]["handles"][0]["handle"],
            "namespace": "public",
            "source_id": "SB 7",
            "revision": "2",
            "title": "Latches",
            "heading": [],
            "span": [40, 58],
            "status": "current",
            "support_role": "background",
            "conflict_group": None,
            "trust": "untrusted-retrieved-data",
            "text": "Inspect the latch.",
        }
    ]


def test_the_rendered_part_says_what_was_measured_and_with_which_tokenizer() -> None:
    rendered = wire(answer([LIMIT], request(), meter=word_meter()))["rendered"]

    words = len(rendered["body"].split())
    assert rendered["adapter"] == "json"
    assert rendered["bytes"] == len(rendered["body"].encode())
    assert rendered["tokens"] == words
    assert rendered["tokenizer"] == "words"
    assert rendered["slots"] == [
        {"slot": "retrieved-evidence", "trust": "untrusted", "tokens": words, "budget": 6000, "notice": None}
    ]


def test_without_a_tokenizer_nothing_is_said_about_tokens() -> None:
    rendered = wire(answer([LIMIT]))["rendered"]

    assert rendered["tokens"] is rendered["tokenizer"] is None
    assert rendered["slots"] == [
        {"slot": "retrieved-evidence", "trust": "untrusted", "tokens": None, "budget": None, "notice": None}
    ]


def test_a_refused_answer_holds_no_packet_and_fails_closed() -> None:
    whole = wire(answer([LIMIT], request(budget=Budget(max_bytes=1))))

    assert whole["packet"] is whole["rendered"] is None
    assert whole["disposition"] == "refused-budget"
    assert whole["behaviour"] == "fail-closed"
    assert whole["refusal"] == whole["manifest"]["refusal"]


def test_evidence_keeps_the_order_of_the_selection_whatever_is_required() -> None:
    """The packing order decides what survives, not where it stands."""
    selection = [*candidates("first", "second"), LIMIT]

    evidence = wire(answer(selection, request(requirements=BOTH)))["packet"]["evidence"]
    assert [item["source_id"] for item in evidence] == ["S-1", "S-2", "A"]


def test_a_broad_selection_is_a_packet_like_any_other() -> None:
    packet = wire(answer([LIMIT, RULE], request(strategy=Strategy.BROAD)))["packet"]

    assert packet["strategy"] == "broad"
    assert packet["coverage"]["exhaustive"] is True


# State and behaviour


@pytest.mark.parametrize(
    ("selection", "state", "behaviour"),
    [
        ([LIMIT, RULE], State.SUPPORTED, Behaviour.ANSWER),
        ([LIMIT], State.PARTIAL, Behaviour.PARTIAL),
        ([], State.ABSENT, Behaviour.ABSTAIN),
    ],
)
def test_the_state_follows_the_required_roles(selection: list[Candidate], state: State, behaviour: Behaviour) -> None:
    """R28: all of these are accepted; abstaining is no refusal."""
    outcome = answer(selection, request(requirements=BOTH))

    assert (outcome.state, outcome.behaviour) == (state, behaviour)
    assert outcome.disposition is Disposition.ACCEPTED


def test_without_requirements_the_state_is_unassessed_or_absent() -> None:
    assert answer([LIMIT]).state is State.UNASSESSED
    assert answer([]).state is State.ABSENT


def test_optional_requirements_alone_leave_the_state_unassessed() -> None:
    optional = [requires("warranty", claim("warranty"), mandatory=False)]

    assert answer([LIMIT], request(requirements=optional)).state is State.UNASSESSED
    assert answer([], request(requirements=optional)).state is State.ABSENT


def test_a_mandatory_role_that_only_stale_evidence_would_fill_makes_the_state_stale() -> None:
    old = revision("C", claims={"max": "10"}, status=Status.SUPERSEDED)

    outcome = answer([RULE], request(requirements=BOTH), beside=[old])
    assert (outcome.state, outcome.behaviour) == (State.STALE, Behaviour.ABSTAIN)
    assert wire(outcome)["manifest"]["omissions"]["items"] == [
        {"reason": "stale", "namespace": "blue", "source_id": "C", "revision": "1"}
    ]


def test_stale_evidence_gives_a_reason_and_never_content() -> None:
    """R16."""
    old = revision("C", title="Secret title", owner="Secret owner", claims={"max": "10"}, status=Status.SUPERSEDED)

    assert "Secret" not in json.dumps(wire(answer([RULE], request(requirements=BOTH), beside=[old])))


def test_a_required_thing_in_another_tenant_is_answered_like_one_that_does_not_exist() -> None:
    """R7."""
    hidden = revision("H", namespace=RED, family="warranty")
    asked_for = request(requirements=[requires("warranty", family("warranty"))])

    assert answer([LIMIT], asked_for, beside=[hidden]) == answer([LIMIT], asked_for)
    assert answer([LIMIT], asked_for).state is State.ABSENT


def test_a_refusal_tells_the_state_of_the_complete_selection() -> None:
    """So that a caller knows what a larger budget would give."""
    outcome = answer([LIMIT, RULE], request(requirements=BOTH, budget=Budget(max_bytes=1)))

    assert outcome.state is State.SUPPORTED
    assert outcome.behaviour is Behaviour.FAIL_CLOSED
    assert outcome.manifest["inclusions"] == []


# Another catalog version


def test_a_demanded_version_that_is_not_at_hand_gives_stale_version_and_nothing_of_the_selection() -> None:
    """R29."""
    whole = wire(answer([LIMIT], request(version="sha256:another")))

    assert whole["disposition"] == "stale-version"
    assert whole["behaviour"] == "fail-closed"
    assert whole["packet"] is whole["rendered"] is whole["refusal"] is None
    assert whole["manifest"]["inclusions"] == whole["manifest"]["omissions"]["items"] == []


def test_the_version_at_hand_may_be_demanded() -> None:
    seen = snapshot([LIMIT.facts])

    assert not is_stale_version(request(version=seen.catalog_version), snapshot=seen)
    assert answer([LIMIT], request(version=seen.catalog_version)).disposition is Disposition.ACCEPTED


def test_refusing_a_version_needs_no_retrieval_and_gives_the_same_answer() -> None:
    asked_for, seen = request(version="sha256:another"), snapshot([LIMIT.facts])

    early = refuse(asked_for, Disposition.STALE_VERSION, snapshot=seen, layers=retrieval([]).layers, means=means())
    assert early == answer([LIMIT], asked_for)


# What must never get through


@pytest.mark.parametrize(
    "facts",
    [
        revision("A", status=Status.SUPERSEDED),
        revision("A", status=Status.REVOKED),
        revision("A", effective_from="2026-01-01"),
        revision("A", namespace=RED),
        revision("A", applies_to=["k1"]),
    ],
)
def test_a_selection_with_a_unit_that_may_not_be_used_makes_no_packet(facts: RevisionFacts) -> None:
    """R2: checked where the answer is made, in production too."""
    with pytest.raises(BrokenGuarantee):
        answer([candidate(facts, "text")], asked=eligibility(subject="k2"))


def test_facts_that_are_not_those_of_the_snapshot_make_no_packet() -> None:
    """R5: a candidate from before a change of its revision does not get through."""
    before, after = candidate(revision("A", title="before"), "text"), revision("A", title="after")

    with pytest.raises(BrokenGuarantee):
        assemble(
            request(),
            snapshot=snapshot([after]),
            retrieval=retrieval([before]),
            means=means(),
            units_of=units_of([before]),
        )


@pytest.mark.parametrize(("tokenizer", "meter"), [("words", None), (None, word_meter())])
def test_a_named_tokenizer_always_counts_and_no_other_ever_does(
    tokenizer: str | None, meter: TokenMeter | None
) -> None:
    """R23."""
    asked_for, seen = request(tokenizer=tokenizer), snapshot([LIMIT.facts])

    with pytest.raises(BrokenGuarantee):
        assemble(
            asked_for, snapshot=seen, retrieval=retrieval([LIMIT]), means=means(meter=meter), units_of=units_of([LIMIT])
        )


def test_a_unit_is_never_selected_twice() -> None:
    with pytest.raises(BrokenGuarantee):
        answer([LIMIT, LIMIT])


def test_the_answer_is_plain_data() -> None:
    """Written as JSON and read again it is the same: lists, strings, integers, objects and nothing else."""
    for outcome in (answer([LIMIT]), answer([LIMIT], request(budget=Budget(max_bytes=1)))):
        packet: Json = outcome.packet

        assert packet == wire(outcome)["packet"]
        assert outcome.rendered == wire(outcome)["rendered"]
        assert outcome.refusal == wire(outcome)["refusal"]
