"""What if something that is nobody's identity broke ties? (R11)"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
import numpy.typing as npt

from index import lexical
from index.lexical import QueryWeights
from index.segments import Segments
from index.selection import Ranking
from index.statistics import Counted
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.replacing import replacing
from tests.noninterference.relations import Relation

Ints = npt.NDArray[np.int64]

_topk_weighed = lexical.topk_weighed


def _row_numbers(_: Segments, rows: Ints) -> Ints:
    """As Lucene does with its document numbers: where a row lies depends on when it came."""
    return rows


@contextmanager
def _salted_hashes() -> Iterator[None]:
    """As where scores are summed in a hash map, and sorted from there: equal scores come in the order of the map, which
    follows the row numbers that are its keys, and a salt that each index has. The salts are counted here, so that every
    run of the tests is the same; one index keeps its own."""
    salts: dict[int, int] = {}

    def in_order_of_a_map(part: Counted, weights: QueryWeights, *, order: npt.NDArray[np.int32], k: int) -> Ranking:
        salt = salts.setdefault(len(order), len(salts))
        hashes = [hashlib.sha256(b"%d %d" % (salt, row)).digest() for row in range(len(order))]
        places = np.argsort(np.argsort(np.array(hashes))).astype(np.int32)
        return _topk_weighed(part, weights, order=places, k=k)

    with mock.patch.object(lexical, "topk_weighed", in_order_of_a_map):
        yield


TIES = (
    Mutant(
        number=7,
        name="ties broken by row id",
        what="of equal scores the lower row number comes first",
        killer=Relation.M5,
        switched_on=replacing(Segments, "ranks", _row_numbers),
    ),
    Mutant(
        number=8,
        name="ties broken by hash order",
        what="equal lexical scores come in the order of a salted hash map",
        killer=Relation.M1,
        switched_on=_salted_hashes,
    ),
)
