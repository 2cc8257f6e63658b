"""From which views is a catalog looked at in a proof, and what is asked there?"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from eval.proof.questions import DRAWN, draw_questions
from eval.proof.report import Holding, Viewed
from eval.proof.requests import Asked, Question, of_hidden, of_question, of_view
from eval.proof.visible_part import View, revoked_from, visible_part
from evidence.access import Principal
from evidence.grants import Grant, Subject
from evidence.identity import PUBLIC, Namespace, RevisionKey
from index.catalog_read import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One view. keys: the revisions that are visible there. revoked: what was taken from the principal. hidden: a few
    revisions of sources that are not visible, to be named in requests."""

    viewed: Viewed
    keys: Sequence[RevisionKey]
    revoked: Sequence[Subject | Grant]
    hidden: Sequence[RevisionKey]
    questions: Sequence[Question]

    def asked(self) -> Iterator[Asked]:
        """Everything that is asked, in order: what is ordinary comes first."""
        first = self.questions[0]
        once = chain(of_view(first), *(of_hidden(first, key) for key in self.hidden))
        return chain(chain.from_iterable(of_question(question) for question in self.questions), once)

    @property
    def requests(self) -> int:
        """How many `asked` gives."""
        return sum(1 for _ in self.asked())


def plan(
    reading: Reading, principal: Principal, *, questions: Sequence[Question] | None, limit: int | None
) -> list[Part]:
    """The views in the order in which the questions come to them.

    questions: None draws some from what is visible, evenly without a purpose and for each purpose and use under which
    something else is. limit: how many are asked at most; None asks all, or DRAWN.
    """
    facts, revoked = reading.facts(), revoked_from(principal, reading.revocations)

    def seen_from(view: View) -> tuple[RevisionKey, ...]:
        return tuple(visible_part(facts.values(), principal, revoked=revoked, view=view))

    asked: dict[View, list[Question]] = {}
    if questions is None:
        most = DRAWN if limit is None else limit
        views = _telling({view: seen_from(view) for view in _views(principal)})[:most]
        for place, view in enumerate(views):
            share = most // len(views) + (place < most % len(views))
            asked[view] = draw_questions(reading, seen_from(view), view=view, most=share)
    else:
        for question in questions[:limit]:
            asked.setdefault(question.view, []).append(question)
    return [
        _part(reading, view, seen_from(view), asked[view], revoked=revoked, own=principal.namespace) for view in asked
    ]


def unasked(reading: Reading, principal: Principal, parts: Iterable[Part]) -> tuple[View, ...]:
    """The views of a principal from which something else is visible than from any that these parts are of."""
    facts, revoked = reading.facts(), revoked_from(principal, reading.revocations)
    looked_from = {tuple(part.keys) for part in parts}
    seen = {
        view: tuple(visible_part(facts.values(), principal, revoked=revoked, view=view)) for view in _views(principal)
    }
    return tuple(view for view in _telling(seen) if seen[view] not in looked_from)


def holding(keys: Collection[RevisionKey], unit_counts: Mapping[RevisionKey, int]) -> Holding:
    """How many sources and units these revisions are."""
    return Holding(sources=len({key.source for key in keys}), units=sum(unit_counts[key] for key in keys))


def _part(
    reading: Reading,
    view: View,
    keys: Sequence[RevisionKey],
    questions: Sequence[Question],
    *,
    revoked: Sequence[Subject | Grant],
    own: Namespace,
) -> Part:
    visible = holding(keys, reading.holdings.unit_counts)
    return Part(
        viewed=Viewed(view=view, visible=visible, queries=len(questions)),
        keys=keys,
        revoked=revoked,
        hidden=_hidden(reading.facts(), keys, own=own),
        questions=questions,
    )


def _views(principal: Principal) -> list[View]:
    """The views that a principal can take, the plainest first."""
    purposes = (None, *principal.purposes)
    return [View(purpose=purpose, drafts=drafts) for drafts in (False, True) for purpose in purposes]


def _telling(seen: Mapping[View, tuple[RevisionKey, ...]]) -> list[View]:
    """Of the views from which the same is seen, the first."""
    first: dict[tuple[RevisionKey, ...], View] = {}
    for view, keys in seen.items():
        first.setdefault(keys, view)
    return list(first.values())


def _hidden(every: Iterable[RevisionKey], visible: Iterable[RevisionKey], *, own: Namespace) -> list[RevisionKey]:
    """A revision of a hidden source that the principal's requests could name by its id, and one of another tenant."""
    sources = {key.source for key in visible}
    hidden = [key for key in every if key.source not in sources]
    near = [key for namespace in (own, PUBLIC) for key in hidden if key.namespace == namespace]
    far = [key for key in hidden if key.namespace not in (own, PUBLIC)]
    return [*near[:1], *far[:1]]
