"""Which source files must be refused, and at which line and JSON path?

Bytes are made when asked for: some hold NUL, broken UTF-8 or megabytes on one line.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TEXT = "At most 25 MB."
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`file` is the name to give the file, `line` the line to be named, `path` a part of the JSON path to be named."""

    name: str
    file: str
    make: Callable[[], bytes]
    line: int
    path: str

    @property
    def data(self) -> bytes:
        return self.make()


def record(**changes: Any) -> dict[str, Any]:
    """A good record, with `changes`; a change to `...` takes the key away."""
    made = {"source_id": "b", "revision": "1", "text": TEXT, "access": {"tenant": "blue"}, **changes}
    return {name: value for name, value in made.items() if value is not ...}


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


GOOD_LINE = encoded(record(source_id="a"))


def _after_a_good_line(name: str, path: str, *lines: bytes) -> Case:
    return Case(
        name=name, file="bad.jsonl", make=lambda: b"\n".join((GOOD_LINE, *lines, b"")), line=1 + len(lines), path=path
    )


def _changed(name: str, path: str, **changes: Any) -> Case:
    return _after_a_good_line(name, path, encoded(record(**changes)))


def _markdown(name: str, line: int, path: str, text: str) -> Case:
    return Case(name=name, file="bad.md", make=text.encode, line=line, path=path)


CLAIM = {"key": "upload.max_mb", "value": "25", "quote": "25 MB"}

