"""Which metadata may a source carry, and in which bytes is it kept? (pure)

Strings, integers, booleans, and lists of those: nothing whose canonical form could be doubted.
"""

from evidence.canonical import canonical
from evidence.errors import InvalidSource
from evidence.record_fields import as_name, as_text, kind_of
from evidence.strict_json import MAX_INTEGER, key_path


def parse_metadata(value: object) -> str:
    """The canonical JSON of a metadata object. Raises InvalidSource naming the place below `$.metadata`."""
    if not isinstance(value, dict):
        raise InvalidSource("$.metadata", f"must be an object, got {kind_of(value)}")
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidSource("$.metadata", "a key must be a string")
        path = key_path("$.metadata", key)
        as_name(key, path)
        if isinstance(item, list):
            for index, entry in enumerate(item):
                _check_metadata_value(entry, f"{path}[{index}]", "a string, an integer or a boolean")
        else:
            _check_metadata_value(item, path, "a string, an integer, a boolean or an array of those")
    return canonical(value).decode("utf-8")


def _check_metadata_value(value: object, path: str, wanted: str) -> None:
    if isinstance(value, float):
        raise InvalidSource(path, f"must be {wanted}, got a number with a fraction or exponent; use a string")
    if isinstance(value, str):
        as_text(value, path)
    elif not isinstance(value, bool | int):
        raise InvalidSource(path, f"must be {wanted}, got {kind_of(value)}")
    elif abs(value) > MAX_INTEGER:
        raise InvalidSource(path, "an integer is at most 2^53 - 1; use a string")
