"""Where do the data sets lie that tests read in place?"""

import os
from pathlib import Path

import pytest


def data_folder() -> Path:
    """The folder of data sets: `MUNIMENT_DATA`, or `shared/data` beside the checkout.

    Without one the test is skipped and says so; under CI it fails, since a check that silently skips proves nothing.
    """
    folder = Path(os.environ.get("MUNIMENT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not folder.is_dir():
        missing = "no data sets here: set MUNIMENT_DATA to the folder that holds scifact/, peps/, ..."
        if os.environ.get("CI"):
            raise FileNotFoundError(missing)
        pytest.skip(missing)
    return folder
