"""Which kinds of field do several request bodies hold?

Strict and closed: an unknown field, a coerced type or a value outside its range is refused with its path. A number with
a fraction or an exponent is the decimal that the body wrote, and never goes through a double.
"""

from decimal import Decimal
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from evidence.errors import InvalidInstant
from evidence.instant import format_instant, parse_instant

MAX_NAME = 512
MAX_VALUES = 1000  # of a field of a filter
MAX_CELL = 8192  # code points


class Closed(BaseModel):
    """Strict, immutable, and closed to unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def without_nul(value: str) -> str:
    """`value`, which must not hold NUL."""
    if "\x00" in value:
        raise ValueError("NUL is not allowed")
    return value


def _instant(text: str) -> str:
    try:
        return format_instant(parse_instant(text))
    except InvalidInstant as error:
        raise ValueError(str(error)) from None


def _decimal(value: object) -> Decimal:
    """A number as the decimal that it shows; a body's fractions are decimals already."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(repr(value))
    raise ValueError("a weight is a number from 0 to 1")


def _cell(value: object, judge: ValidatorFunctionWrapHandler) -> object:
    """One refusal for a cell, at its place. That of a union has one for each kind, with an address of this process in
    its path."""
    try:
        return judge(value)
    except ValidationError:
        raise ValueError(
            f"a cell is a text of at most {MAX_CELL} characters without NUL, a number, a boolean or null; an integer is"
            " at most 2^53 - 1"
        ) from None


Text = Annotated[str, AfterValidator(without_nul)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(without_nul)]
Values = Annotated[list[Annotated[Text, Field(max_length=MAX_NAME)]], Field(max_length=MAX_VALUES)]
Moment = Annotated[str, AfterValidator(_instant), Field(description="RFC 3339 with a zone")]
Weight = Annotated[
    Decimal,
    BeforeValidator(_decimal),
    Field(ge=0, le=1),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Number = Annotated[Decimal, WithJsonSchema({"type": "number"})]
Cell = Annotated[
    Annotated[Text, Field(max_length=MAX_CELL)] | bool | Annotated[int, Field(gt=-(2**53), lt=2**53)] | Number | None,
    WrapValidator(_cell),
]
