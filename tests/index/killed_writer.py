"""What is left when a writer of the authority is killed? A program: catalog directory.

Deletes, relabels, revokes and adds, without end, and prints a line for each change that was acknowledged.
"""

import sys
from itertools import count
from pathlib import Path

from evidence.access import Label
from evidence.grants import Subject
from evidence.identity import RevisionKey, SourceKey
from index.catalog import Catalog
from tests.index.catalog_builders import BLUE, revision


def main(directory: Path) -> None:
    with Catalog.open(directory) as catalog:
        for number in count():
            name = f"s{number}"
            texts = [f"{name} says {word}. " for word in range(20)]
            report = catalog.add([revision(name, *texts, namespace=BLUE)], relabel=False)
            print("added", name, flush=True)
            catalog.relabel(SourceKey(BLUE, name), Label(namespace=BLUE, roles=(f"role-{number}",)))
            print("relabelled", name, flush=True)
            catalog.revoke(Subject(BLUE, name))
            print("subject", name, flush=True)
            catalog.revoke(RevisionKey(BLUE, name, "1"))
            print("revoked", name, flush=True)
            if number % 3 == 1:
                catalog.delete(SourceKey(BLUE, name))
                print("gone", name, flush=True)
            elif number % 3 == 2:
                catalog.roll_back(report.ingest_id)
                print("gone", name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
