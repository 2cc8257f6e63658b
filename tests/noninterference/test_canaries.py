"""Does a hidden word come out anywhere, or a caller's own where an operator reads? (R2, R7, R8)"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from server import opening
from server.metrics import Metrics
from tests.muniment.commands import Ran, run
from tests.noninterference.bench import Bench
from tests.noninterference.canaries import (
    ANN,
    CANARY,
    QUERY,
    SECRET,
    UNENCODABLE,
    FailingEncoder,
    everything,
    listen,
    world,
)
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.mutants.telemetry import NAMED_IN_LOG

PRINCIPAL = {"sub": ANN.who.sub, "tenant": ANN.who.tenant, "roles": list(ANN.who.roles), "scope": ["search"]}
ROLES = [{"role": "limit", "match": {"claim": "limit"}}, {"role": "source", "match": {"source_id": "S-7"}}]
PACKET = ANN.packet(QUERY, requirements=[{"role": "limit", "match": {"claim": "limit", "value": "20"}}])
"""Only hidden sources claim that."""
Command = Callable[..., Ran]


def test_no_hidden_word_comes_out_and_no_word_of_a_caller_where_an_operator_reads(bench: Bench) -> None:
    """R2, R7, R8: asked of every route, rightly and wrongly, also while the models and the catalog fail."""
    heard = listen(bench, everything())

    assert {answer.status for answer in heard.responses} >= {200, 400, 401, 403, 404, 422, 500, 503}
    assert heard.seen_by_caller() == []
    assert heard.log.count("a packet was answered") > 10
    assert "held back" not in heard.log  # nothing had to be kept from leaving at the last moment
    assert "muniment_packets_total" in heard.metrics
    assert heard.seen_by_operator() == []


def test_a_hidden_name_in_the_log_is_noticed(bench: Bench) -> None:
    """Fault 24."""
    with NAMED_IN_LOG.switched_on():
        heard = listen(bench, [PACKET])

    assert f"{CANARY}-0" in heard.seen_by_operator()


def test_a_word_of_the_caller_in_a_label_of_the_counters_is_noticed(bench: Bench) -> None:
    count = Metrics.packet

    def count_by_query(self: Metrics, body: Any) -> None:
        count(self, body)
        self._left_out.labels(reason=body["manifest"]["request"]["query"]).inc()

    with replacing(Metrics, "packet", count_by_query)():
        heard = listen(bench, [PACKET])

    assert SECRET in heard.seen_by_operator()


@pytest.fixture(name="command")
def fixture_command(tmp_path: Path, bench: Bench, capsys: pytest.CaptureFixture[str]) -> Any:
    """Calls run a command over the catalog of that world, as that caller."""
    who = tmp_path / "ann.json"
    who.write_text(json.dumps(PRINCIPAL), encoding="utf-8")
    with (
        bench.catalog(world()) as directory,
        mock.patch.object(opening, "open_encoder", return_value=FailingEncoder()),
    ):
        yield lambda name, *arguments: run(capsys, name, directory, *arguments, "--as", who)


@pytest.mark.parametrize("query", [QUERY, f"{QUERY} {UNENCODABLE}"])
def test_no_hidden_word_is_in_what_the_command_line_writes(tmp_path: Path, command: Command, query: str) -> None:
    request, manifest = tmp_path / "request.json", tmp_path / "manifest.json"
    request.write_text(json.dumps({"requirements": ROLES, "strategy": "broad"}), encoding="utf-8")
    packed = command("packet", query, "--request", request, "--json")
    manifest.write_text(json.dumps(json.loads(packed.out)["manifest"]), encoding="utf-8")

    ran = [
        packed,
        command("packet", query),
        command("search", query, "-k", "20"),
        command("search", query, "--json", "--use", "historical"),
        command("replay", manifest),
        command("search", query, "-k", "0"),
        command("search", query, "--purpose", "audit"),
        command("packet", query, "--request", tmp_path / "missing.json"),
    ]

    assert {one.status for one in ran} == {0, 2}
    assert [one for one in ran if CANARY in one.out + one.err] == []
    assert [one.err for one in ran if SECRET in one.err] == []
