import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from models.encoder import Encoder
from models.errors import InvalidOutput, RuntimeUnavailable, TextTooLong
from models.folder import open_folder
from models.loading import open_encoder
from models.quantize import quantize
from models.registry import DEFAULT_ENCODER, EncoderEntry, Pooling, find_encoder
from models.runtime import TokenBatch, runtime_names, torch_name
from tests.models.builders import DIMENSION, WINDOW, FakeRuntime, folder_of, save_encoder, vectors_of_ids

TEXTS = [
    "upload limit",
    "a policy of safety",
    "",
    "the latch of the door. " * 5,
    "megabytes",
    "file: upload limit in megabytes " * 4,
    "latch",
]


def reference(entry: EncoderEntry, texts: list[str], *, prompt: str = "") -> NDArray[np.float32]:
    """What sentence-transformers itself gives, one text at a time."""
    model = SentenceTransformer(str(folder_of(entry)), device="cpu", local_files_only=True)
    return np.stack([model.encode(prompt + text, show_progress_bar=False) for text in texts])


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    products: NDArray[np.float32] = (left * right).sum(axis=1)
    lengths: NDArray[np.float32] = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return products / lengths


def test_vectors_and_codes_are_those_of_sentence_transformers(tiny: Encoder) -> None:
    expected = reference(tiny.entry, TEXTS)

    assert cosines(tiny.document_vectors(TEXTS), expected).min() > 0.9999
    steps = tiny.encode_documents(TEXTS).astype(int) - quantize(expected, scale=tiny.entry.scale)
    assert np.abs(steps).max() <= 1


@pytest.mark.parametrize(
    ("pooling", "runtime"),
    [(Pooling.MEAN, torch_name("cpu")), (Pooling.CLS, torch_name("cpu")), (Pooling.LAST, runtime_names("cpu")[0])],
)
def test_every_pooling_is_that_of_sentence_transformers(
    tmp_path: Path, cache: Path, pooling: Pooling, runtime: str
) -> None:
    entry = save_encoder(tmp_path, pooling=pooling, normalize=False)

    encoder = open_encoder(entry, runtime=runtime, device="cpu", cache=cache)
    assert np.allclose(encoder.document_vectors(TEXTS), reference(entry, TEXTS), atol=1e-4)


def test_the_packaged_encoder_gives_what_sentence_transformers_gives(minilm: Encoder) -> None:
    texts = ["The upload limit is 25 MB.", "Kurz und übersichtlich: 日本語", "a long text about door latches. " * 30]
    path = open_folder(find_encoder(DEFAULT_ENCODER, folder=None)).path
    model = SentenceTransformer(str(path), device="cpu", local_files_only=True)
    expected = model.encode(texts, batch_size=1, show_progress_bar=False)

    assert cosines(minilm.document_vectors(texts), expected).min() > 0.9999
    steps = minilm.encode_documents(texts).astype(int) - quantize(expected, scale="0.2")
    assert np.abs(steps).max() <= 1


def test_a_text_has_the_same_code_alone_after_others_and_in_any_order(tiny: Encoder) -> None:
    """R10."""
    alone = np.concatenate([tiny.encode_documents([text]) for text in TEXTS])
    order = list(range(len(TEXTS)))
    random.Random(5).shuffle(order)

    assert np.array_equal(tiny.encode_documents(TEXTS), alone)
    assert np.array_equal(tiny.encode_documents([TEXTS[place] for place in order]), alone[order])
    assert np.array_equal(np.stack([tiny.encode_query(text) for text in TEXTS]), alone)


def test_a_runtime_takes_batches_of_any_size_and_gives_each_row_its_own_vector(tiny: Encoder) -> None:
    """Whether they are the very same codes is for qualification to find out."""
    rows = [tiny.counter.row(text) for text in TEXTS]
    alone = tiny.row_vectors(rows, batch_sizes=(1,))

    assert np.allclose(tiny.row_vectors(rows, batch_sizes=(2,)), alone, atol=1e-5)
    assert np.allclose(tiny.row_vectors(rows, batch_sizes=(5,)), alone, atol=1e-5)


def test_threads_that_encode_at_once_get_what_each_gets_alone(tiny: Encoder) -> None:
    alone = [tiny.encode_query(text).tobytes() for text in TEXTS]

    with ThreadPoolExecutor(max_workers=4) as threads:
        together = list(threads.map(lambda text: tiny.encode_query(text).tobytes(), TEXTS * 8))
    assert together == alone * 8


