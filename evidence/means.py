"""By which means is a packet made: for whom is it written, who counts, who settles? (pure)

Everything that assembly needs beside the request and the evidence. Made once per request, from what the operator set.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evidence.authority_rules import AuthorityRules
from evidence.budget import TokenMeter
from evidence.canonical import Json
from evidence.chat import ChatTemplate
from evidence.conversation import Summarizer
from evidence.request import PacketRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """meter: counts for the tokenizer that the request names, None when it names none.

    template: for the adapter `hf-chat`, None for others. model: the record of the model profile, None without one.
    alternatives: what else to try where the fixed slots do not fit, in order.
    """

    meter: TokenMeter | None
    template: ChatTemplate | None
    model: Mapping[str, Json] | None
    rules: AuthorityRules
    summarizer: Summarizer
    alternatives: tuple["Alternative", ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another way to put the same question: `name` is `class:NAME` or `model:NAME`.

    prepare: the request under it and its means, worked out only when it is tried; None where it cannot be carried out.
    """

    name: str
    prepare: Callable[[], tuple[PacketRequest, Means] | None]
