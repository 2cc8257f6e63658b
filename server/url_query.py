"""What may a URL say behind its path, and how is that described?

Each route with parameters has one closed model for them, which is both read and documented from here. FastAPI's own
reading of a URL would answer in its own shape, and let unknown parameters pass.
"""

from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from server.parsing import parse


class UrlQuery(BaseModel):
    """The parameters of one route, immutable and closed to unknown ones. A URL holds texts alone, so that numbers and
    booleans are read out of texts."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PublicQuery(UrlQuery):
    """For whom a call that changes the catalog is made."""

    public: bool = Field(False, description="in the public namespace, instead of the caller's own")


Query = TypeVar("Query", bound=UrlQuery)


def read_query(request: Request, schema: type[Query]) -> Query:
    """What the URL says. Raises Invalid naming the parameter."""
    return parse(dict(request.query_params), schema)


def parameters(schema: type[UrlQuery]) -> dict[str, Any]:
    """The part of an operation in the OpenAPI document that describes these parameters."""
    described = schema.model_json_schema(ref_template="#/components/schemas/{model}")["properties"]
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": one} for name, one in described.items()
        ]
    }
