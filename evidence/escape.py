r"""Which characters may not stand raw inside a rendered JSON string, and how are they written? (pure)

Evidence must never become control, whatever it contains (R26). So the characters from which delimiters, role markers
and control tokens are made, and those that hide or reorder text, are written as `\uxxxx` inside strings. That is
lossless: a JSON parser gives the stored text back.

The set: `<` and `[`; every Cc, Cf, tag and variation-selector code point; U+FF5C; and every other non-ASCII code
point whose NFKC form holds one of `" \ < > [ ] | &`. It is written out below, because the set that a Python
computes depends on its Unicode version, and the bytes of a packet must not. The table is that of UNICODE_VERSION;
a later version that adds such characters gets a new table, a new ESCAPE_NAME, and so other hashes.
"""

import re
from functools import cache

ESCAPE_NAME = "json-strings/1"
UNICODE_VERSION = "18.0.0"

ESCAPED: tuple[tuple[int, int], ...] = (  # inclusive ranges of code points, ascending
    (0x0000, 0x001F),  # C0 controls; RFC 8785 has written these already
    (0x003C, 0x003C),  # <
    (0x005B, 0x005B),  # [
    (0x007F, 0x009F),  # delete and C1 controls
    (0x00AD, 0x00AD),  # soft hyphen
    (0x0600, 0x0605),  # Arabic number signs
    (0x061C, 0x061C),  # Arabic letter mark
    (0x06DD, 0x06DD),  # Arabic end of ayah
    (0x070F, 0x070F),  # Syriac abbreviation mark
    (0x0890, 0x0891),  # Arabic pound and piastre marks above
    (0x08E2, 0x08E2),  # Arabic disputed end of ayah
    (0x180B, 0x180F),  # Mongolian variation selectors and vowel separator
    (0x200B, 0x200F),  # zero-width space, joiners, direction marks
    (0x202A, 0x202E),  # bidirectional embeddings and overrides
    (0x2060, 0x2064),  # word joiner, invisible operators
    (0x2066, 0x206F),  # bidirectional isolates, deprecated controls
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFE47, 0xFE48),  # vertical [ ]
    (0xFE60, 0xFE60),  # small &
    (0xFE64, 0xFE65),  # small < >
    (0xFE68, 0xFE68),  # small \
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFF02, 0xFF02),  # fullwidth "
    (0xFF06, 0xFF06),  # fullwidth &
    (0xFF1C, 0xFF1C),  # fullwidth <
    (0xFF1E, 0xFF1E),  # fullwidth >
    (0xFF3B, 0xFF3D),  # fullwidth [ \ ]
    (0xFF5C, 0xFF5C),  # fullwidth |
    (0xFFF9, 0xFFFB),  # interlinear annotation
    (0x110BD, 0x110BD),  # Kaithi number sign
    (0x110CD, 0x110CD),  # Kaithi number sign above
    (0x13430, 0x1343F),  # Egyptian hieroglyph format controls
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE007F),  # the whole block of tags
    (0xE0100, 0xE01EF),  # variation selectors supplement
)


def escape_strings(json_text: str) -> str:
    r"""Write the characters of the set inside the strings of a JSON text as `\uxxxx`, lower-case; above U+FFFF as a
    surrogate pair. What stands outside strings, and escapes that are there already, stay.

    >>> escape_strings('{"a":["<|im_start|>"]}')
    '{"a":["\\u003c|im_start|>"]}'
    """
    strings = "".join(_json_string().findall(json_text))
    if _is_plain(strings) or _hostile().search(strings) is None:  # so it is mostly: a third of the time
        return json_text
    return _json_string().sub(_escape_string, json_text)


def end_of_string(json_text: str, start: int) -> int:
    """Where the string of a JSON text ends whose opening quote stands at `start`: behind its closing one."""
    string = _json_string().match(json_text, start)
    assert string is not None, "a JSON text closes each string"
    return string.end()


def holds_control(text: str) -> bool:
    r"""Whether a plain text of ours holds a character of the set. Line breaks do not count: they part its lines.

    >>> holds_control("one line\nand another"), holds_control("<|im_start|>")
    (False, True)
    """
    return _hostile().search(text.replace("\n", "")) is not None


def _is_plain(text: str) -> bool:
    """Whether a text is of ASCII and has no character of the set; several times as fast as a search for one."""
    return text.isascii() and text.isprintable() and "<" not in text and "[" not in text


def _escape_string(string: re.Match[str]) -> str:
    return _hostile().sub(_escape_character, string.group())


def _escape_character(character: re.Match[str]) -> str:
    point = ord(character.group())
    if point <= 0xFFFF:
        return f"\\u{point:04x}"
    high, low = divmod(point - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


@cache
def _json_string() -> re.Pattern[str]:
    return re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


@cache
def _hostile() -> re.Pattern[str]:
    ranges = "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ESCAPED)
    return re.compile(f"[{ranges}]")
