"""Do the packets of the sample's listed queries hold what they must, at exactly their size?"""

import json
from typing import Any

import pytest

from evidence.instant import Instant
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest
from tests.sample.shipped import ListedQuery, principal, queries

QUERIES = queries()
TOKENIZERS = ("o200k_base", "cl100k_base", "all-MiniLM-L6-v2")


def packet(pipeline: Pipeline, listed: ListedQuery, **more: Any) -> dict[str, Any]:
    request = parse({"query": listed.query, **listed.request, **more}, PacketRequest)
    return dict(pipeline.packet(request, principal(listed.principal)))


def revisions(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(one["namespace"], one["source_id"], one["revision"]) for one in answer["packet"]["evidence"]}


@pytest.mark.parametrize("listed", QUERIES, ids=lambda listed: listed.id)
def test_a_listed_packet_holds_what_it_must_and_nothing_it_must_not(
    sample_pipeline: Pipeline, listed: ListedQuery
) -> None:
    answer = packet(sample_pipeline, listed)

    assert answer["disposition"] == "accepted"
    assert set(listed.must_include) <= revisions(answer)
    assert not set(listed.must_not_include) & revisions(answer)
    assert json.loads(answer["rendered"]["body"]) == answer["packet"]
    if listed.state is not None:
        assert answer["state"] == listed.state


@pytest.mark.parametrize("listed", QUERIES, ids=lambda listed: listed.id)
def test_a_packet_is_accepted_at_its_exact_bytes_and_refused_one_below(
    sample_pipeline: Pipeline, listed: ListedQuery
) -> None:
    """R22, R23."""
    size = len(packet(sample_pipeline, listed)["rendered"]["body"].encode())

    exact = packet(sample_pipeline, listed, budget={"max_bytes": size})
    below = packet(sample_pipeline, listed, budget={"max_bytes": size - 1})
    assert (exact["disposition"], exact["rendered"]["bytes"]) == ("accepted", size)
    assert (below["disposition"], below["packet"], below["rendered"]) == ("refused-budget", None, None)
    assert (below["refusal"]["measure"], below["refusal"]["needed"], below["refusal"]["over"]) == ("bytes", size, 1)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("listed", QUERIES, ids=lambda listed: listed.id)
def test_a_packet_is_accepted_at_its_exact_tokens_and_refused_one_below(
    sample_pipeline: Pipeline, listed: ListedQuery, tokenizer: str
) -> None:
    """R22, R23."""
    tokens = packet(sample_pipeline, listed, budget={"tokenizer": tokenizer})["rendered"]["tokens"]

    exact = packet(sample_pipeline, listed, budget={"tokenizer": tokenizer, "max_tokens": tokens})
    below = packet(sample_pipeline, listed, budget={"tokenizer": tokenizer, "max_tokens": tokens - 1})
    assert (exact["disposition"], exact["rendered"]["tokens"]) == ("accepted", tokens)
    assert (below["disposition"], below["refusal"]["measure"], below["refusal"]["over"]) == (
        "refused-budget",
        "tokens",
        1,
    )


def test_a_window_counts_input_and_reserve_together(sample_pipeline: Pipeline) -> None:
    """R23."""
    listed = QUERIES[0]
    tokens = packet(sample_pipeline, listed, budget={"tokenizer": "o200k_base"})["rendered"]["tokens"]
    budget = {"tokenizer": "o200k_base", "reserved_output_tokens": 500}

    exact = packet(sample_pipeline, listed, budget={**budget, "window": tokens + 500})
    below = packet(sample_pipeline, listed, budget={**budget, "window": tokens + 499})
    assert exact["disposition"] == "accepted"
    assert below["refusal"]["measure"] == "window"


def test_equal_requests_give_equal_packets(sample_pipeline: Pipeline) -> None:
    """R31."""
    for listed in QUERIES[:10]:
        assert packet(sample_pipeline, listed)["packet_id"] == packet(sample_pipeline, listed)["packet_id"]


def test_the_clock_is_in_no_packet(sample_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """R30: within one interval of validity, the moment of asking changes nothing."""
    listed = QUERIES[0]
    first = packet(sample_pipeline, listed)["packet_id"]
    later = sample_pipeline.now() + 86_400_000_000
    monkeypatch.setattr(sample_pipeline._authority, "now", lambda: Instant(later))

    assert packet(sample_pipeline, listed)["packet_id"] == first
