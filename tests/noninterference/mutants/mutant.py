"""What is a mutant?"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

from tests.noninterference.relations import Relation


class Oracle(StrEnum):
    """What finds a fault that is no difference between bytes."""

    ENCODER_SPY = "encoder spy"  # counts encodings
    RERANKER_SPY = "reranker spy"  # sees which rows share a batch
    CANARY = "canary"  # searches for planted words


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A fault that would leak, switched on for as long as `switched_on()` lasts.

    number, name: its row in the table of docs/non-interference.md. what: what it does, in one line. killer: what finds
    it. As a rule it replaces one function of the product by a faulty one; where the product has no such feature, it
    brings the feature, faulty.
    """

    number: int
    name: str
    what: str
    killer: Relation | Oracle
    switched_on: Callable[[], AbstractContextManager[None]]
