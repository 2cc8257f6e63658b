"""Tests of `server/packets.py`: what becomes of a packet that the operator's files cannot write."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from models.errors import NotText
from server.errors import Unavailable
from server.parsing import parse
from server.pipeline import Pipeline
from server.schemas import PacketRequest
from tests.models.chat_families import CHATML, save_family
from tests.worlds import build, opened, principal, record

FRAGILE = CHATML.template.replace(
    "{{ m.content }}", "{% if 'zebra' in m.content %}{{ raise_exception(m.content) }}{% endif %}{{ m.content }}"
)


@pytest.fixture(name="pipeline")
def fixture_pipeline(tmp_path: Path) -> Iterator[Pipeline]:
    """With a model whose template passes every check at the start, and fails on one word."""
    (tmp_path / "weights").mkdir()
    save_family(replace(CHATML, template=FRAGILE), tmp_path / "weights")
    profile = {"name": "local-8b", "adapter": "hf-chat", "folder": "weights"}
    (tmp_path / "models.json").write_text(json.dumps({"profiles": [profile]}))
    build(tmp_path / "catalog", [record("A", "The upload limit is 25 MB.", tenant="blue")])
    with opened(tmp_path / "catalog", models_file=tmp_path / "models.json") as pipeline:
        yield pipeline


def refusal(pipeline: Pipeline, query: str) -> str:
    with pytest.raises(Unavailable) as refused:
        pipeline.packet(parse({"query": query, "model": "local-8b"}, PacketRequest), principal("blue"))
    return str(refused.value)


def test_a_template_that_fails_on_a_packet_is_told_by_the_name_of_its_profile_and_without_content(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    told = refusal(pipeline, "a zebra")

    assert told == "the chat template of the model profile local-8b fails on this packet: InvalidTemplate"
    fine = pipeline.packet(parse({"query": "a horse", "model": "local-8b"}, PacketRequest), principal("blue"))
    assert fine["disposition"] == "accepted"


def test_a_tokenizer_that_fails_on_a_packet_is_told_by_its_name(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise NotText

    monkeypatch.setattr("models.joined.JoinedCounter.count", fail)

    assert refusal(pipeline, "a horse") == "the tokenizer model:local-8b fails on this packet: NotText"
