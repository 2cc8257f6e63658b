"""How does a test run a command as a person would, in this process?"""

import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from muniment.__main__ import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended, and what it wrote."""

    status: int
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Ran:
    """Run `muniment ARGUMENTS`."""
    capsys.readouterr()
    status = 0
    with mock.patch.object(sys, "argv", ["muniment", *map(str, arguments)]):
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    captured = capsys.readouterr()
    return Ran(status=status, out=captured.out, err=captured.err)
