"""Which command lines does a document show, and is the output beneath them what they print?

A ```console block holds lines that begin with `$ `, each followed by its output. A command runs in this process, in the
folder of a `Shell`, so that models are opened once: `muniment ...`, also with `NAME=value` in front or as
`NAME=$(...)`; `curl`, against the application itself; `echo $?`. `make`, `muniment serve` and `muniment demo`
are only looked up. `| jq PATH` and `| jq '{name, name}'` are worked out here, and `> FILE` keeps what was printed.
Other programs are passed over.

A block after a line that ends in "as `NAME`:" is a file, written before the next command runs.

What is printed and what is shown are compared after `normalized`; a line of `…` in a document stands for any lines, `…`
within a line for any text. `refreshed` puts the hashes and scores that are printed now in place of those shown.
"""

import contextlib
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from muniment.__main__ import app, main

ANY = "…"
COLUMNS = "100"  # as wide as the tables in the documents

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"as\s+`([\w./-]+)`[^`\n]*:\s*\Z")
_ASSIGNED = re.compile(r"(\w+)=\$\(((?:muniment|curl) .*)\)")
# The same at each run over the same codes: digests, names made of them, scores.
_FIXED = re.compile(r"sha256:[0-9a-f]{64}|\b[0-9a-f]{64}\b|\b(?:g|ingest)-[0-9a-f]{32}|\b\d{6,}\b")
_VOLATILE = (
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), "TOKEN"),
    (re.compile(r"\b(openvino|torch)-[\w.]+(-\w+)+"), "RUNTIME"),  # which one is the fastest here
    (re.compile(r"\b\d+(\.\d+)? (s\b|tokens/s)"), r"# \2"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)
