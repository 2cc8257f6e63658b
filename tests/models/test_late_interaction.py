import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from models.encoder import Encoder
from models.late_interaction import LateInteraction, mean_largest_cosine
from tests.models.builders import WINDOW, folder_of

QUERY = "upload limit"
TEXTS = ["the upload limit is in megabytes", "a policy", "", "latch of the door " * 3, "upload limit"]


def test_a_score_is_the_mean_over_query_tokens_of_the_largest_cosine() -> None:
    """By hand: the first query token finds 0.6 and 0.8, the second 0.8 and -0.6; (0.8 + 0.8) / 2."""
    query = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    text = np.array([[0.6, 0.8], [0.8, -0.6]], np.float32)

    assert mean_largest_cosine(query, text) == pytest.approx(0.8, abs=1e-7)


def test_scores_are_those_of_sentence_transformers_token_vectors_compared_by_brute_force(tiny: Encoder) -> None:
    model = SentenceTransformer(str(folder_of(tiny.entry)), device="cpu", local_files_only=True)

    def tokens(text: str) -> list[list[float]]:
        raw = model.encode(text, output_value="token_embeddings", show_progress_bar=False).numpy().astype(float)
        return (raw / np.linalg.norm(raw, axis=1, keepdims=True)).tolist()  # type: ignore[no-any-return]  # of numpy

    def brute_force(text: str) -> float:
        best = [max(sum(a * b for a, b in zip(q, t, strict=True)) for t in tokens(text)) for q in tokens(QUERY)]
        return sum(best) / len(best)

    result = LateInteraction(tiny, device="cpu").score(QUERY, TEXTS)
    assert [score / 2**20 for score in result.scores] == pytest.approx([brute_force(text) for text in TEXTS], abs=1e-4)


def test_a_text_scores_the_same_alone_and_among_others(tiny: Encoder) -> None:
    reranker = LateInteraction(tiny, device="cpu")

    together = reranker.score(QUERY, TEXTS)
    assert together.scores == tuple(reranker.score(QUERY, [text]).scores[0] for text in TEXTS)
    assert together.tokens_seen == tuple(reranker.score(QUERY, [text]).tokens_seen[0] for text in TEXTS)


def test_a_text_that_is_the_query_scores_one(tiny: Encoder) -> None:
    result = LateInteraction(tiny, device="cpu").score(QUERY, [QUERY, "safety policy"])

    assert result.scores[0] == pytest.approx(2**20, abs=2)
    assert result.scores[1] < result.scores[0]


def test_a_text_longer_than_the_window_is_read_whole_in_windows(tiny: Encoder) -> None:
    """R14: what matches may stand behind the window."""
    reranker = LateInteraction(tiny, device="cpu")
    filler = "safety " * (WINDOW - 2)

    result = reranker.score("query: megabytes", [filler, filler + "query: megabytes"])
    assert result.tokens_seen == ((WINDOW - 2, WINDOW - 2), (WINDOW + 1, WINDOW + 1))
    assert result.scores[1] > result.scores[0]


def test_what_is_not_read_of_text_and_query_is_reported(tiny: Encoder) -> None:
    """R14: eight windows of 62 tokens beside the special ones are read, and one window of a query."""
    result = LateInteraction(tiny, device="cpu").score("door " * 100, ["latch " * 1000])

    assert result.tokens_seen == ((8 * 62, 1000),)
    assert result.query_tokens_seen == (64, 102)


def test_no_texts_give_no_scores(tiny: Encoder) -> None:
    assert LateInteraction(tiny, device="cpu").score(QUERY, []).scores == ()


def test_a_reranker_names_its_method_model_and_runtime(tiny: Encoder) -> None:
    reranker = LateInteraction(tiny, device="cpu")

    assert reranker.name == "late-interaction:tiny"
    assert reranker.digest.startswith("sha256:")
    assert reranker.device == "cpu"


def test_of_many_texts_each_keeps_the_score_that_it_has_alone(tiny: Encoder) -> None:
    """Also where some fill several windows, and more are asked for than are held together."""
    texts = [*TEXTS, "latch " * 3 * WINDOW, "door " * WINDOW] * 3
    reranker = LateInteraction(tiny, device="cpu")

    together = reranker.score(QUERY, texts)
    assert together.scores == tuple(reranker.score(QUERY, [text]).scores[0] for text in texts[:7]) * 3
