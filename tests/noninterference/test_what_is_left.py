"""Does the model of what a history leaves say what the rules say? Worked out by hand, since all of M2 rests on it."""

import pytest

from evidence.grants import Subject
from evidence.identity import Namespace, RevisionKey, SourceKey
from tests.noninterference.what_is_left import Left, Refused
from tests.noninterference.world import Record, key_of
from tests.worlds import record

BLUE = Namespace("blue")
S = SourceKey(BLUE, "S")
WIDE, NARROW, OTHER = ({"tenant": "blue", **more} for more in ({}, {"roles": ["a"]}, {"roles": ["b"]}))


def of(text: str, *, revision: str = "1", access: Record = WIDE, **more: str) -> Record:
    return {**record("S", text, tenant="blue", revision=revision, **more), "access": dict(access)}


def left_by(*ingests: tuple[Record, bool]) -> Left:
    """Each with whether it relabels; the steps are counted from 1."""
    left = Left()
    for step, (one, relabel) in enumerate(ingests, start=1):
        left.take_in([one], step=step, coded=True, relabel=relabel)
    return left


def test_what_came_without_codes_waits_until_a_reindex_or_until_it_comes_with_them() -> None:
    left, one, other = Left(), of("one"), of("two", revision="2")
    left.take_in([one, other], step=1, coded=False, relabel=False)
    assert left.waiting() == {key_of(one), key_of(other)}

    left.take_in([one], step=2, coded=True, relabel=False)
    assert left.waiting() == {key_of(other)}
    left.reindex()
    assert left.waiting() == set()


def test_what_comes_in_again_after_it_was_deleted_waits_like_anything_new() -> None:
    left = left_by((of("one"), False))
    left.delete(S)
    left.take_in([of("one")], step=2, coded=False, relabel=False)

    assert left.waiting() == {RevisionKey(*S, "1")}


@pytest.mark.parametrize("second", [of("other"), of("two", revision="2", access=NARROW)], ids=["bytes", "label"])
def test_other_bytes_under_a_key_and_another_label_are_refused_whole(second: Record) -> None:
    left = left_by((of("one"), False))

    with pytest.raises(Refused):
        left.take_in([of("three", revision="3"), second], step=2, coded=True, relabel=False)
    assert [one["revision"] for one in left.world().records] == ["1"]


def test_a_label_is_that_of_all_revisions_of_a_source() -> None:
    left = left_by((of("one"), False), (of("two", revision="2", access=NARROW), True))

    assert [one["access"] for one in left.world().records] == [NARROW, NARROW]


def test_a_revocation_outlives_its_revision_and_a_published_word_of_one_that_was_deleted() -> None:
    left = left_by((of("one"), False), (of("two", revision="2", status="revoked"), False))
    left.revoke(RevisionKey(*S, "1"))
    left.delete(S)
    assert left.world().revocations == ()

    left.take_in([of("one"), of("two", revision="2")], step=3, coded=True, relabel=False)
    assert left.world().revocations == (RevisionKey(*S, "1"), RevisionKey(*S, "2"))


def test_what_came_as_revoked_is_forgotten_with_the_ingest_that_said_so() -> None:
    said = of("one", status="revoked")
    left = left_by((said, False))
    left.roll_back([said])
    left.take_in([of("one")], step=2, coded=True, relabel=False)

    assert left.world().revocations == ()


def test_a_revision_that_is_not_there_is_not_revoked_and_a_principal_is_once() -> None:
    left = Left()

    assert not left.revoke(RevisionKey(*S, "1"))
    for _ in range(2):
        assert left.revoke(Subject(BLUE, "bob"))
    assert left.world().revocations == (Subject(BLUE, "bob"),)


def test_a_rollback_gives_back_the_label_that_was_there_before() -> None:
    narrowing = of("one", access=NARROW)
    left = left_by((of("one"), False), (narrowing, True))

    assert left.roll_back([narrowing])
    assert left.access_of(S) == WIDE
    assert not left.roll_back([narrowing])


@pytest.mark.parametrize("label", [NARROW, OTHER])
def test_a_rollback_takes_no_label_that_was_given_since(label: Record) -> None:
    narrowing = of("one", access=NARROW)
    left = left_by((of("one"), False), (narrowing, True))
    left.relabel(S, label, step=3)
    left.roll_back([narrowing])

    assert left.access_of(S) == label


def test_a_rollback_takes_no_label_that_a_revision_came_in_under() -> None:
    narrowing, second = of("one", access=NARROW), of("two", revision="2", access=NARROW)
    left = left_by((of("one"), False), (narrowing, True), (second, False))
    left.roll_back([narrowing])
    assert left.access_of(S) == NARROW

    left.roll_back([second])
    assert left.access_of(S) == WIDE
