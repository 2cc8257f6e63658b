"""Tests of the proof over one catalog: what is compared with what, what it finds, and that it leaves nothing behind."""

import errno
import hashlib
import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from eval.errors import Unproved
from eval.proof.proving import prove
from eval.proof.report import Holding, Proof
from eval.proof.requests import Question
from eval.proof.visible_part import View
from evidence import eligibility
from evidence.access import Principal
from index import compartments
from index.catalog import Catalog
from index.errors import NoGeneration
from index.reindex import reindex
from server import opening
from server.errors import StartError
from server.in_process import HttpResponse, ask
from server.keys import create_key
from server.settings import Settings
from tests.eval.proof.proof_world import ANN, LATCH, make
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.mutants.every import MUTANTS
from tests.worlds import ANALYZER, RECIPE, extend, principal, record

# These worlds have no encoder that late interaction could ask. That a catalog is served under certain names alone must
# not turn every answer into one that the host is not served here.
SETTINGS = Settings(reranker="none-here", allowed_hosts=("search.example",))


@pytest.fixture(scope="module", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read it; a test that writes makes a copy."""
    return make(tmp_path_factory.mktemp("proving") / "catalog")


@pytest.fixture(autouse=True)
def fixture_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "open_encoder", lambda *_, **__: FastEncoder())


def proved(
    directory: Path, who: Principal = ANN, *, asked: Sequence[dict[str, Any]] | None = None, **more: Any
) -> Proof:
    questions = None if asked is None else [Question(body=body) for body in asked]
    settings = {"settings": SETTINGS, "limit": None, "reencode": False, "progress": lambda *_: None, **more}
    return prove(directory, who, questions=questions, **settings)


class Recording(FastEncoder):
    """Remembers what it encodes as documents. turned: by how many places codes are turned, which makes them wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.turned = 0

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        self.texts.extend(texts)
        return np.roll(super().encode_documents(texts), self.turned, axis=1)


def recording(monkeypatch: pytest.MonkeyPatch) -> Recording:
    """The encoder of both sides from now on."""
    encoder = Recording()
    monkeypatch.setattr(opening, "open_encoder", lambda *_, **__: encoder)
    return encoder


def files(folder: Path) -> dict[str, str]:
    """Every file of a folder by its digest; SQLite's working files come and go."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


LATCH_QUERY = [{"query": "drum latch"}]


@pytest.mark.parametrize(
    "who",
    [principal("blue", sub="cid", roles=("technician",)), principal(None, sub="visitor"), principal("green")],
    ids=lambda who: who.sub,
)
def test_whoever_asks_gets_the_same_bytes_from_what_is_visible_alone(made: Path, who: Principal) -> None:
    """R6."""
    proof = proved(made, who, asked=LATCH_QUERY)

    assert proof.first is None
    assert proof.differing == 0
    assert set(proof.statuses) == {200}


@pytest.mark.parametrize(
    ("who", "status"),
    [(principal("blue", sub="bob"), 401), (principal("blue", sub="dan", scope=("audit",)), 403)],
    ids=["a subject that was revoked", "no scope to search"],
)
def test_errors_alone_prove_nothing(made: Path, who: Principal, status: int) -> None:
    with pytest.raises(Unproved, match=f"no request was answered: [0-9]+ with status {status}"):
        proved(made, who, asked=LATCH_QUERY)


def test_views_that_show_something_else_and_were_not_asked_for_are_named(made: Path) -> None:
    """By hand: the purpose repair shows one more source, drafts another; the purpose audit was revoked."""
    proof = proved(made, asked=LATCH_QUERY)

    assert proof.not_asked == (
        View(purpose="repair", drafts=False),
        View(purpose=None, drafts=True),
        View(purpose="repair", drafts=True),
    )
    assert "not asked: purpose repair, where something else is visible" in proof.lines()
    assert "not asked: no purpose, drafts too, where something else is visible" in proof.lines()


def test_a_folder_that_cannot_be_written_beside_the_catalog_is_named(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: Any) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refused)

    with pytest.raises(StartError, match=r"beside the catalog: Permission denied"):
        proved(made, asked=LATCH_QUERY)


@pytest.mark.parametrize("status", [429, 503])
def test_an_overload_on_one_side_is_no_difference_and_no_proof(
    made: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    asked = itertools.count()

    async def sometimes_full(*request: Any) -> HttpResponse:
        response = await ask(*request)
        return replace(response, status=status) if next(asked) == 3 else response

    monkeypatch.setattr("eval.proof.proving.ask", sometimes_full)

    with pytest.raises(Unproved, match="met an overload"):
        proved(made, asked=LATCH_QUERY)


def test_a_principal_who_sees_nothing_still_gets_a_proof(tmp_path: Path) -> None:
    with Catalog.create(tmp_path / "catalog", RECIPE, prepare=create_key) as catalog:
        extend(catalog, [record("R-1", LATCH, tenant="red")])
        reindex(catalog, encoder=FastEncoder(), analyzer=ANALYZER, progress=lambda _: None)

    proof = proved(tmp_path / "catalog")
    assert proof.first is None
    assert [(one.visible, one.queries) for one in proof.views] == [(Holding(sources=0, units=0), 1)]


def test_a_proof_writes_nothing_into_the_catalog_encodes_nothing_and_leaves_nothing(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "catalog"
    shutil.copytree(made, directory)
    encoder = recording(monkeypatch)
    before = files(directory)
    told: list[tuple[str, int, int]] = []
    modes: set[int] = set()

    def look(*one: Any) -> None:
        told.append(one)
        modes.update(path.stat().st_mode & 0o777 for path in tmp_path.iterdir() if path != directory)

    proof = proved(directory, asked=LATCH_QUERY, progress=look)
    assert proof.first is None
    assert files(directory) == before
    assert list(tmp_path.iterdir()) == [directory]
    assert modes == {0o700}
    assert encoder.texts == []
    assert [one[1:] for one in told if one[0] == "copy revisions"][-1] == (9, 9)
    compared = [one[1:] for one in told if one[0] == "compare answers"]
    assert compared == [(number, proof.answers) for number in range(1, proof.answers + 1)]


@pytest.mark.parametrize("step", ["copy revisions", "compare answers"])
def test_an_interrupted_proof_leaves_nothing_behind_wherever_it_was_begun(
    made: Path, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder lies beside the catalog also when that is named by a dot."""
    directory = tmp_path / "catalog"
    shutil.copytree(made, directory)
    before = files(directory)
    beside: list[Path] = []
    monkeypatch.chdir(directory)

    def interrupt(at: str, done: int, _: int) -> None:
        if at == step and done > 1:
            beside.extend(path for path in tmp_path.iterdir() if path != directory)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        proved(Path(), asked=LATCH_QUERY, progress=interrupt)
    assert len(beside) == 1
    assert list(tmp_path.iterdir()) == [directory]
    assert files(directory) == before


@pytest.mark.parametrize(
    ("number", "field"),
    [
        (11, "header etag"),
        (13, "status"),
        (19, "$.manifest.unauthorized"),
    ],
)
def test_a_fault_that_leaks_is_found_and_the_first_field_named(made: Path, number: int, field: str) -> None:
    """R6, R7: faults of the kind that other systems have had."""
    (fault,) = (mutant for mutant in MUTANTS if mutant.number == number)

    with fault.switched_on():
        proof = proved(made, asked=LATCH_QUERY)
    assert proof.first is not None
    assert proof.first.difference.path.startswith(field)
    assert proof.differing >= 1


def test_who_sees_what_is_decided_apart_from_the_code_on_trial(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R1: a label that admits everybody is wrong on one side only."""
    for module in (compartments, eligibility):
        monkeypatch.setattr(module, "admits", lambda *_: True)

    proof = proved(made, asked=LATCH_QUERY)
    assert proof.first is not None
    record, lines = json.loads(json.dumps(proof.record())), proof.lines()
    assert record["verdict"] == "differs"
    assert record["answers"] == sum(record["statuses"].values()) == 16
    assert {name: record["first"][name] for name in ("query", "route", "request")} == {
        "query": "drum latch",
        "route": "POST /v1/search",
        "request": "hybrid",
    }
    assert f"{proof.differing} of 16 answers differ" in lines
    assert any('POST /v1/search (hybrid) for "drum latch": $.hits' in line for line in lines)


def test_what_is_visible_alone_is_encoded_again_on_request(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the published part, in what came after it, and never what waits for a reindex."""
    encoder = recording(monkeypatch)

    assert proved(made, asked=LATCH_QUERY, reencode=True).first is None
    encoded = "\n".join(encoder.texts)
    assert "torque" in encoded
    assert "came in with its codes" in encoded
    assert "waits" not in encoded
    assert "upervisor" not in encoded
    assert "Red" not in encoded


def test_codes_that_are_not_those_of_their_texts_are_found_by_making_them_again(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10."""
    recording(monkeypatch).turned = 1

    proof = proved(made, asked=LATCH_QUERY, reencode=True)
    assert proof.first is not None
    assert proof.first.asked.what == "hybrid"


def test_without_the_encoder_codes_can_be_copied_but_not_made_again(made: Path) -> None:
    settings = SETTINGS.overridden({"dense": False})

    assert proved(made, asked=LATCH_QUERY, settings=settings).first is None
    with pytest.raises(StartError, match="encoder"):
        proved(made, asked=LATCH_QUERY, settings=settings, reencode=True)


def test_a_catalog_that_is_written_to_meanwhile_proves_nothing(made: Path, tmp_path: Path) -> None:
    directory = tmp_path / "catalog"
    shutil.copytree(made, directory)
    wrote: list[bool] = []

    def write(step: str, *_: int) -> None:
        if step == "compare answers" and not wrote:
            with Catalog.open(directory) as catalog:
                extend(catalog, [record("R-60", LATCH, tenant="red")])
            wrote.append(True)

    with pytest.raises(Unproved, match="written to meanwhile"):
        proved(directory, asked=LATCH_QUERY, progress=write)
    assert list(tmp_path.iterdir()) == [directory]


def test_a_server_that_fails_on_both_sides_alike_proves_nothing(made: Path) -> None:
    """Late interaction asks for what this encoder does not have."""
    with pytest.raises(Unproved, match=r"POST /v1/search \(reranked\) ends with status 500"):
        proved(made, asked=LATCH_QUERY, settings=Settings())


def test_a_principal_too_large_for_a_token_is_told_so(made: Path) -> None:
    """Else every answer would be the same 401."""
    with pytest.raises(StartError, match="8192"):
        proved(made, principal("blue", roles=tuple(f"role-{number:04}" for number in range(800))))


def test_a_catalog_without_an_index_is_told_so(tmp_path: Path) -> None:
    Catalog.create(tmp_path / "catalog", RECIPE, prepare=create_key).close()

    with pytest.raises(NoGeneration):
        proved(tmp_path / "catalog")
    assert [path.name for path in tmp_path.iterdir()] == ["catalog"]


def test_too_little_room_is_told_before_anything_is_copied(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    steps: list[str] = []

    with pytest.raises(StartError, match=r"up to 64 MiB .* 1 MiB are free"):
        proved(made, progress=lambda step, *_: steps.append(step))
    assert steps == []
