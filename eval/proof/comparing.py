"""Where do two responses differ first? (pure)

In this order: status, body, headers. In a JSON body the answer is a JSON path. A digest that differs only says that
something else does, so a field that is none is preferred, and among digests one that is not the packet's own id.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evidence.strict_json import key_path
from server.in_process import Headers, HttpResponse

NOT_COMPARED = (b"date", b"x-request-id")  # R6: of the exchange, not of the answer
SHOWN_CHARACTERS = 80  # of a value

_LENGTH = b"content-length"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_PACKET_ID = "$.packet_id"  # a digest of the whole manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where two responses part. `path`: of a JSON body a JSON path, else `status`, `header NAME` or `byte N`.

    one, other: what stands there, printable and of at most SHOWN_CHARACTERS, cut to where they part.
    """

    path: str
    one: str
    other: str


class _Absent:
    """Stands where one body has nothing."""


_ABSENT = _Absent()
Place = tuple[str, object, object]


def first_difference(one: HttpResponse, other: HttpResponse) -> Difference | None:
    """The first difference that says most; None where every byte but those of two headers is the same (R6)."""
    if one.status != other.status:
        return Difference(path="status", one=str(one.status), other=str(other.status))
    if one.body != other.body:
        return _in_bodies(one.body, other.body)
    return _in_headers(one.headers, other.headers)


def _in_bodies(one: bytes, other: bytes) -> Difference:
    try:
        first, second = (json.loads(body) for body in (one, other))
    except ValueError:
        return _in_bytes(one, other)
    places = list(_apart("$", first, second))
    telling = [place for place in places if not _are_digests(place)]
    named = [place for place in places if place[0] != _PACKET_ID]
    for path, left, right in telling[:1] or named[:1] or places[:1]:
        shown = _shortened(_text(left), _text(right))
        return Difference(path=path, one=shown[0], other=shown[1])
    return _in_bytes(one, other)  # the same values, written differently


def _apart(path: str, one: object, other: object) -> Iterator[Place]:
    """Every place where two JSON values part, in the order of the first. A body nests no deeper than its schema."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from _apart(key_path(path, key), one.get(key, _ABSENT), other.get(key, _ABSENT))
    elif isinstance(one, list) and isinstance(other, list):
        for at in range(max(len(one), len(other))):
            left, right = (items[at] if at < len(items) else _ABSENT for items in (one, other))
            yield from _apart(f"{path}[{at}]", left, right)
    elif type(one) is not type(other) or one != other:
        yield path, one, other


def _are_digests(place: Place) -> bool:
    return all(isinstance(value, str) and _DIGEST.fullmatch(value) for value in place[1:])


def _in_headers(one: Headers, other: Headers) -> Difference | None:
    """The length comes last: it follows from the body."""
    if _compared(one) == _compared(other):
        return None
    first, second = _by_name(one), _by_name(other)
    for name in sorted({*first, *second}, key=lambda name: (name == _LENGTH, name)):
        left, right = (_text(values.get(name, _ABSENT)) for values in (first, second))
        if left != right:
            shown = _shortened(left, right)
            return Difference(path=f"header {name.decode('latin-1')}", one=shown[0], other=shown[1])
    return Difference(path="order of headers", one=_names(one), other=_names(other))


def _compared(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name not in NOT_COMPARED)


def _by_name(headers: Headers) -> Mapping[bytes, str]:
    """The values of each name, those of a repeated one together."""
    found: dict[bytes, str] = {}
    for name, value in _compared(headers):
        text = value.decode("latin-1")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def _names(headers: Headers) -> str:
    return ", ".join(name.decode("latin-1") for name, _ in _compared(headers))


def _in_bytes(one: bytes, other: bytes) -> Difference:
    left, right = (json.dumps(body.decode("utf-8", "backslashreplace")) for body in (one, other))
    shown = _shortened(left, right)
    return Difference(path=f"byte {_parting(one, other)}", one=shown[0], other=shown[1])


def _text(value: object) -> str:
    """A JSON value in one line of ASCII."""
    return "(absent)" if isinstance(value, _Absent) else json.dumps(value)


def _shortened(one: str, other: str) -> tuple[str, str]:
    """Both, cut around the place where they part."""
    start = max(_parting(one, other) - SHOWN_CHARACTERS // 2, 0)
    if max(len(one), len(other)) <= SHOWN_CHARACTERS:
        start = 0
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int) -> str:
    room = SHOWN_CHARACTERS - (1 if start else 0)
    rest = text[start:]
    if len(rest) > room:
        rest = rest[: room - 1] + "…"
    return ("…" if start else "") + rest


def _parting(one: str | bytes, other: str | bytes) -> int:
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)