_NORMALIZED = (
    (re.compile(r"sha256:[0-9a-f]{64}"), "sha256:#"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "#"),
    (re.compile(r"\b(g|ingest)-[0-9a-f]{32}"), r"\1-#"),
    *_VOLATILE,
    (re.compile(r"\b\d{6,}\b"), "#"),  # scores: dense ones may differ between processors
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block. `line`: of its fence, from 1. `saved_as`: the file that it is, None for no file."""

    line: int
    language: str
    text: str
    saved_as: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line, its continuations joined, and the output shown beneath it. `output`: the output's first line."""

    line: int
    text: str
    output: int
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What a command printed: standard output, and standard error too where it failed."""

    text: str
    status: int


def blocks(document: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown document, in order."""
    for found in _FENCE.finditer(document):
        before = document[: found.start()]
        saved = _SAVED.search(before.rstrip("\n"))
        yield Block(
            line=before.count("\n") + 1,
            language=found["language"],
            text=found["text"],
            saved_as=None if saved is None else saved[1],
        )


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block, in order."""
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        first = at
        text = lines[at].removeprefix("$ ")
        assert text != lines[at], f"line {block.line + 1 + at} shows output before any command"
        while text.endswith("\\"):
            at += 1
            text = text[:-1].rstrip() + " " + lines[at].strip()
        end = next((later for later in range(at + 1, len(lines)) if lines[later].startswith("$ ")), len(lines))
        shown = "".join(f"{line}\n" for line in lines[at + 1 : end])
        yield Command(line=block.line + 1 + first, text=text, output=block.line + 2 + at, shown=shown)
        at = end


def normalized(text: str) -> str:
    """`text` without what differs from one run to the next: hashes, names made of them, tokens, runtimes, durations,
    scores, and the spaces at the end of a line."""
    for pattern, stands_for in _NORMALIZED:
        text = pattern.sub(stands_for, text)
    return text


def agrees(shown: str, printed: str) -> bool:
    """Whether `printed` is what `shown` says it is."""
    lines = normalized(shown).strip("\n").split("\n")
    parts = [
        r"(?:.*\n)*" if line.strip() == ANY else ".*".join(map(re.escape, line.split(ANY))) + r"\n" for line in lines
    ]
    return re.fullmatch("".join(parts), normalized(printed).strip("\n") + "\n") is not None


def refreshed(shown: str, printed: str) -> str:
    """`shown` with the hashes, names and scores that `printed` has in their places.

    Unchanged where they are the same, and where the two do not agree in the rest.
    """
    now, was = _without_volatile(printed).strip("\n") + "\n", _without_volatile(shown).strip("\n")
    if re.fullmatch(_pattern(was, kept=True), now):
        return shown
    found = re.fullmatch(_pattern(was, kept=False), now)
    if found is None:
        return shown
    values = iter(found.groups())
    return _FIXED.sub(lambda _: next(values), shown)


def _without_volatile(text: str) -> str:
    for pattern, stands_for in _VOLATILE:
        text = pattern.sub(stands_for, text)
    return text


def _pattern(shown: str, *, kept: bool) -> str:
    """What prints as `shown`: with the same hashes where they are `kept`, else with any, each of them a group."""
    lines = []
    for line in shown.split("\n"):
        if line.strip() == ANY:
            lines.append(r"(?:.*\n)*")
            continue
        at, parts = 0, []
        for one in () if kept else _FIXED.finditer(line):
            parts += [_any_text(line[at : one.start()]), f"({_FIXED.pattern})"]
            at = one.end()
        lines.append("".join(parts) + _any_text(line[at:]) + r"\n")
    return "".join(lines)


def _any_text(text: str) -> str:
    return ".*".join(map(re.escape, text.split(ANY)))


@dataclass(slots=True, kw_only=True)
class Shell:
    """Runs what a document shows, in `folder`. `request` sends what `curl` would: catalog, method, path, headers, body
    to the text of the answer."""

    folder: Path
    request: Callable[[Path, str, str, Mapping[str, str], bytes], str]
    variables: dict[str, str] = field(default_factory=dict)
    served: Path = Path(".muniment/sample")
    status: int = 0

    def run(self, text: str) -> Printed | None:
        """Run one command line; None when nothing of it was run."""
        assigned = _ASSIGNED.fullmatch(text)
        if assigned is not None:
            inner = self.run(assigned[2])
            assert inner is not None
            self.variables[assigned[1]] = inner.text.strip()
            return Printed(text="", status=inner.status)
        if text == "echo $?":
            printed, self.status = Printed(text=f"{self.status}\n", status=0), 0
            return printed
        words, file = _cut_at(">", shlex.split(self._filled(text)))
        words, query = _cut_at("|", words)
        environment = {}
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, _, environment[name] = words.pop(0).partition("=")
        printed_or_none = self._program(words, environment)
        if printed_or_none is None:
            return None
        text, status = printed_or_none.text, printed_or_none.status
        if query and status == 0:
            assert query[0] == "jq", f"only jq is known behind a pipe, not {query[0]}"
            chosen = _queried(json.loads(text), query[-1])
            text = f"{chosen if query[1] == '-r' else json.dumps(chosen, indent=2, ensure_ascii=False)}\n"
        if file and status == 0:
            (self.folder / file[0]).write_text(text)
            text = ""
        return Printed(text=text, status=status)

    def _program(self, words: list[str], environment: Mapping[str, str]) -> Printed | None:
        if words[:1] == ["curl"]:
            return Printed(text=self._curl(words[1:]) + "\n", status=0)
        if words[:1] != ["muniment"]:
            return None
        if words[1] in ("serve", "demo"):
            self._look_up(words[1:])
            return None
        return self._muniment(words[1:], environment)

    def _muniment(self, arguments: list[str], environment: Mapping[str, str]) -> Printed:
        out, errors = io.BytesIO(), io.StringIO()
        before, arguments_before, environment_before = Path.cwd(), sys.argv, dict(os.environ)
        status = 0
        os.environ.update({"COLUMNS": COLUMNS, **environment})
        os.chdir(self.folder)
        sys.argv = ["muniment", *arguments]
        try:
            text = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(errors):
                main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
        finally:
            sys.argv = arguments_before
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment_before)
        return Printed(text=out.getvalue().decode() + (errors.getvalue() if status else ""), status=status)

    def _look_up(self, arguments: list[str]) -> None:
        command = typer.main.get_command(app).commands[arguments[0]]  # type: ignore[attr-defined]  # typer exports no type of a group
        context = command.make_context(arguments[0], list(arguments[1:]))
        self.served = Path(context.params.get("directory") or context.params["catalog"])

    def _curl(self, words: list[str]) -> str:
        headers, body, url, method = {}, None, "", None
        arguments = iter(words)
        for word in arguments:
            if word in ("-H", "--header"):
                name, _, value = next(arguments).partition(": ")
                headers[name] = value
            elif word in ("-d", "--data", "--data-binary"):
                data = next(arguments)
                body = (self.folder / data[1:]).read_bytes() if data.startswith("@") else data.encode()
            elif word == "-X":
                method = next(arguments)
            elif not word.startswith("-"):
                url = word
        path = re.sub(r"^https?://[^/]+", "", url)
        method = method or ("GET" if body is None else "POST")
        return self.request(self.folder / self.served, method, path, headers, body or b"")

    def _filled(self, text: str) -> str:
        return re.sub(r"\$(\w+)", lambda found: self.variables.get(found[1], found[0]), text)


def _cut_at(mark: str, words: list[str]) -> tuple[list[str], list[str]]:
    """The words before and after the first `mark`."""
    at = words.index(mark) if mark in words else len(words)
    return words[:at], words[at + 1 :]


def _queried(value: Any, query: str) -> Any:
    """What jq gives for a path, as `.manifest.inclusions[0]`, or for names picked from it, as `.packet | {cut}`."""
    path, _, picked = (part.strip() for part in query.partition("|"))
    if path.startswith("{"):
        path, picked = ".", path
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        value = value[name] if name else value[int(index)]
    names = re.findall(r"\w+", picked)
    return {name: value[name] for name in names} if names else value
