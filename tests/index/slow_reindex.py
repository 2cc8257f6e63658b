"""How does a reindex look from outside while it encodes? A program: catalog directory, log of every text encoded."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from index.catalog import Catalog
from index.reindex import reindex
from tests.index.catalog_builders import ANALYZER, HashEncoder


class SlowEncoder(HashEncoder):
    """Takes its time, and writes down every text before it is done with it."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        with self._log.open("a") as file:
            file.writelines(f"{text}\n" for text in texts)
        time.sleep(0.005)
        return super().encode_documents(texts)


def main(directory: Path, log: Path) -> None:
    with Catalog.open(directory) as made:
        reindex(made, encoder=SlowEncoder(log), analyzer=ANALYZER, progress=lambda progress: None, batch_texts=4)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
