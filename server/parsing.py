"""How does a JSON value become a request, or one clear refusal?"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from server.errors import Invalid

MAX_PATH = 200  # characters of the path in a problem

KIND = "("  # begins the tags of what a field may be: no field's name does

Body = TypeVar("Body", bound=BaseModel)


def parse(record: object, schema: type[Body]) -> Body:
    """`record` as `schema`. Raises Invalid naming the first offending path, never its content."""
    try:
        return schema.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = _path(first["loc"], record)
        if len(path) > MAX_PATH:
            path = path[:MAX_PATH] + "…"
        raise Invalid(_problem(first["type"], first["loc"], schema) or _as_worded(first["msg"]), path=path) from None


def _path(place: Sequence[int | str], record: object) -> str:
    """The JSON path of a place. The library also names which kind of value it took one for; that is no part of it."""
    path, value = "$", record
    for part in place:
        if isinstance(part, int) and isinstance(value, list):
            path, value = f"{path}[{part}]", value[part] if part < len(value) else None
        elif isinstance(part, str) and isinstance(value, Mapping) and (part in value or not part.startswith(KIND)):
            path, value = f"{path}.{part}", value.get(part)
    return path


def _problem(kind: str, place: Sequence[int | str], schema: type[BaseModel]) -> str | None:
    """Our words for a problem of this kind at this place; None where the library's are kept."""
    match kind:
        case "missing":
            return "is required"
        case "extra_forbidden":
            allowed = _fields_at(place[:-1], schema)
            return f"unknown field; allowed: {', '.join(allowed)}" if allowed else "unknown field"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "must be an object"
        case _:
            return None


def _as_worded(message: str) -> str:
    return message.removeprefix("Value error, ")


def _fields_at(place: Sequence[int | str], schema: type[BaseModel]) -> tuple[str, ...]:
    """The fields that the object at `place` may have, in the schema's order; none where more than one model, or none,
    may stand there."""
    models = [schema]
    for part in place:
        if isinstance(part, str) and not part.startswith(KIND):
            named = [model.model_fields[part] for model in models if part in model.model_fields]
            models = [model for field in named for model in _models_in(field.annotation)]
    return tuple(models[0].model_fields) if len(models) == 1 else ()


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation, through lists, unions and what is said beside them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
