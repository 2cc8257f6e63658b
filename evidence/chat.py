"""What is a chat template, to the evidence side? (pure)

The template itself belongs to a model and is rendered elsewhere, in a sandbox, from files that the operator pinned.
Here it is a named function of messages and a clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.eligibility import Eligibility, Validity
from evidence.instant import Instant

_EPOCH = Instant(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message as a template takes it. role: `system` or `user`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTemplate:
    """A model's chat template.

    render: the model's whole input for these messages, generation prompt included, with this moment as the template's
    clock (R23); equal arguments, equal text. It writes every content as it stands.
    record: what else decides the text and how it is read: generation prompt, special tokens, who adds the token that
    begins a text, on which side a runtime would truncate.
    """

    name: str
    digest: str
    render: Callable[[Sequence[ChatMessage], Instant], str]
    record: Mapping[str, Json]


def template_clock(eligibility: Eligibility, validity: Validity) -> Instant:
    """What a template takes for now: `as_of`, or the moment since which the visible revisions stand as they do (R23).

    Where they always stood so, it is the beginning of 1970 UTC: no clock of the wall may decide a byte.
    """
    if eligibility.as_of is not None:
        return eligibility.as_of
    return _EPOCH if validity.start is None else validity.start
