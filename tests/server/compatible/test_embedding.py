"""Tests of `server/compatible/embedding.py` and its route: OpenAI's shape, every text whole and as if alone."""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from models.errors import ModelError
from server.compatible.embedding import TEXTS_A_STEP
from server.compatible.embedding_shapes import EmbeddingsAnswer
from server.responses import ProblemShape
from tests.server.compatible.serving import Served, serving
from tests.worlds import DIMENSION, RECIPE, WordEncoder, principal

PATH = "/v1/embeddings"


class TwoPrompts(WordEncoder):
    """Vectors that say which prompt was in front, and how many texts were encoded at once."""

    def query_vector(self, text: str) -> npt.NDArray[np.float32]:
        return np.array([1.0, len(text), *[0.0] * (DIMENSION - 2)], np.float32)

    def document_vectors(self, texts: Any) -> npt.NDArray[np.float32]:
        return np.array([[2.0, len(text), len(texts), *[0.0] * (DIMENSION - 3)] for text in texts], np.float32)


class Broken(WordEncoder):
    """Cannot encode."""

    def document_vectors(self, texts: Any) -> npt.NDArray[np.float32]:
        raise ModelError("broken")


@pytest.fixture(scope="module", name="served")
def fixture_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("embedding") / "catalog", encoder=TwoPrompts()) as opened:
        yield opened


def ask(served: Served, given: object, **more: object) -> Any:
    return served.post(PATH, {"input": given, "model": "words", **more})


def test_an_answer_has_the_shape_of_the_document(served: Served) -> None:
    answer = ask(served, ["one", "two words"])

    body = EmbeddingsAnswer.model_validate(answer.json())
    assert (answer.status_code, body.model) == (200, "words")
    assert [one.index for one in body.data] == [0, 1]
    assert all(len(one.embedding) == DIMENSION for one in body.data)


def test_one_text_and_a_list_of_one_are_the_same(served: Served) -> None:
    assert ask(served, "one").content == ask(served, ["one"]).content


def test_tokens_are_those_of_the_encoder_with_its_special_ones(served: Served) -> None:
    """The encoder counts words, and adds two tokens to each text."""
    assert ask(served, ["one", "two words"]).json()["usage"] == {"prompt_tokens": 7, "total_tokens": 7}


def test_base64_holds_the_same_numbers_as_little_endian_float32(served: Served) -> None:
    numbers = ask(served, "four").json()["data"][0]["embedding"]
    written = ask(served, "four", encoding_format="base64").json()["data"][0]["embedding"]

    assert list(struct.unpack(f"<{DIMENSION}f", base64.b64decode(written))) == numbers
    assert numbers[:3] == [2.0, 4.0, 1.0]


def test_texts_are_documents_unless_they_are_said_to_be_queries(served: Served) -> None:
    assert ask(served, "x").content == ask(served, "x", input_type="document").content
    assert ask(served, "x", input_type="document").json()["data"][0]["embedding"][0] == 2.0
    assert ask(served, "x", input_type="query").json()["data"][0]["embedding"][0] == 1.0


def test_every_text_is_encoded_alone(served: Served) -> None:
    """R10: across several steps, and in the order given."""
    texts = ["x" * (number + 1) for number in range(TEXTS_A_STEP + 1)]

    vectors = [one["embedding"] for one in ask(served, texts).json()["data"]]
    assert [vector[:3] for vector in vectors] == [[2.0, len(text), 1.0] for text in texts]


def test_a_text_that_fills_the_window_is_embedded_and_one_token_more_refuses_the_call(served: Served) -> None:
    """R14: never a silent cut. The window has 256 tokens, two of them special."""
    fits, beyond = " ".join(["w"] * (RECIPE.window - 2)), " ".join(["w"] * (RECIPE.window - 1))

    for kind in ("document", "query"):
        assert ask(served, ["x", fits], input_type=kind).status_code == 200
        refused = ask(served, ["x", beyond], input_type=kind)
        problem = ProblemShape.model_validate(refused.json())
        assert (refused.status_code, problem.path) == (422, "$.input[1]")
        assert problem.detail == "has 257 tokens with prompt and special ones, the encoder's window is 256"
    assert ask(served, beyond).json()["path"] == "$.input"


@pytest.mark.parametrize(
    ("more", "path", "detail"),
    [
        ({"model": "text-embedding-3-small"}, "$.model", "no such encoder; allowed: words"),
        ({"dimensions": 32}, "$.dimensions", "the encoder has 64 dimensions, and no others"),
        ({"encoding_format": "int8"}, "$.encoding_format", "Input should be 'float' or 'base64'"),
        ({"input": [1, 2]}, "$.input", "is a text or a list of texts; tokens are not taken"),
        ({"input": [[1, 2]]}, "$.input", "is a text or a list of texts; tokens are not taken"),
        ({"colour": "blue"}, "$.colour", None),
        ({"input": ""}, "$.input", "String should have at least 1 character"),
        ({"input": []}, "$.input", "List should have at least 1 item after validation, not 0"),
        ({"input": ["x"] * 2049}, "$.input", "List should have at most 2048 items after validation, not 2049"),
        ({"input": ["x", ""]}, "$.input[1]", "String should have at least 1 character"),
        ({"input": ["x", "\x00"]}, "$.input[1]", None),
    ],
    ids=str,
)
def test_what_cannot_be_had_is_a_422_that_names_the_place(
    served: Served, more: dict[str, object], path: str, detail: str | None
) -> None:
    refused = served.post(PATH, {"input": "x", "model": "words", **more})

    problem = ProblemShape.model_validate(refused.json())
    assert refused.status_code == 422
    assert problem.path == path
    assert detail in (None, problem.detail)


def test_the_right_number_of_dimensions_and_a_user_change_nothing(served: Served) -> None:
    assert ask(served, "x", dimensions=DIMENSION, user="someone").content == ask(served, "x").content


@pytest.mark.parametrize("encoder", [Broken(), type("Other", (WordEncoder,), {"runtime": "other"})()])
def test_without_a_working_encoder_of_the_recipe_it_is_a_503(tmp_path: Path, encoder: Any) -> None:
    with serving(tmp_path / "catalog", encoder=encoder) as opened:
        refused = ask(opened, "x")

    assert refused.status_code == 503
    assert "broken" not in refused.text


def test_without_a_token_or_its_scope_nothing_is_embedded(served: Served, tmp_path: Path) -> None:
    assert served.client.post(PATH, json={"input": "x", "model": "words"}).status_code == 401
    with serving(tmp_path / "catalog", who=principal("blue", scope=("ingest",))) as opened:
        assert ask(opened, "x").status_code == 403


def test_nothing_more_is_embedded_for_a_client_that_has_gone(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    vectors = TwoPrompts.document_vectors

    def counted(self: TwoPrompts, texts: Any) -> Any:
        made.append(1)
        return vectors(self, texts)

    monkeypatch.setattr(TwoPrompts, "document_vectors", counted)
    monkeypatch.setattr("server.routes.has_left", lambda _: bool(made))
    ask(served, ["x"] * (3 * TEXTS_A_STEP))

    assert len(made) == TEXTS_A_STEP
