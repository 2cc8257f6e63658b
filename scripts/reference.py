"""What can be called, sent and set, by the code's own word?

Writes the pages: `docs/reference/cli.md` from the commands, `docs/reference/http.md` from the OpenAPI document,
`docs/configuration.md` from the settings, and the table of README.md that shows `docs/benchmarks/quality.json`.
With `--check` nothing is written, and what differs is named.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import typer
from fastapi import FastAPI

from muniment.__main__ import app
from server.app import create_app
from server.errors import STATUS
from server.keys import SigningKey
from server.pipeline import Pipeline
from server.recording import Recorder
from server.responses import PacketShape
from server.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
QUALITY = ROOT / "docs" / "benchmarks" / "quality.json"
QUALITY_BEGINS, QUALITY_ENDS = "<!-- quality: begin -->", "<!-- quality: end -->"
GENERATED = "<!-- Written by scripts/reference.py from the code; edit that, not this. -->"

# What a token must hold for each route; routes that take a public source ask for `ingest-public` there.
SCOPES = {
    "POST /v1/search": "search",
    "POST /v1/packets": "search",
    "POST /v1/search/batch": "search",
    "POST /v1/embeddings": "search",
    "POST /v1/rerank": "search",
    "POST /v2/rerank": "search",
    "GET /v1/catalog": "search",
    "GET /v1/manifests/{packet_id}": "search",
    "POST /v1/manifests/replay": "search",
    "POST /v1/citations/validate": "search",
    "POST /v1/citations/read": "search",
    "POST /v1/sources": "ingest",
    "DELETE /v1/sources/{source_id}": "ingest",
    "PUT /v1/sources/{source_id}/access": "ingest",
    "POST /v1/revocations": "revoke",
    "GET /v1/audit/{packet_id}": "audit",
    "GET /v1/reviews": "audit",
    "POST /v1/reviews": "audit",
    "POST /v1/reviews/{review_id}": "audit",
}
ON_PUBLIC = {"ingest": ", or `ingest-public` for public sources", "revoke": ", and `ingest-public` for public sources"}

Schema = Mapping[str, Any]

CLI_HEAD = f"""\
# Command line

{GENERATED}

`make` puts the command `muniment` into `.venv/bin`. `muniment COMMAND --help` says the same as this page.

Exit status: 0 done; 1 the answer is no (a packet that is not accepted, damage found); 2 bad usage or input, with what
is wrong on standard error. `MUNIMENT_DEBUG=1` shows the traceback of a failure. [Settings](../configuration.md) in the
environment hold for every command. Nothing is fetched from a model hub.
"""

HTTP_HEAD = f"""\
# HTTP

{GENERATED}

A running server shows this document as OpenAPI under `/docs` and `/openapi.json`. Routes that need a token take
`Authorization: Bearer TOKEN`, signed with the catalog's own key (`muniment token`), and name the scope that it must
hold. Who asks comes from the token alone; nothing in a body widens it. A call that changes or names sources acts in the
namespace of the token's tenant, and on public sources only where it says `public`.

Bodies are strict JSON in UTF-8: an unknown field, a repeated key or a value of another type is refused. A body has at
most %(max_body_bytes)s bytes, one of sources %(max_sources_bytes)s; a query %(max_query_bytes)s bytes and
%(max_query_terms)s terms; and `k` is at most %(max_k)s: the defaults of [settings](../configuration.md). Compressed
bodies are not read.

Answers are the same bytes for the same question and catalog, but for `run` (device, fallback, milliseconds), the
`date` header and `x-request-id`, which every response carries. Scores are integers: `lexical` in units of 2^-32,
`dense` the plain product of int8 codes, `fused` a numerator over 2^32, `rerank` in units of 2^-20.
`muniment search --json` and `muniment packet --json` print the same bodies.
"""

PACKET_HEAD = """\
## The packet

What `packet` holds when the disposition is `accepted`:
"""

PROBLEMS_HEAD = """\
## Problems

