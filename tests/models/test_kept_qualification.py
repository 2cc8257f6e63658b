"""Does the kept record of batches hold what is said of it? (R10)"""

import json

from tests.models.batch_differences import PADDED, SIZES, UNPADDED
from tests.source_tree import ROOT

KEPT = json.loads((ROOT / "docs/benchmarks/qualification.json").read_text(encoding="utf-8"))["differences"]


def test_every_length_is_there_at_every_batch_size_with_one_thread_and_with_two() -> None:
    expected = {(length, threads, size) for length in (*UNPADDED, *PADDED) for threads in (1, 2) for size in SIZES}

    assert {(one["length"], one["threads"], one["batch"]) for one in KEPT} == expected


def test_codes_of_the_shortest_texts_differ_and_none_of_those_that_are_padded() -> None:
    differing = {one["length"] for one in KEPT if one["codes"]}

    assert min(UNPADDED) in differing
    assert differing.isdisjoint(PADDED)
