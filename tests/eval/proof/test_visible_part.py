"""Tests of the second opinion on what is visible: rule by rule, and beside the rules that serve."""

import random

import pytest

from eval.proof.visible_part import View, revoked_from, visible_part
from evidence.access import Label, Principal, Scope
from evidence.eligibility import Use, is_visible
from evidence.grants import Dimension, Grant, Revocations, Subject, Token, live_principal
from evidence.identity import PUBLIC, Namespace, RevisionKey
from evidence.revision import RevisionFacts, Status
from tests.worlds import principal

BLUE, RED = Namespace("blue"), Namespace("red")
PLAIN = View(purpose=None, drafts=False)
ANN = principal("blue", roles=("technician",), purposes=("repair",), regions=("north",), scope=("ingest", "search"))
WORDS = ("repair", "audit", "north", "technician", "user:ann", "user:bob")


def facts(
    namespace: Namespace, *, status: Status = Status.CURRENT, was_draft: bool = False, **asked: str
) -> RevisionFacts:
    label = Label(namespace=namespace, **{name: (value,) for name, value in asked.items()})
    return RevisionFacts(
        key=RevisionKey(namespace, "S", "1"), label=label, status=status, was_draft=was_draft, text_digest=""
    )


def sees(
    one: RevisionFacts, who: Principal = ANN, *, view: View = PLAIN, revoked: tuple[Subject | Grant, ...] = ()
) -> bool:
    return visible_part([one], who, revoked=revoked, view=view) == [one.key]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (facts(PUBLIC), True),
        (facts(BLUE), True),
        (facts(RED), False),
        (facts(BLUE, roles="technician"), True),
        (facts(BLUE, roles="user:ann"), True),
        (facts(BLUE, roles="supervisor"), False),
        (facts(PUBLIC, roles="supervisor"), False),
        (facts(BLUE, regions="north"), True),
        (facts(BLUE, regions="south"), False),
        (facts(BLUE, cases="C-1"), False),
        (facts(BLUE, purposes="repair"), False),
        (facts(BLUE, status=Status.SUPERSEDED), True),
        (facts(BLUE, status=Status.REVOKED), True),
        (facts(BLUE, status=Status.DRAFT), False),
        (facts(BLUE, status=Status.REVOKED, was_draft=True), False),
    ],
)
def test_labels_admit_any_of_each_dimension_and_drafts_are_for_those_who_ask(
    one: RevisionFacts, *, expected: bool
) -> None:
    """R1, R3."""
    assert sees(one) is expected


def test_a_purpose_admits_what_names_it_and_what_names_none() -> None:
    view = View(purpose="repair", drafts=False)

    assert sees(facts(BLUE, purposes="repair"), view=view)
    assert sees(facts(BLUE), view=view)
    assert not sees(facts(BLUE, purposes="audit"), view=view)


def test_drafts_are_seen_on_request_with_the_scope_for_it_in_ones_own_namespace_alone() -> None:
    """R3."""
    view, draft = View(purpose=None, drafts=True), facts(BLUE, status=Status.DRAFT)

    assert sees(draft, view=view)
    assert sees(facts(BLUE, status=Status.REVOKED, was_draft=True), view=view)
    assert not sees(draft, principal("blue"), view=view)
    assert not sees(facts(PUBLIC, status=Status.DRAFT), view=view)
    assert sees(facts(PUBLIC, status=Status.DRAFT), principal(None, scope=("ingest",)), view=view)


def test_what_was_revoked_is_held_no_longer() -> None:
    role = Grant(None, "ann", Dimension.ROLE, "technician")
    own = Grant(BLUE, "ann", Dimension.ROLE, "user:ann")

    assert not sees(facts(BLUE, roles="technician"), revoked=(role,))
    assert not sees(facts(BLUE, roles="user:ann"), revoked=(own,))
    assert not sees(facts(PUBLIC), revoked=(Subject(None, "ann"),))


def test_of_all_revocations_those_count_that_name_the_subject_in_its_namespace_or_in_all() -> None:
    mine = [Grant(BLUE, "ann", Dimension.ROLE, "a"), Grant(None, "ann", Dimension.CASE, "c"), Subject(BLUE, "ann")]
    others = [Grant(RED, "ann", Dimension.ROLE, "b"), Grant(BLUE, "bob", Dimension.ROLE, "a"), Subject(None, "bob")]
    all_of_them = Revocations(
        subjects=frozenset(one for one in (*mine, *others) if isinstance(one, Subject)),
        grants=frozenset(one for one in (*mine, *others) if isinstance(one, Grant)),
        token_ids=frozenset({Token(None, "ann")}),
    )

    assert set(revoked_from(ANN, all_of_them)) == set(mine)


def test_it_agrees_with_the_rules_that_serve_wherever_a_request_is_answered_at_all() -> None:
    """Two implementations, over labels, principals, revocations and views by chance."""
    chance = random.Random(5)

    def some(*sizes: int) -> tuple[str, ...]:
        return tuple(sorted(chance.sample(WORDS, chance.choice(sizes))))

    compared, visible = 0, 0
    while compared < 1500:
        roles, purposes, regions, cases = (some(1, 3, 4) for _ in range(4))
        who = Principal(
            sub=chance.choice(("ann", "bob")),
            tenant=chance.choice((None, BLUE, RED)),
            roles=roles,
            purposes=purposes,
            regions=regions,
            cases=cases,
            scope=chance.choice((("search",), ("ingest", "search"))),
        )
        status = chance.choice(list(Status))
        roles, purposes, regions, cases = (some(0, 0, 1, 2) for _ in range(4))
        label = Label(
            namespace=chance.choice((PUBLIC, BLUE, RED)), roles=roles, purposes=purposes, regions=regions, cases=cases
        )
        one = RevisionFacts(
            key=RevisionKey(label.namespace, "S", "1"),
            label=label,
            status=status,
            was_draft=status is Status.REVOKED and chance.random() < 0.5,
            text_digest="",
        )
        grants = frozenset(
            Grant(chance.choice((None, BLUE, RED)), chance.choice(("ann", "bob")), dimension, chance.choice(WORDS))
            for dimension in chance.sample(list(Dimension), 2)
        )
        revocations = Revocations(grants=grants, subjects=frozenset({Subject(RED, "bob")}))
        live = live_principal(who, revocations)
        view = View(purpose=chance.choice((None, *who.purposes)), drafts=chance.random() < 0.5)
        if live is None or (view.purpose is not None and view.purpose not in live.purposes):
            continue  # 401 and 403, whatever the catalog holds
        use = Use.DRAFT if view.drafts else Use.CURRENT
        expected = is_visible(one, scope=Scope(principal=live, purpose=view.purpose), use=use)
        assert sees(one, who, view=view, revoked=tuple(revoked_from(who, revocations))) is expected
        compared, visible = compared + 1, visible + expected
    assert visible > 100