A request that cannot be read, authenticated or admitted ends in `application/problem+json` (RFC 9457) with `type`,
`title`, `status`, `detail` and, where one value is to blame, its JSON path as `path`. A packet that does not fit is no
problem but an answer: status 200 with `disposition: refused-budget`. 401 carries `www-authenticate: Bearer`; 429 and
503 carry `retry-after`. A route that does not exist gives 404 or 405 with the type `urn:muniment:problem:route`, a
failure of the server itself 500 with `urn:muniment:problem:internal`.
"""

CONFIGURATION_HEAD = f"""\
# Settings

{GENERATED}

Read once, at the start of the server or of a command. Later ones win: the default, the TOML file of
`muniment serve --config FILE`, the environment, the options of the command line. A wrong value, or a name in the file
that is no setting, ends the start with one line that names it. Lists in the environment are written as JSON:
`MUNIMENT_ALLOWED_HOSTS='["search.example"]'`.
"""


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` compare them. Exit status 1 when one differs."""
    parser = argparse.ArgumentParser(description="Write the reference pages from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; name the pages that differ")
    options = parser.parse_args(arguments)
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages()[path], "utf-8")
        sys.stdout.write(f"{'differs' if options.check else 'wrote'}: {path.relative_to(ROOT)}\n")
    return 1 if stale and options.check else 0


def pages() -> dict[Path, str]:
    """Each generated page with the text that it must have now."""
    readme = ROOT / "README.md"
    written: dict[Path, Callable[[], str]] = {
        ROOT / "docs" / "reference" / "cli.md": command_line,
        ROOT / "docs" / "reference" / "http.md": http,
        ROOT / "docs" / "configuration.md": configuration,
        readme: lambda: with_quality(readme.read_text("utf-8")),
    }
    return {path: write() for path, write in written.items()}


def command_line() -> str:
    """Every command with its arguments, options and example."""
    commands = cast("Any", typer.main.get_command(app)).commands  # typer does not export the type of a group
    sections = [_command(name, command) for name, command in sorted(commands.items())]
    return "\n".join([CLI_HEAD, *sections])


