"""Which kinds of question does this server know?

A class is one JSON file, in this package's folder `query_classes` or in a folder of the operator's, which is looked
into first: a class there replaces the shipped one of that name. Files are read once, at the start.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, cast

from evidence.canonical import Json
from evidence.errors import InvalidQueryClass
from evidence.query_class import QueryClass
from evidence.query_class_record import parse_query_class
from evidence.strict_json import InvalidJson, loads
from server.errors import StartError

QueryClasses: TypeAlias = Mapping[str, QueryClass]  # name -> class, in the order of their names

_SHIPPED = Path(__file__).with_name("query_classes")


def load_query_classes(extra: Path | None) -> QueryClasses:
    """Every class at hand, by name. `extra` is the operator's folder, None without one.

    Raises StartError, one line naming file and path, for a file that is no query class, a folder that cannot be read,
    and two files of one folder that name the same class.
    """
    classes = _folder(_SHIPPED) if extra is None else {**_folder(_SHIPPED), **_folder(extra)}
    return MappingProxyType(dict(sorted(classes.items())))


def _folder(folder: Path) -> dict[str, QueryClass]:
    if not folder.is_dir():
        raise StartError(f"{folder}: is no folder of query classes")
    classes: dict[str, QueryClass] = {}
    for path in sorted(folder.glob("*.json")):
        query_class = _file(path)
        if query_class.name in classes:
            raise StartError(f"{path}: $.name: another file of the folder has this name")
        classes[query_class.name] = query_class
    return classes


def _file(path: Path) -> QueryClass:
    try:
        return parse_query_class(cast("Json", loads(path.read_bytes())))
    except (InvalidJson, InvalidQueryClass) as error:
        raise StartError(f"{path}: {error}") from None
    except OSError as error:
        raise StartError(f"{path}: cannot be read: {error.strerror}") from None
