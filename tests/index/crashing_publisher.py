"""What is left of a publisher that ends at one step? Prints, as JSON, what is in force after each possible end.

Run as a program with an empty directory: it forks a child for each step, before any thread exists.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from index.generation import open_current
from tests.index.catalog_builders import recipe
from tests.index.test_publishing import contents, published

CALLS = ("fsync", "mkdir", "rename", "replace", "rmdir", "unlink")


def main(directory: Path) -> None:
    """Publish over an old generation and crash, at every step there is, each time in a copy of the same directory."""
    setattr(os, "fsync", lambda descriptor: None)  # noqa: B010  # a process that ends takes no unsynced page with it
    template = directory / "template"
    template.mkdir()
    published(template, contents(["older"]))  # so that there is something to remove
    old = published(template, contents(["fern"]))
    outcomes = []
    for step in range(1, 1000):
        copy = directory / str(step)
        shutil.copytree(template, copy)
        call = _publish_and_crash(copy, step)
        if call is None:
            break
        state = "old" if _opened(copy) == old else "new"
        new = published(copy, contents(["moss"]))
        outcomes.append({"call": call, "state": state, "next": "new" if _opened(copy) == new else "old"})
    json.dump(outcomes, sys.stdout)


def _opened(directory: Path) -> str:
    return open_current(directory, recipe(dimension=4)).name


def _publish_and_crash(directory: Path, step: int) -> str | None:
    """The name of the call at which the child ended; None when it came to its end before that step."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _crash_at(step, writer)
        published(directory, contents(["moss"]))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        call = pipe.read()
    os.waitpid(child, 0)
    return call or None


def _crash_at(step: int, writer: int) -> None:
    """Count the calls that change the disk, before and after each, and end this process at the wanted one."""
    passed = 0

    def tick(name: str) -> None:
        nonlocal passed
        passed += 1
        if passed == step:
            os.write(writer, name.encode())
            os._exit(9)

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            tick(name)
            result = call(*given, **named)
            tick(name)
            return result

        return wrapped

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
