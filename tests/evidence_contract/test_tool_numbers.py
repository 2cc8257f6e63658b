"""Does a number that a tool gave reach the model, the aggregates and the manifest as the body wrote it? (R24)"""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evidence.strict_json import loads_exactly
from server.replaying import replay
from tests.evidence_contract.answers import Answer
from tests.evidence_contract.over_http import Caller, served
from tests.evidence_contract.slot_world import BLUE, answer, contents
from tests.muniment.commands import run

# as a body writes it -> as a model reads it: no exponent, and not one digit less
WRITTEN = {
    "0.10": "0.10",
    "1234567890.123456789": "1234567890.123456789",
    "12345678901234567.5": "12345678901234567.5",
    "-0.0": "-0.0",
    "1.50e3": "1500",
    "1E-7": "0.0000001",
}
BODY = (
    '{"query": "how long are files kept", "adapter": "openai", "tool_results": [{"tool": "t", "columns": ["x"],'
    f' "rows": [{", ".join(f"[{number}]" for number in WRITTEN)}]}}]}}'
)


@pytest.fixture(scope="module", name="caller")
def fixture_caller(slot_catalog: Path) -> Iterator[Caller]:
    with served(slot_catalog) as caller:
        yield caller


def has_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_float, value.values()))
    return any(map(has_float, value)) if isinstance(value, list) else isinstance(value, float)


def shown(found: Answer) -> list[str]:
    """The cells that the model reads."""
    (result,) = contents(found)["tool-results"]["results"]
    return [cell for (cell,) in result["rows"]]


def asked(found: Answer) -> list[str]:
    """The cells of the request, as the manifest keeps it."""
    (result,) = found["manifest"]["request"]["tool_results"]
    return [cell["decimal"] for (cell,) in result["rows"]]


def test_the_model_and_the_manifest_get_every_digit_over_http(caller: Caller) -> None:
    """R31: and neither holds a float."""
    response = caller.post_bytes(BLUE, "/v1/packets", BODY.encode())

    found = response.json()
    assert shown(found) == asked(found) == list(WRITTEN.values())
    assert not has_float({name: part for name, part in found.items() if name != "run"})
    assert not has_float(contents(found))


def test_a_number_too_long_to_be_kept_is_refused_with_its_place_over_http(caller: Caller) -> None:
    response = caller.post_bytes(BLUE, "/v1/packets", BODY.replace("0.10", "0." + "1" * 400).encode())

    assert response.status_code == 400
    assert "$.tool_results[0].rows[0][0]: a number has at most 400 digits" in response.json()["detail"]


def test_two_numbers_that_one_double_stands_for_are_two_requests(caller: Caller) -> None:
    """R31, R35: were they one, the second caller would get the first one's packet."""
    other = BODY.replace("12345678901234567.5", "12345678901234567.25")

    first, second = (caller.post_bytes(BLUE, "/v1/packets", text.encode()).json() for text in (BODY, other))
    assert first["packet_id"] != second["packet_id"]


def test_a_packet_with_such_numbers_replays_identically(caller: Caller, slot_pipeline: Any) -> None:
    """R32."""
    found = caller.post_bytes(BLUE, "/v1/packets", BODY.encode()).json()

    for read in (json.loads, lambda text: loads_exactly(text.encode())):
        manifest = read(json.dumps(found["manifest"]))
        assert replay(slot_pipeline, manifest, BLUE, code_of=lambda _: None).layer is None


def test_the_command_line_keeps_every_digit_of_a_request_file(
    sample_catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request, asker = tmp_path / "request.json", tmp_path / "blue.json"
    request.write_text(BODY.replace('"query": "how long are files kept", ', ""))
    asker.write_text('{"sub": "ann", "tenant": "blue"}')

    ran = run(capsys, "packet", sample_catalog, "upload limit", "--as", asker, "--request", request, "--json")
    found = json.loads(ran.out)
    assert shown(found) == asked(found) == list(WRITTEN.values())


def test_aggregates_are_exact_over_what_was_written(with_budgets: Callable[..., Any]) -> None:
    """Against rational arithmetic over the texts; as doubles the sums are others."""
    texts = [f"{number}.{number:03}10" for number in range(12_345_678_901_230_000, 12_345_678_901_230_400)]
    body = f'[{{"tool": "t", "columns": ["x"], "rows": [{", ".join(f"[{text}]" for text in texts)}]}}]'

    with with_budgets({}, tool_overflow="aggregate") as pipeline:
        found = answer(pipeline, query_class="tight", tool_results=loads_exactly(body.encode()))
    (result,) = contents(found)["tool-results"]["results"]
    (column,) = result["aggregates"]
    assert (result["rows_shown"], column["count"]) == (0, 400)
    assert Fraction(column["sum"]) == sum(map(Fraction, texts)) != sum(Fraction(float(text)) for text in texts)
    assert (column["min"], column["max"]) == (texts[0], texts[-1])
    assert Decimal(column["sum"]).as_tuple().exponent == Decimal(texts[0]).as_tuple().exponent
