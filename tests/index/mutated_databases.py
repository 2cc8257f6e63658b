"""What does a reader do with a database in which bytes were changed? A program: catalog directory, how many changes.

Prints, as JSON, how often it was refused, and how often the answer was the right one. Anything else ends it: another
answer, an error that is none of ours, or a signal.
"""

import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

from evidence.revision import RevisionFacts
from evidence.unit import Unit
from index.catalog import DATABASE, Catalog
from index.errors import IndexFault
from index.integrity import verify

SEED = 20250601

Answer = list[tuple[RevisionFacts, str, list[Unit]]]


def main(directory: Path, changes: int) -> None:
    right = _read(directory)
    generator = random.Random(SEED)
    data = (directory / DATABASE).read_bytes()
    copy = directory.with_name("copy")
    outcomes: Counter[str] = Counter()
    for _ in range(changes):
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        (copy / DATABASE).write_bytes(_mutated(data, generator))
        try:
            answer = _read(copy)
            verify(copy)
        except IndexFault:
            outcomes["refused"] += 1
        else:
            if answer != right:
                raise AssertionError("a changed database gave another answer")
            outcomes["right"] += 1
    json.dump(outcomes, sys.stdout)


def _read(directory: Path) -> Answer:
    """Everything a reader may be told, with the check at the start left out, so that the others have to find it."""
    with Catalog.open(directory, quick_check=False) as made, made.read() as reading:
        return [(facts, reading.revision_text(key), reading.units_of(key)) for key, facts in reading.facts().items()]


def _mutated(data: bytes, generator: random.Random) -> bytes:
    """A bit flipped, a byte changed, or a stretch overwritten, somewhere; often in the first page."""
    changed = bytearray(data)
    place = generator.randrange(generator.choice([100, 4096, len(data)]))
    kind = generator.randrange(3)
    if kind == 0:
        changed[place] ^= 1 << generator.randrange(8)
    elif kind == 1:
        changed[place] = generator.randrange(256)
    else:
        stretch = generator.randbytes(generator.randrange(2, 64))
        changed[place : place + len(stretch)] = stretch
    return bytes(changed[: len(data)])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
