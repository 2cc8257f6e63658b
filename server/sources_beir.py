"""Which revisions does a BEIR folder offer?

A row of `corpus.jsonl` holds `_id`, `text` and, optionally, `title` and `metadata` (Thakur et al., NeurIPS 2021). It
says nothing of access, so a label must be given.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from evidence.access import Label
from evidence.errors import InvalidSource
from evidence.record_fields import as_name, as_object, as_text
from evidence.source_record import SourceRevision, parse_source
from server.source_place import Place, SourceFileError, open_regular
from server.sources_lines import json_lines

CORPUS = "corpus.jsonl"
REVISION = "1"


def read_beir(folder: Path, *, default_label: Label | None) -> Iterator[tuple[Place, SourceRevision]]:
    """The documents of the folder's corpus as revisions "1", in its order. Raises SourceFileError.

    A row with a title and no text (RFC entries without an abstract) has its title as text, so that it can be found.
    Metadata our schema does not hold is written down: a float as its decimal, an object or a mixed list as JSON text;
    a null is left out.
    """
    path = folder / CORPUS
    place = None
    with open_regular(path) as stream:
        for place, row in json_lines(stream, file=str(path)):
            try:
                revision = parse_source(_record(row), default_label=default_label)
            except InvalidSource as error:
                raise SourceFileError(place, path=error.path, problem=error.problem) from None
            yield place, revision
    if place is None:
        raise SourceFileError(Place(file=str(path), line=1), problem="holds no record")


def _record(row: object) -> dict[str, object]:
    fields = as_object(row, "$", allowed=("_id", "title", "text", "metadata"), required=("_id", "text"))
    title = as_text(fields.get("title", ""), "$.title")
    text = as_text(fields["text"], "$.text")
    metadata = fields.get("metadata", {})
    if isinstance(metadata, dict):
        metadata = {key: _metadata_value(value) for key, value in metadata.items() if value is not None}
    return {
        "source_id": as_name(fields["_id"], "$._id"),
        "revision": REVISION,
        "title": title,
        "text": title if not text or text.isspace() else text,
        "metadata": metadata,
    }


def _metadata_value(value: object) -> object:
    if _is_plain(value) or (isinstance(value, list) and all(_is_plain(item) for item in value)):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _is_plain(value: object) -> bool:
    return isinstance(value, str | bool | int)
