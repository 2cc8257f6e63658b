"""What of an earlier conversation does the model still get to read? (pure)

The newest turns stay verbatim; older ones fold into one rolling summary with an id of its own, which points at its
turns. When the slot is short, the summary is shortened first and more turns fold, the oldest first (R24). A turn that
cites a passage which may not be used any more is left out, of the turns and of the summary, and that is reported.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from evidence.canonical import Json, digest, digest_text
from evidence.fitting import largest_below
from evidence.handles import handles_in
from evidence.slots import Slot

Role: TypeAlias = Literal["user", "assistant"]

_SENTENCE = re.compile(r"(.+?[.!?。！？…])(?:\s|$)", re.DOTALL)
_ID_CHARACTERS = 16  # of the hex digest in a summary's id
_LINE_CHARACTERS = 200  # of an extractive line


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation, as the caller sent it. id: `T-` and its place, from 1, unique in a conversation."""

    id: str
    role: Role
    content: str

    def record(self) -> dict[str, Json]:
        return {"id": self.id, "role": self.role, "content": self.content}


class Summarizer(Protocol):
    """Says in short what turns said. A summary is data like the turns themselves, whoever wrote it."""

    @property
    def name(self) -> str:
        """Name and version, for the manifest."""

    def lines(self, turns: Sequence[Turn]) -> Sequence[str]:
        """The summary of these turns, oldest first. Where space is short, lines are given up from the front."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveSummarizer:
    """The first sentence of each turn, at most 200 code points of it, with who said it. Deterministic."""

    name: str = "first-sentences/1"

    def lines(self, turns: Sequence[Turn]) -> Sequence[str]:
        return [f"{turn.role}: {_first_sentence(turn.content)}" for turn in turns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The rolling summary of the turns that were folded, oldest first. `text` is empty in its lowest form."""

    id: str
    turns: tuple[Turn, ...]
    text: str
    summarizer: str

    def content(self) -> dict[str, Json]:
        """As the model reads it: which turns, by the first and the last of them, how many, and the text."""
        return {
            "id": self.id,
            "first": self.turns[0].id,
            "last": self.turns[-1].id,
            "turns": len(self.turns),
            "text": self.text,
        }

    def record(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "turns": [turn.id for turn in self.turns],
            "text_digest": digest_text(self.text),
            "summarizer": self.summarizer,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedConversation:
    """A conversation as it stands in its slot.

    turns: verbatim, oldest first. summary: of all turns before them that were not left out, None where there are none.
    left_out: the turns that cite a handle which may not be used now.
    """

    turns: tuple[Turn, ...]
    summary: Summary | None
    left_out: tuple[Turn, ...]

    @property
    def notice(self) -> str | None:
        """What was done to the conversation, in numbers; None where it stands whole."""
        folded = 0 if self.summary is None else len(self.summary.turns)
        total = len(self.turns) + folded + len(self.left_out)
        said = []
        if folded:
            said.append(f"{folded} of {total} turns are folded into a summary")
        if self.left_out:
            said.append(
                f"{len(self.left_out)} of {total} turns are left out: they cite evidence that may not be used now"
            )
        return "; ".join(said) or None

    def content(self) -> dict[str, Json]:
        """What the slot holds."""
        return {
            "slot": Slot.CONVERSATION.value,
            "trust": Slot.CONVERSATION.trust.value,
            "notice": self.notice,
            "summary": None if self.summary is None else self.summary.content(),
            "turns": [turn.record() for turn in self.turns],
        }

    def record(self) -> dict[str, Json]:
        """For the manifest: which turns stand where. Their texts are part of the request."""
        return {
            "turns": [turn.id for turn in self.turns],
            "summary": None if self.summary is None else self.summary.record(),
            "left_out": [turn.id for turn in self.left_out],
        }


def number_turns(turns: Iterable[tuple[Role, str]]) -> tuple[Turn, ...]:
    """Turns from roles and contents, oldest first, with their ids.

    >>> [turn.id for turn in number_turns([("user", "hello"), ("assistant", "yes?")])]
    ['T-1', 'T-2']
    """
    return tuple(
        Turn(id=f"T-{number}", role=role, content=content) for number, (role, content) in enumerate(turns, start=1)
    )


def handles_of(turns: Iterable[Turn]) -> set[str]:
    """Every citation handle that the turns hold, whether or not it ever stood for something."""
    return {handle for turn in turns for handle in handles_in(turn.content)}


def fold(
    turns: Sequence[Turn],
    *,
    keep: int,
    budget_tokens: int | None,
    measure: Callable[[Mapping[str, Json]], int] | None,
    summarizer: Summarizer,
    unusable: frozenset[str],
) -> FoldedConversation:
    """Keep the last `keep` turns that may stay, fold the others, and fold harder until the segment fits.

    measure: tokens of the segment that this content gets, None where no tokenizer counts; then nothing is too long.
    unusable: handles that the turns cite and that stand for nothing the caller may use now.
    As many turns as fit stay verbatim; beside them as much of the summary, its newest lines, as fits. What does not
    fit in its lowest form, all turns folded into a summary without text, is given in that form.
    """
    cites_unusable = [not unusable.isdisjoint(handles_in(turn.content)) for turn in turns]
    left_out = tuple(turn for turn, unfit in zip(turns, cites_unusable, strict=True) if unfit)
    stay = tuple(turn for turn, unfit in zip(turns, cites_unusable, strict=True) if not unfit)

    def folded(kept: int, lines: Sequence[str]) -> FoldedConversation:
        older, newest = stay[: len(stay) - kept], stay[len(stay) - kept :]
        summary = _summary(older, lines, summarizer) if older else None
        return FoldedConversation(turns=newest, summary=summary, left_out=left_out)

    def fits(conversation: FoldedConversation) -> bool:
        return budget_tokens is None or measure is None or measure(conversation.content()) <= budget_tokens

    most = min(keep, len(stay))
    kept = most if fits(folded(most, ())) else largest_below(most, lambda kept: fits(folded(kept, ())))
    lines = summarizer.lines(stay[: len(stay) - kept])
    whole = folded(kept, lines)
    if fits(whole):
        return whole
    newest = largest_below(len(lines), lambda newest: fits(folded(kept, lines[len(lines) - newest :])))
    return folded(kept, lines[len(lines) - newest :])


def _summary(turns: tuple[Turn, ...], lines: Sequence[str], summarizer: Summarizer) -> Summary:
    text = "\n".join(lines)
    made_of: Json = {"turns": [turn.record() for turn in turns], "text": text, "summarizer": summarizer.name}
    name = digest(made_of).removeprefix("sha256:")[:_ID_CHARACTERS]
    return Summary(id=f"summary-{name}", turns=turns, text=text, summarizer=summarizer.name)


def _first_sentence(content: str) -> str:
    words = " ".join(content.split())
    found = _SENTENCE.match(words)
    sentence = words if found is None else found[1]
    return sentence if len(sentence) <= _LINE_CHARACTERS else sentence[: _LINE_CHARACTERS - 1] + "…"