def test_a_model_with_prompts_and_another_pooling_works_by_its_entry_alone(tmp_path: Path, cache: Path) -> None:
    """As e5 and bge want it: the operator writes one JSON file."""
    plain = save_encoder(tmp_path, pooling=Pooling.CLS)
    record = {
        "kind": "encoder",
        "name": "prompted",
        "location": {"path": "encoder"},
        "digests": dict(plain.digests),
        "prompts": {"query": "query: ", "document": "passage: "},
        "pooling": "cls",
        "normalize": True,
        "scale": "0.5",
        "window": WINDOW,
        "dimension": DIMENSION,
    }
    (tmp_path / "prompted.json").write_text(json.dumps(record), "utf-8")
    entry = find_encoder("prompted", folder=tmp_path)
    encoder = open_encoder(entry, runtime=runtime_names("cpu")[0], device="cpu", cache=cache)

    as_query = quantize(reference(plain, ["door"], prompt="query: "), scale="0.5")[0].astype(int)
    as_document = quantize(reference(plain, ["door"], prompt="passage: "), scale="0.5")[0].astype(int)
    assert np.abs(encoder.encode_query("door") - as_query).max() <= 1
    assert np.abs(encoder.encode_documents(["door"])[0] - as_document).max() <= 1
    assert np.abs(as_query - as_document).max() > 1
    assert encoder.document_window == WINDOW - 2  # "passage" and ":"


def test_a_query_longer_than_the_window_is_cut_there_and_said_to_be(tiny: Encoder) -> None:
    """R14: 70 tokens and two special ones, of which 64 are read."""
    assert tiny.truncated("door " * 70) == (WINDOW, 72)
    assert tiny.truncated("door " * 62) == (WINDOW, WINDOW)
    assert np.array_equal(tiny.encode_query("door " * 70), tiny.encode_query("door " * 62))


def test_a_document_longer_than_the_window_is_refused_with_its_position(tiny: Encoder) -> None:
    with pytest.raises(TextTooLong) as refused:
        tiny.encode_documents(["door", "door " * 63])
    assert (refused.value.position, refused.value.tokens, refused.value.window) == (1, 65, WINDOW)


def test_no_texts_give_no_codes(tiny: Encoder) -> None:
    assert tiny.encode_documents([]).shape == (0, DIMENSION)
    assert tiny.encode_tokens([]) == []


def test_token_vectors_are_the_tokens_own_of_length_one_without_padding(tiny: Encoder) -> None:
    model = SentenceTransformer(str(folder_of(tiny.entry)), device="cpu", local_files_only=True)
    raw = model.encode("upload limit", output_value="token_embeddings", show_progress_bar=False).numpy()
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)

    (vectors,) = tiny.encode_tokens(["upload limit"])
    assert vectors.shape == (4, DIMENSION)
    assert np.allclose(vectors, expected, atol=1e-4)


def faked(entry: EncoderEntry, output: Callable[[TokenBatch], NDArray[np.float32]]) -> Encoder:
    return Encoder(entry, open_folder(entry), FakeRuntime(output))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_vector_that_is_not_finite_or_of_length_zero_is_refused(tiny_entry: EncoderEntry, bad: float) -> None:
    """Threat C8: for documents, queries and tokens."""
    vectors = faked(tiny_entry, lambda batch: np.full((len(batch.ids), DIMENSION), bad, np.float32))
    tokens = faked(tiny_entry, lambda batch: np.full((*batch.ids.shape, DIMENSION), bad, np.float32))

    with pytest.raises(InvalidOutput):
        vectors.encode_documents(["door"])
    with pytest.raises(InvalidOutput):
        vectors.encode_query("door")
    with pytest.raises(InvalidOutput):
        tokens.encode_tokens(["door"])


def test_a_runtime_that_qualified_for_batches_is_given_batches_and_a_query_alone(tiny_entry: EncoderEntry) -> None:
    runtime = FakeRuntime(vectors_of_ids)
    encoder = Encoder(tiny_entry, open_folder(tiny_entry), runtime, batch_sizes=(1, 4))

    encoder.encode_documents(["door", "latch", "safety"])
    encoder.encode_query("door")
    assert runtime.shapes == [(4, 16), (1, 16)]


def test_a_runtime_that_is_not_here_is_refused_naming_both(tiny_entry: EncoderEntry, cache: Path) -> None:
    with pytest.raises(RuntimeUnavailable) as refused:
        open_encoder(tiny_entry, runtime="openvino-2019.1-f32", device="cpu", cache=cache)
    assert "openvino-2019.1-f32" in str(refused.value)
    assert refused.value.allowed == runtime_names("cpu")