def _command(name: str, command: Any) -> str:
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    examples = [part.removeprefix("Example: ") for part in paragraphs if part.startswith("Example: ")]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join([f"muniment {name}", *(one.metavar for one in arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"## `{usage}`", "", *_spaced(part for part in paragraphs if not part.startswith("Example: "))]
    if examples:
        lines += ["```sh", *examples, "```", ""]
    if arguments or options:
        lines += ["| argument, option | default | meaning |", "|---|---|---|"]
        lines += [
            f"| `{one.metavar}` | {'required' if one.required else ''} | {_cell(one.help)} |" for one in arguments
        ]
        lines += [f"| {_option(one)} | {_option_default(one)} | {_cell(one.help)} |" for one in options]
        lines.append("")
    return "\n".join(lines)


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if option.is_flag:
        return names
    value = option.metavar or {"str": "TEXT", "int": "NUMBER", "Path": "PATH"}.get(_type_name(option), "VALUE")
    return f"{names} `{_cell(value)}`" + (", repeatable" if option.multiple else "")


def _type_name(option: Any) -> str:
    named = re.search(r"\b(str|int|Path)\b", str(option.type_descriptor.annotation))
    return named[1] if named else ""


def _option_default(option: Any) -> str:
    if option.required:
        return "required"
    if option.is_flag:
        return f"`{option.opts[0] if option.default else option.secondary_opts[0]}`" if option.secondary_opts else "off"
    return "" if option.default is None else f"`{option.default}`"


def http() -> str:
    """Every route with its body, its answer and the problems."""
    settings = Settings.model_construct()  # the defaults, whatever the environment says
    document = application(settings).openapi()
    schemas = document["components"]["schemas"]
    lines = [HTTP_HEAD % settings.model_dump()]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += _route(f"{method.upper()} {path}", operation, schemas)
    packet = PacketShape.model_json_schema()
    lines += [PACKET_HEAD, *_fields(packet, packet["$defs"], answer=True), ""]
    lines += [PROBLEMS_HEAD, "| status | `type` | `title` |", "|---|---|---|"]
    rows = [(status, kind.kind, title) for kind, (status, title) in STATUS.items()]
    lines += [f"| {status} | `urn:muniment:problem:{kind}` | {title} |" for status, kind, title in rows]
    return "\n".join([*lines, ""])


def application(settings: Settings) -> FastAPI:
    """The application for what it says of itself: it stands over no catalog and no records, and can answer nothing."""
    return create_app(
        settings,
        pipeline=cast("Pipeline", SimpleNamespace(catalog=None, encoder=None)),
        recorder=cast("Recorder", None),
        key=cast("SigningKey", None),
    )


def _route(title: str, operation: Schema, schemas: Mapping[str, Schema]) -> Iterator[str]:
    yield from (f"## `{title}`", "", operation["description"], "")
    scope = SCOPES.get(title)
    needs = f"a token with the scope `{scope}`{ON_PUBLIC.get(scope, '')}" if scope else "no token"
    yield from (f"Needs {needs}.", "")
    if "parameters" in operation:
        yield from ("| parameter | in | type | default | meaning |", "|---|---|---|---|---|")
        yield from (_parameter(one, schemas) for one in operation["parameters"])
        yield ""
    if "requestBody" in operation:
        body = _content(operation["requestBody"], schemas)
        if body is None:
            yield from ("Body: JSON lines, one source revision a line, as `muniment ingest` reads them.", "")
        else:
            yield from ("Body:", "", *_fields(body, schemas, answer=False), "")
    answer = _content(operation["responses"]["200"], schemas)
    if answer is None or "properties" not in answer:
        yield from ("Answer: the manifest.", "")
    else:
        yield from ("Answer:", "", *_fields(answer, schemas, answer=True), "")


def _parameter(one: Schema, schemas: Mapping[str, Schema]) -> str:
    field = one["schema"]
    default = "required" if one["required"] else _default(field) if "default" in field else ""
    meaning = _cell(one.get("description") or field.get("description"))
    return f"| `{one['name']}` | {one['in']} | {_type(field, schemas)} | {default} | {meaning} |"


def _content(part: Schema, schemas: Mapping[str, Schema]) -> Schema | None:
    """The schema of a body or an answer that is JSON; None for another kind."""
    found = part["content"].get("application/json")
    return None if found is None else _resolved(found["schema"], schemas)


def _fields(schema: Schema, schemas: Mapping[str, Schema], *, answer: bool) -> list[str]:
    """A table of the fields of an object, those of inner objects under their dotted path."""
    rows = list(_rows(schema, schemas, prefix=""))
    if answer and not any(text for _, _, _, text in rows):
        return ["| field | type |", "|---|---|", *(f"| `{path}` | {kind} |" for path, kind, _, _ in rows)]
    if answer:
        lines = (f"| `{path}` | {kind} | {text} |" for path, kind, _, text in rows)
        return ["| field | type | meaning |", "|---|---|---|", *lines]
    lines = (f"| `{path}` | {kind} | {default} | {text} |" for path, kind, default, text in rows)
    return ["| field | type | default | meaning |", "|---|---|---|---|", *lines]


def _rows(schema: Schema, schemas: Mapping[str, Schema], *, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in schema["properties"].items():
        path = prefix + name.removesuffix("_")
        default = (
            _default(field) if "default" in field else "" if name not in schema.get("required", ()) else "required"
        )
        yield path, _type(field, schemas), default, _cell(field.get("description", ""))
        inner, step = _inner(field, schemas)
        if inner is not None:
            yield from _rows(inner, schemas, prefix=f"{path}{step}.")


def _inner(field: Schema, schemas: Mapping[str, Schema]) -> tuple[Schema | None, str]:
    """The object that a field holds, or holds many of, and how a path goes on into it."""
    for option in _options(field) or [field]:
        step, reached = "", option
        if option.get("type") == "array":
            step, reached = "[]", option.get("items", {})
        found = _resolved(reached, schemas)
        if "properties" in found:
            return found, step
    return None, ""


def _options(field: Schema) -> list[Schema]:
    """What a field may be, where it may be one of several."""
    return list(field.get("anyOf") or field.get("oneOf") or [])


def _type(field: Schema, schemas: Mapping[str, Schema]) -> str:
    if options := _options(field):
        kinds = [_type(option, schemas) for option in options]
        return (", or " if any("," in kind for kind in kinds) else " or ").join(kinds)
    found = _resolved(field, schemas)
    if "enum" in found:
        return ", ".join(f"`{value}`" for value in found["enum"])
    if "const" in found:
        return f"`{found['const']}`"
    kind = "path" if found.get("format") == "path" else found.get("type", "any")
    if kind == "array":
        most = f", at most {found['maxItems']}" if "maxItems" in found else ""
        return f"list of {_type(found.get('items', {}), schemas)}{most}"
    if kind == "object" and isinstance(found.get("additionalProperties"), dict):
        return f"object of {_type(found['additionalProperties'], schemas)}"
    return kind + _bounds(found)


def _bounds(field: Schema) -> str:
    """`, 0 to 9`: what a number may be, or how long a text; nothing where the schema does not say."""
    if "pattern" in field:
        return f": {', '.join(f'`{word}`' for word in re.findall(r'[a-z]+', field['pattern']))}"
    if field.get("minLength") == 1 and "maxLength" not in field:
        return ", not empty"
    high = field.get("maximum", field.get("maxLength"))
    if "exclusiveMaximum" in field:
        high = field["exclusiveMaximum"] - 1
    low = field.get("minimum", field.get("minLength"))
    unit = " characters" if "maxLength" in field else ""
    if high is None:
        return "" if low is None else f", {low} or more"
    if low is None:
        return f", at most {high}{unit}"
    return f", {low} to {high}{unit}"


def _default(field: Schema) -> str:
    value = field["default"]
    return f"`{json.dumps(value)}`" if not isinstance(value, dict) or not value else "as below"


def _resolved(field: Schema, schemas: Mapping[str, Schema]) -> Schema:
    reference = field.get("$ref")
    return schemas[reference.rpartition("/")[2]] if reference else field


def configuration() -> str:
    """Every setting with its variable, its default, what is allowed and what it does."""
    schema = Settings.model_json_schema()
    prefix = Settings.model_config["env_prefix"]
    rows = [
        f"| `{name}` | `{prefix}{name.upper()}` | {_setting_default(field)} | {_type(field, schema['$defs'])} |"
        f" {_cell(field['description'])} |"
        for name, field in schema["properties"].items()
    ]
    head = ["| setting | environment variable | default | allowed | meaning |", "|---|---|---|---|---|"]
    return "\n".join([CONFIGURATION_HEAD, *head, *rows, ""])


def _setting_default(field: Schema) -> str:
    value = field.get("default")
    return "none" if value is None else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def with_quality(readme: str) -> str:
    """README.md with the table of quality.json between its two marks; with nothing there while there is no file."""
    before, begins, rest = readme.partition(QUALITY_BEGINS)
    _, ends, after = rest.partition(QUALITY_ENDS)
    if not (begins and ends):
        return readme
    table = quality_table(json.loads(QUALITY.read_text("utf-8"))) if QUALITY.exists() else ""
    return f"{before}{begins}\n{table}{ends}{after}"


def quality_table(record: Mapping[str, Any]) -> str:
    """The section that shows what `muniment eval` measured. `sets`: name, sources, command, and its JSON report."""
    measures = list(dict.fromkeys(name for one in record["sets"] for name in _figures(one)["hybrid"]))
    lines = ["## Measured ranking quality", "", record["about"], ""]
    lines += [" | ".join(["| data set", "sources", "queries", "measure", "lexical", "dense", "hybrid |"])]
    lines += ["|---|---|---|---|---|---|---|"]
    for one in record["sets"]:
        figures = _figures(one)
        for measure in measures:
            values = [f"{figures[channel][measure]:.3f}" for channel in ("lexical", "dense", "hybrid")]
            queries = str(one["report"]["queries"])
            lines.append(f"| {' | '.join([one['name'], str(one['sources']), queries, measure, *values])} |")
    commands = [one["command"] for one in record["sets"]]
    return "\n".join([*lines, "", "```sh", *commands, "```", "", ""])


def _figures(one: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]]:
    return cast("Mapping[str, Mapping[str, float]]", one["report"]["channels"])


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _spaced(paragraphs: Iterator[str]) -> list[str]:
    return [line for paragraph in paragraphs for line in (paragraph, "")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
