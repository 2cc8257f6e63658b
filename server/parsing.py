"""How does a JSON value become a request, or one clear refusal?"""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from server.errors import Invalid

MAX_PATH = 200  # characters of the path in a problem

Body = TypeVar("Body", bound=BaseModel)


def parse(record: object, schema: type[Body]) -> Body:
    """`record` as `schema`. Raises Invalid naming the first offending path, never its content."""
    try:
        return schema.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        if len(path) > MAX_PATH:
            path = path[:MAX_PATH] + "…"
        raise Invalid(first["msg"].removeprefix("Value error, "), path=path) from None
