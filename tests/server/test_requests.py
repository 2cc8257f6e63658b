"""Tests of `server/requests.py`: what a packet request means, and what is refused before anything is read."""

from pathlib import Path
from typing import Any

import pytest

from evidence.adapters import Adapter
from evidence.authority_rules import NO_RULES
from server.errors import Invalid
from server.parsing import parse
from server.profiles import load_profiles
from server.query_classes import load_query_classes
from server.requests import Requests
from server.schemas import PacketRequest
from tests.models.chat_families import FAMILIES, save_family
from tests.worlds import principal

ANN = principal("blue")
REQUESTS = Requests(classes=load_query_classes(None), profiles={}, rules=NO_RULES)


def resolved(body: dict[str, Any], requests: Requests = REQUESTS) -> Any:
    return requests.resolve(parse({"query": "q", **body}, PacketRequest), ANN)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"budget": {"max_tokens": 5}}, "$.budget.max_tokens"),
        ({"budget": {"window": 5}}, "$.budget.window"),
        ({"budget": {"tokenizer": "gpt-9"}}, "$.budget.tokenizer"),
        ({"budget": {"tokenizer": "model:none"}}, "$.budget.tokenizer"),
        ({"budget": {"tokenizer": "hf:/etc"}}, "$.budget.tokenizer"),
        ({"adapter": "anthropic", "budget": {"max_tokens": 5}}, "$.budget.max_tokens"),
        ({"adapter": "anthropic", "budget": {"tokenizer": "o200k_base"}}, "$.budget.tokenizer"),
        ({"adapter": "hf-chat"}, "$.adapter"),
        ({"model": "none"}, "$.model"),
        ({"query_class": "none"}, "$.query_class"),
        ({"conversation": [{"role": "user", "content": "x"}]}, "$.conversation"),
        ({"tool_results": [{"tool": "t", "columns": ["a"], "rows": [["x"]]}]}, "$.tool_results"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_at_its_place(body: dict[str, Any], path: str) -> None:
    """R23: no estimate stands in for a count. R24: `json` renders evidence only."""
    with pytest.raises(Invalid) as refused:
        resolved(body)

    assert refused.value.path == path


def test_bytes_work_where_the_provider_publishes_no_tokenizer() -> None:
    request, means = resolved({"adapter": "anthropic", "budget": {"max_bytes": 9000}})

    assert (request.budget.max_bytes, means.meter) == (9000, None)


def test_a_model_fills_in_what_the_request_leaves_open_and_hides_where_its_files_lie(tmp_path: Path) -> None:
    family = FAMILIES[0]
    (tmp_path / "weights").mkdir()
    save_family(family, tmp_path / "weights")
    file = tmp_path / "models.json"
    file.write_text(
        '{"profiles": [{"name": "local", "adapter": "hf-chat", "folder": "weights", "window": 4096,'
        ' "reserved_output_tokens": 512}]}'
    )
    requests = Requests(classes=load_query_classes(None), profiles=load_profiles(file), rules=NO_RULES)

    request, means = resolved({"model": "local"}, requests)
    assert (request.adapter, request.tokenizer) == (Adapter.HF_CHAT, "model:local")
    assert (request.budget.window, request.budget.reserved_output_tokens) == (4096, 512)
    assert means.meter.name == "model:local"
    assert str(tmp_path) not in repr(means.model) + repr(means.meter.record())

    named, _ = resolved({"model": "local", "budget": {"window": 9, "reserved_output_tokens": 0}}, requests)
    assert (named.budget.window, named.budget.reserved_output_tokens) == (9, 0)


def refusal(body: dict[str, Any]) -> str:
    with pytest.raises(Invalid) as refused:
        resolved(body)
    return refused.value.detail


@pytest.mark.parametrize("name", ["hf:/models/mine", "model:none"])
def test_an_unknown_local_tokenizer_names_the_settings_and_no_folder(name: str, tmp_path: Path) -> None:
    requests = Requests(
        classes=load_query_classes(None), profiles={}, rules=NO_RULES, tokenizer_folders=(tmp_path / "secret",)
    )

    with pytest.raises(Invalid) as refused:
        resolved({"budget": {"tokenizer": name}}, requests)
    assert "settings tokenizer_folders (`hf:`) and models_file (`model:`)" in refused.value.detail
    assert "secret" not in refused.value.detail


def test_an_unknown_public_tokenizer_names_those_there_are_alone() -> None:
    assert "settings" not in refusal({"budget": {"tokenizer": "gpt-9"}})


def test_the_chat_adapter_without_a_model_names_the_setting_that_makes_models() -> None:
    assert "setting models_file" in refusal({"adapter": "hf-chat"})
