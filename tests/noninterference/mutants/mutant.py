"""What is a mutant?"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.noninterference.relations import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A fault that would leak, switched on for as long as `switched_on()` lasts.

    number, name: its row in the table of docs/non-interference.md. what: what it does, in one line. killer: the
    relation that finds it, or the name of another oracle (`spy`, `canary`, `timing`). As a rule it replaces
    one function of the product by a faulty one; where the product has no such feature, it brings the feature, faulty.
    """

    number: int
    name: str
    what: str
    killer: Relation | str
    switched_on: Callable[[], AbstractContextManager[None]]
