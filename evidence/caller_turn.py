"""How does the caller's question stand in the model's input? (pure)

As intent: it says what is asked, and nothing about tools or scope. The scope that the server resolved stands beside
it, and holds nothing that the caller worded: the subject asked about is the caller's, and stands with the turn. Over
its own budget the rendered turn is cut, and says so; retrieval reads it whole all the same. It is never cut to make
room for something else (R24).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.eligibility import Eligibility
from evidence.fitting import largest_below
from evidence.instant import format_instant
from evidence.slots import Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerTurn:
    """The caller's turn as it stands in its slot.

    text: the first `shown` of its `characters` code points. subject: what the evidence was asked to apply to, in the
    caller's words. scope: what the server resolved, as trusted state.
    """

    text: str
    characters: int
    subject: str | None
    scope: Mapping[str, Json]

    @property
    def shown(self) -> int:
        return len(self.text)

    @property
    def notice(self) -> str | None:
        """What was cut, in numbers; None where the turn stands whole."""
        if self.shown == self.characters:
            return None
        return f"cut to its first {self.shown} of {self.characters} characters; retrieval read it whole"

    def content(self) -> dict[str, Json]:
        """What the slot holds."""
        return {
            "slot": Slot.CALLER_TURN.value,
            "trust": Slot.CALLER_TURN.trust.value,
            "notice": self.notice,
            "turn": self.text,
            "asked_subject": self.subject,
            "resolved_scope": dict(self.scope),
        }

    def record(self) -> dict[str, Json]:
        """For the manifest: how much of the query the model reads."""
        return {"shown": self.shown, "characters": self.characters}


def resolved_scope(eligibility: Eligibility) -> dict[str, Json]:
    """In which namespace, for what granted purpose, use and moment the evidence was chosen. No roles, no clock, and no
    text that the caller was free to choose."""
    scope = eligibility.scope
    return {
        "namespace": scope.principal.namespace,
        "purpose": scope.purpose,
        "use": eligibility.use.value,
        "as_of": None if eligibility.as_of is None else format_instant(eligibility.as_of),
    }


def fit_turn(
    query: str,
    *,
    subject: str | None,
    scope: Mapping[str, Json],
    budget_tokens: int | None,
    measure: Callable[[Mapping[str, Json]], int] | None,
) -> CallerTurn:
    """The whole query, or a beginning of it that fits and would not with one code point more.

    measure: tokens of the segment that this content gets, None where no tokenizer counts; then nothing is too long.
    Where not even the scope fits, no character is shown.
    """

    def turn(shown: int) -> CallerTurn:
        return CallerTurn(text=query[:shown], characters=len(query), subject=subject, scope=scope)

    def fits(shown: int) -> bool:
        return budget_tokens is None or measure is None or measure(turn(shown).content()) <= budget_tokens

    return turn(len(query) if fits(len(query)) else largest_below(len(query), fits))
