"""Does an answer depend on what multiplied? (M4; R6, R10, R15)

And would it be noticed if it did?
"""

from typing import Any

import numpy as np
import pytest

from index import faiss_scan
from server.searchable import SearchableRows
from tests.noninterference import relations_of_backends
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.histories_suite import BACKENDS
from tests.noninterference.relations import Relation
from tests.noninterference.suite import IN_EVERY_RUN, SUITE

BY_HAND = 3


def test_a_world_answers_alike_by_every_backend_of_this_machine(bench: Bench) -> None:
    SUITE[Relation.M4](bench, IN_EVERY_RUN[Relation.M4])


def _only_so_many(index: Any, queries: Any, tile: Any, shortlist: Any, k: int) -> None:
    """As faiss is used as a rule: of those that tie with the last one, whichever it gives."""
    scores, columns = index.search(queries, min(k, index.ntotal))
    query = np.repeat(np.arange(len(queries)), scores.shape[1])
    shortlist.add(query, tile.rows_at(columns.ravel()), scores.ravel().astype(np.int64))


def test_a_product_that_chooses_among_equals_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_scan, "offer_found", _only_so_many)

    with pytest.raises(Difference):
        BACKENDS(bench, BY_HAND)


def test_a_fallback_that_is_not_told_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """R15."""
    monkeypatch.setattr(SearchableRows, "fallback", None)

    with pytest.raises(Difference, match="in the end the fallback is None"):
        BACKENDS(bench, BY_HAND)


def test_a_run_block_that_says_something_else_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """R6: it holds the device, a fallback and the time, and tells nothing more."""
    monkeypatch.setattr(relations_of_backends, "FALLBACK", "none")

    with pytest.raises(Difference, match="fallback"):
        BACKENDS(bench, BY_HAND)
