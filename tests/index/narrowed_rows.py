"""What do the same rows come to, whoever narrows them? Run as a module, it says so from a process of its own."""

import sys

import numpy as np

from evidence.canonical import digest_bytes
from index.approximate import Approximation, Narrowing, Signs
from index.ranges import RowRanges


def named(*, threads: int) -> str:
    """Digests of the signs of some rows, and of those that are scored of them."""
    codes = np.frombuffer(bytes(range(256)) * 96, dtype=np.int8).reshape(-1, 48).clip(-127)
    signs, narrowing = Signs(codes), Narrowing(Approximation(above=0, oversampling=3), threads=threads)
    (found,) = narrowing.narrow(codes[7], [(signs, RowRanges.from_pairs([(3, 500)]))], k=9)
    return f"{digest_bytes(signs.tiles.tobytes())} {found.digest()}"


if __name__ == "__main__":
    sys.stdout.write(named(threads=3))
