"""What is chosen beside a case, the same in every run? (pure)"""

import hashlib
from random import Random

from tests.noninterference.generators import Case


def random_of(case: Case) -> Random:
    """Chance that is the same for equal cases."""
    return Random(hashlib.sha256(str(case).encode()).digest())
