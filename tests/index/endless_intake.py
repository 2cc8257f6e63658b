"""Takes revisions in, one call each, until it is killed. Prints the source_id of each when that is acknowledged.

Run as a program with the directory of a catalog, and the number to begin at.
"""

import sys
from itertools import count
from pathlib import Path

from index.catalog import Catalog
from tests.index.catalog_builders import arrive, revision


def main(directory: Path, first: int) -> None:
    """Each revision has a text of its own and one that all of them share."""
    with Catalog.open(directory) as made:
        for number in count(first):
            arrive(made, revision(f"s{number:06}", f"only here {number} ", "everywhere "))
            print(f"s{number:06}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
