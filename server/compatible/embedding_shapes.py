"""What do requests for embeddings hold, and what do their answers look like?

OpenAI's shapes, and `input_type` more. Strict and closed as every body; tokens in place of texts are refused.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from server.request_fields import Closed, Name, without_nul
from server.responses import Shape

MAX_INPUTS = 2048  # as OpenAI allows in one call


class EncodingFormat(StrEnum):
    """How a vector is written."""

    FLOAT = "float"  # a list of numbers
    BASE64 = "base64"  # of its float32 values, little-endian


class InputType(StrEnum):
    """What the texts are: an encoder may put another prompt in front of each kind."""

    DOCUMENT = "document"
    QUERY = "query"


def _kind(value: object) -> str | None:
    """So that one kind of value is refused by the rules of that kind, and at its own place."""
    if isinstance(value, str):
        return "(text)"
    return "(texts)" if isinstance(value, list) and all(isinstance(text, str) for text in value) else None


_Text = Annotated[str, Field(min_length=1), AfterValidator(without_nul)]
_Texts = Annotated[list[_Text], Field(min_length=1, max_length=MAX_INPUTS)]


class EmbeddingRequest(Closed):
    """The body of `POST /v1/embeddings`."""

    input: Annotated[
        Annotated[_Text, Tag("(text)")] | Annotated[_Texts, Tag("(texts)")],
        Discriminator(
            _kind,
            custom_error_type="no_text",
            custom_error_message="is a text or a list of texts; tokens are not taken",
        ),
    ] = Field(description="a text, or up to 2048; one that is longer than the encoder's window refuses the call")
    model: Name = Field(description="the encoder of the catalog; others are refused")
    encoding_format: Annotated[EncodingFormat, Field(strict=False)] = Field(
        EncodingFormat.FLOAT, description="numbers, or base64 of little-endian float32"
    )
    input_type: Annotated[InputType, Field(strict=False)] = Field(
        InputType.DOCUMENT, description="which of the encoder's prompts stands in front of each text"
    )
    dimensions: int | None = Field(None, ge=1, description="the encoder's own number; others are refused")
    user: Name | None = Field(None, description="taken and not used: who asks comes from the token alone")

    @property
    def texts(self) -> list[str]:
        """The texts, one or many."""
        return [self.input] if isinstance(self.input, str) else self.input

    def place(self, position: int) -> str:
        """The JSON path of a text."""
        return "$.input" if isinstance(self.input, str) else f"$.input[{position}]"


class EmbeddingShape(Shape):
    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingUsage(Shape):
    """Tokens that the encoder read, its prompt and special ones among them."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(Shape):
    """One embedding for each text, in their order."""

    object: Literal["list"]
    data: list[EmbeddingShape]
    model: str
    usage: EmbeddingUsage
