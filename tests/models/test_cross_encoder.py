from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import CrossEncoder

from models.cross_encoder import CrossEncoderReranker
from models.errors import InvalidOutput
from models.folder import open_folder
from models.loading import open_cross_encoder
from models.registry import CrossEncoderEntry
from models.runtime import runtime_names
from tests.models.builders import WINDOW, FakeRuntime, folder_of, save_cross_encoder

QUERY = "upload limit"
TEXTS = ["the upload limit is in megabytes", "a policy", "", "latch of the door " * 3, "upload limit"]


@pytest.fixture(scope="module", params=runtime_names("cpu"))
def reranker(request: pytest.FixtureRequest, tiny_pair_entry: CrossEncoderEntry, cache: Path) -> CrossEncoderReranker:
    return open_cross_encoder(tiny_pair_entry, runtime=request.param, device="cpu", cache=cache)


def reference(entry: CrossEncoderEntry, query: str, texts: list[str]) -> list[float]:
    """What sentence-transformers itself predicts, pair by pair."""
    model = CrossEncoder(str(folder_of(entry)), device="cpu", local_files_only=True)
    return [float(model.predict([(query, text)], show_progress_bar=False)[0]) for text in texts]


def scores(reranker: CrossEncoderReranker, query: str, texts: list[str]) -> list[float]:
    return [score / 2**20 for score in reranker.score(query, texts).scores]


def test_scores_are_those_of_sentence_transformers(
    reranker: CrossEncoderReranker, tiny_pair_entry: CrossEncoderEntry
) -> None:
    expected = reference(tiny_pair_entry, QUERY, TEXTS)

    assert scores(reranker, QUERY, TEXTS) == pytest.approx(expected, abs=1e-5)
    assert max(expected) - min(expected) > 0.01  # or the model would tell nothing apart


@pytest.mark.parametrize("runtime", runtime_names("cpu"))
def test_a_model_with_one_kind_of_segment_is_read_as_its_library_reads_it(
    tmp_path: Path, cache: Path, runtime: str
) -> None:
    """As XLM-RoBERTa, of which the multilingual rerankers are made."""
    entry = save_cross_encoder(tmp_path, segments=1)
    opened = open_cross_encoder(entry, runtime=runtime, device="cpu", cache=cache)
    assert scores(opened, QUERY, TEXTS) == pytest.approx(reference(entry, QUERY, TEXTS), abs=1e-5)


def test_a_pair_scores_the_same_alone_and_among_others(reranker: CrossEncoderReranker) -> None:
    """Threat: a batch that mixes pairs."""
    together = reranker.score(QUERY, TEXTS).scores

    assert together == tuple(reranker.score(QUERY, [text]).scores[0] for text in TEXTS)
    assert together == reranker.score(QUERY, TEXTS[::-1]).scores[::-1]


def test_a_long_text_gets_the_score_of_its_best_window(
    reranker: CrossEncoderReranker, tiny_pair_entry: CrossEncoderEntry
) -> None:
    """64 tokens less three special ones and the query's two leave 59 for the text."""
    words = ["door"] * 59 + ["latch"] * 59 + ["safety"] * 10
    windows = [" ".join(words[start : start + 59]) for start in (0, 59, 118)]

    result = reranker.score(QUERY, [" ".join(words)])
    assert result.scores[0] / 2**20 == pytest.approx(max(reference(tiny_pair_entry, QUERY, windows)), abs=1e-5)
    assert result.tokens_seen == ((128, 128),)


def test_one_oversized_pair_fails_no_other_and_says_what_was_not_read(reranker: CrossEncoderReranker) -> None:
    """R14."""
    result = reranker.score(QUERY, ["latch", "door " * 5000])

    assert result.scores[0] == reranker.score(QUERY, ["latch"]).scores[0]
    assert result.tokens_seen == ((1, 1), (8 * 59, 5000))
    assert result.query_tokens_seen == (2, 2)


def test_a_query_longer_than_half_the_window_is_cut_there_and_said_to_be(reranker: CrossEncoderReranker) -> None:
    result = reranker.score("upload " * 100, ["latch", "door " * 40])

    assert result.query_tokens_seen == (WINDOW // 2, 100)
    assert result.tokens_seen == ((1, 1), (40, 40))
    assert result.scores == reranker.score("upload " * (WINDOW // 2), ["latch", "door " * 40]).scores


def test_no_texts_give_no_scores(reranker: CrossEncoderReranker) -> None:
    assert reranker.score(QUERY, []).scores == ()


def test_a_score_that_is_no_number_is_refused(tiny_pair_entry: CrossEncoderEntry) -> None:
    runtime = FakeRuntime(lambda batch: np.full(len(batch.ids), np.nan, np.float32))
    broken = CrossEncoderReranker(tiny_pair_entry, open_folder(tiny_pair_entry), runtime, device="cpu")

    with pytest.raises(InvalidOutput):
        broken.score(QUERY, TEXTS)