CASES: tuple[Case, ...] = (
    # JSON
    Case(name="empty file", file="bad.jsonl", make=lambda: b"", line=1, path="$"),
    Case(name="only blank lines", file="bad.jsonl", make=lambda: b"\n \r\n\n", line=1, path="$"),
    Case(name="byte order mark", file="bad.jsonl", make=lambda: b"\xef\xbb\xbf" + GOOD_LINE, line=1, path="$"),
    Case(name="UTF-16", file="bad.jsonl", make=lambda: GOOD_LINE.decode().encode("utf-16"), line=1, path="$"),
    Case(name="old line ends", file="bad.jsonl", make=lambda: GOOD_LINE + b"\r" + GOOD_LINE, line=1, path="$"),
    _after_a_good_line("bad UTF-8", "$", encoded(record()).replace(b"25 MB", b"25 \xff")),
    _after_a_good_line("surrogate in UTF-8", "$", encoded(record()).replace(b"25 MB", b"\xed\xa0\x80")),
    _after_a_good_line("NUL byte", "$", encoded(record()).replace(b"25 MB", b"25 \x00")),
    _after_a_good_line("not JSON", "$", b"source_id: b"),
    _after_a_good_line("trailing comma", "$", encoded(record())[:-1] + b",}"),
    _after_a_good_line("two records on a line", "$", encoded(record()) * 2),
    _after_a_good_line("record over two lines", "$", encoded(record())[:-1]),
    _after_a_good_line("comment", "$", b"// nothing"),
    _after_a_good_line("array", "$", b"[]"),
    _after_a_good_line("string", "$", b'"b"'),
    _after_a_good_line("duplicate key", "$.source_id", b'{"source_id": "c", ' + encoded(record())[1:]),
    _after_a_good_line(
        "duplicate nested key", "$.access.tenant", encoded(record()).replace(b'"blue"', b'"blue", "tenant": "red"')
    ),
    _after_a_good_line("lone surrogate", "$.text", encoded(record(text="a\ud800"))),
    _after_a_good_line("NaN", "$.metadata.x", encoded(record(metadata={"x": float("nan")}))),
    _after_a_good_line("huge integer", "$.metadata.x", encoded(record(metadata={"x": 2**53}))),
    _after_a_good_line(
        "integer of 5,000 digits", "$.metadata.x", encoded(record(metadata={"x": 0}))[:-3] + b"9" * 5000 + b"}}"
    ),
    _after_a_good_line("deep nesting", "$", b'{"metadata": ' + b"[" * 100_000),
    _after_a_good_line("deep nesting, closed", "$", b'{"metadata": ' + b"[" * 100 + b"]" * 100 + b"}"),
    Case(
        name="line of 17 MB",
        file="bad.jsonl",
        make=lambda: GOOD_LINE + b"\n" + encoded(record(text="x" * 17 * MEGABYTE)),
        line=2,
        path="$",
    ),
    Case(
        name="line of 10 MB that is no JSON",
        file="bad.jsonl",
        make=lambda: b"\n" + b"x" * 10 * MEGABYTE,
        line=2,
        path="$",
    ),
    # Keys and types
    _changed("unknown key", "$.colour", colour="red"),
    _changed("unknown nested key", "$.access.group", access={"tenant": "blue", "group": "x"}),
    _changed("key of another spelling", "$.Text", Text="x"),
    _changed("no source_id", "$.source_id", source_id=...),
    _changed("no revision", "$.revision", revision=...),
    _changed("no text", "$.text", text=...),
    _changed("number for a string", "$.revision", revision=1),
    _changed("null for a string", "$.title", title=None),
    _changed("string for an array", "$.applies_to", applies_to="model-k2"),
    _changed("array for an object", "$.metadata", metadata=[]),
    _changed("string for a boolean", "$.access.public", access={"public": "true"}),
    _changed("number in an array of strings", "$.access.roles[1]", access={"tenant": "blue", "roles": ["a", 1]}),
    # Names and text
    _changed("empty source_id", "$.source_id", source_id=""),
    _changed("control character in source_id", "$.source_id", source_id="a\nb"),
    _changed("source_id of 513 characters", "$.source_id", source_id="x" * 513),
    _changed("empty text", "$.text", text=""),
    _changed("white space for text", "$.text", text=" \n\t"),
    _changed("escaped NUL in text", "$.text", text="a\x00b"),
    # Labels
    _changed("no access", "$.access", access=...),
    _changed("null access", "$.access", access=None),
    _changed("neither public nor a tenant", "$.access", access={"roles": ["a"]}),
    _changed("public and a tenant", "$.access.tenant", access={"public": True, "tenant": "blue"}),
    _changed("tenant called public", "$.access.tenant", access={"tenant": "public"}),
    _changed("empty role", "$.access.roles[0]", access={"tenant": "blue", "roles": [""]}),
    _after_a_good_line(
        "two labels for one source",
        "$.access",
        encoded(record()),
        encoded(record(revision="2", access={"tenant": "blue", "roles": ["a"]})),
    ),
    # Status and time
    _changed("unknown status", "$.status", status="final"),
    _changed("time without a zone", "$.effective_from", effective_from="2025-03-01T00:00:00"),
    _changed("date for a time", "$.effective_from", effective_from="2025-03-01"),
    _changed("no such day", "$.effective_to", effective_to="2025-02-30T00:00:00Z"),
    _changed(
        "interval that ends before it starts",
        "$.effective_to",
        effective_from="2025-03-01T00:00:00Z",
        effective_to="2025-02-01T00:00:00Z",
    ),
    _changed(
        "empty interval",
        "$.effective_to",
        effective_from="2025-03-01T00:00:00Z",
        effective_to="2025-03-01T00:00:00Z",
    ),
    # Statements
    _changed("quote not in the text", "$.claims[0].quote", claims=[{**CLAIM, "quote": "26 MB"}]),
    _changed("claim without a value", "$.claims[0].value", claims=[{"key": "k", "quote": "25 MB"}]),
    _changed("repeated claim", "$.claims[1]", claims=[CLAIM, CLAIM]),
    _changed("supersedes itself", "$.supersedes[0]", supersedes=[{"source_id": "b", "revision": "1"}]),
    _changed("superseded without a revision", "$.supersedes[0].revision", supersedes=[{"source_id": "a"}]),
    _changed(
        "here.claim that is not declared",
        "$.contradicts[0].here.claim",
        contradicts=[{"source_id": "c", "here": {"claim": "other"}}],
        claims=[CLAIM],
    ),
    _changed(
        "here.quote not in the text",
        "$.contradicts[0].here.quote",
        contradicts=[{"source_id": "c", "here": {"quote": "26 MB"}}],
    ),
    _changed(
        "claim and quote in one side",
        "$.contradicts[0].there",
        contradicts=[{"source_id": "c", "there": {"claim": "k", "quote": "q"}}],
    ),
    # Metadata
    _changed("fraction in metadata", "$.metadata.weight", metadata={"weight": 1.5}),
    _changed("object in metadata", "$.metadata.size", metadata={"size": {"mb": 25}}),
    _changed("null in metadata", "$.metadata.size", metadata={"size": None}),
    # Revisions
    _after_a_good_line("revision with other content", "$.revision", encoded(record()), encoded(record(text="Other."))),
    # Front matter
    _markdown("front matter without an end", 1, "$", "---\nsource_id: b\n\n# Text\n"),
    _markdown("front matter that is not YAML", 3, "$", "---\nsource_id: b\ntitle: a: b\n---\nText\n"),
    _markdown("front matter that is a list", 2, "$", "---\n- a\n---\nText\n"),
    _markdown("front matter with a repeated key", 3, "$.revision", "---\nrevision: '1'\nrevision: '2'\n---\nText\n"),
    _markdown("front matter with an unknown key", 3, "$.tags", "---\nrevision: '1'\ntags: [a]\n---\nText\n"),
    _markdown("front matter with text", 2, "$.text", "---\ntext: a\n---\nText\n"),
    _markdown(
        "front matter with a number", 2, "$.revision", "---\nrevision: 1.10\naccess: {public: true}\n---\nText\n"
    ),
    _markdown(
        "front matter with a date",
        2,
        "$.effective_from",
        "---\neffective_from: 2025-03-01\naccess: {public: true}\n---\nText\n",
    ),
    _markdown("front matter with an alias", 3, "$", "---\ntitle: &a b\nowner: *a\n---\nText\n"),
    _markdown("front matter with a tag", 2, "$", "---\ntitle: !!python/name:os.abort x\n---\nText\n"),
    _markdown(
        "front matter with two labels",
        4,
        "$.access.tenant",
        "---\naccess:\n  public: true\n  tenant: blue\n---\nText\n",
    ),
    _markdown("file without a label", 1, "$.access", "# Text\n"),
    _markdown("front matter and no text", 4, "$.text", "---\naccess: {public: true}\n---\n \n"),
    _markdown("NUL in a file", 6, "$.text", "---\naccess: {public: true}\n---\none\ntwo\nthr\x00ee\n"),
    Case(name="bad UTF-8 in a file", file="bad.md", make=lambda: b"one\ntwo \xff\n", line=2, path="$.text"),
    Case(name="byte order mark in a file", file="bad.txt", make=lambda: b"\xef\xbb\xbftext", line=1, path="$"),
)
