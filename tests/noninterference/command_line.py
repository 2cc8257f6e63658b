"""Does the command line say the same over the whole world and over its visible part?

`muniment search`, `packet` and `replay`, run in this process as a person runs them: standard output, standard error and
exit status, to the last character. Each catalog lies in the working folder, so that its path shows nowhere.
"""

import contextlib
import functools
import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from evidence.access import Principal
from muniment.__main__ import main
from server.opening import open_pipeline
from server.timing import Stopwatch
from tests.muniment.commands import Ran
from tests.noninterference.bench import Bench, Difference
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.world import Asked, Viewpoint, World, visible_part
from tests.worlds import NOW

_OPTIONS = {"as_of": "--as-of", "catalog_version": "--catalog-version"}  # the others are called as their fields
_JSON_OPTIONS = ("filter", "fusion")


def command_line_alike(bench: Bench, world: World, view: Viewpoint, requests: Sequence[Asked]) -> None:
    """M1 for the command line: each request as a command that prints JSON, the first as text too, each packet
    replayed. Raises Difference."""
    with _both(bench, world, view) as (full, part, written):
        for place, asked in enumerate(requests):
            arguments = written.arguments(asked)
            made = _alike(full, part, arguments)
            if asked.target == "/v1/packets" and made.status < 2:
                manifest = written.file(json.loads(made.out)["manifest"])
                _alike(full, part, ["replay", ".", manifest, "--as", written.principal(asked.who), "--json"])
            if place == 0:
                _alike(full, part, [one for one in arguments if one != "--json"])


def refusals_alike(bench: Bench, world: World, view: Viewpoint) -> None:
    """M1 for commands as nobody, and for a purpose that was not granted. Raises Difference."""
    named = _record(view.who)
    nobody: list[Any] = [{"sub": "ann"}, {**named, "tenant": "public"}, [], {**named, "colour": 1}]
    with _both(bench, world, view) as (full, part, written):
        for who, options in [*((one, []) for one in nobody), (named, ["--purpose", "never-granted"])]:
            arguments = ["search", ".", "upload limit", "--as", written.file(who), "--json", *options]
            assert _alike(full, part, arguments).status == 2


def run_command(directory: Path, arguments: Sequence[str]) -> Ran:
    """Run `muniment ARGUMENTS` in a folder, with the clock and the stopwatch standing still."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    stopped = functools.partial(open_pipeline, clock=lambda: NOW, stopwatch=lambda: Stopwatch(lambda: 0.0))
    with (
        contextlib.chdir(directory),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch("server.opening.open_encoder", return_value=FastEncoder()),
        mock.patch("server.opening.open_pipeline", stopped),
        mock.patch.object(sys, "argv", ["muniment", *arguments]),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return Ran(status=status, out=out.getvalue(), err=err.getvalue())


def _alike(full: Path, part: Path, arguments: Sequence[str]) -> Ran:
    one, other = run_command(full, arguments), run_command(part, arguments)
    if one != other:
        raise Difference(f"muniment {' '.join(arguments)}\n{one}\n{other}")
    return one


@contextlib.contextmanager
def _both(bench: Bench, world: World, view: Viewpoint) -> Iterator[tuple[Path, Path, "_Files"]]:
    """The catalogs of a world and of its visible part, and a folder for files."""
    with bench.catalog(world) as full, bench.catalog(visible_part(world, view)) as part, bench.folder() as files:
        files.mkdir()
        yield full, part, _Files(files)


class _Files:
    """Requests as commands, with what those read from files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, content: Any) -> str:
        """The name of a new file that holds `content`."""
        path = self._folder / f"{len(list(self._folder.iterdir()))}.json"
        path.write_text(json.dumps(content))
        return str(path)

    def principal(self, who: Principal | None) -> str:
        assert who is not None
        return self.file(_record(who))

    def arguments(self, asked: Asked) -> list[str]:
        """The command that asks this."""
        body = {name: value for name, value in asked.body.items() if name != "query"}
        command = "packet" if asked.target == "/v1/packets" else "search"
        who = ["--as", self.principal(asked.who), "--json"]
        if command == "packet":
            return [command, ".", asked.body["query"], *who, "--request", self.file(body)]
        return [command, *_options(body), *who, "--", ".", asked.body["query"]]


def _options(body: dict[str, Any]) -> Iterator[str]:
    for name, value in body.items():
        if name == "k":
            yield from ("-k", str(value))
        elif name in _JSON_OPTIONS:
            yield from (f"--{name}", json.dumps(value))
        else:
            yield from (_OPTIONS.get(name, f"--{name}"), str(value))


def _record(who: Principal) -> dict[str, Any]:
    """The principal as its file says it."""
    return {
        "sub": who.sub,
        "tenant": who.tenant,
        "roles": list(who.roles),
        "purposes": list(who.purposes),
        "regions": list(who.regions),
        "cases": list(who.cases),
        "scope": list(who.scope),
    }
