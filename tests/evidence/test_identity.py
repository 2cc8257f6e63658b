"""Names: two never meet, and each reads back as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey, UnitKey, parse_unit_id, unit_id

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(namespace=names, source_id=names, revision=names, ordinal=st.integers(0, 999_999_999))
def test_a_unit_id_reads_back_as_the_key_that_wrote_it(
    namespace: str, source_id: str, revision: str, ordinal: int
) -> None:
    key = UnitKey(Namespace(namespace), source_id, revision, ordinal)

    assert parse_unit_id(unit_id(key)) == key


def test_separators_inside_a_name_do_not_make_two_units_share_an_id() -> None:
    one = UnitKey(Namespace("blue"), "a@1", "2", 0)
    other = UnitKey(Namespace("blue"), "a", "1@2", 0)

    assert unit_id(one) == "blue/a%401@2#0"
    assert unit_id(other) == "blue/a@1%402#0"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#0",
        "public/SB@7",
        "public/SB@7#",
        "public/SB@7#-1",
        "public/SB@7#07",
        "public/SB@7#+7",
        "public/SB@7#1000000000",
        "public/SB@7#٧",  # a digit, and not an ASCII one
        "public/S B@7#0",  # the space is not encoded
        "public/SB@%37#0",  # the 7 is encoded and need not be
        "public/S/B@7#0",
        "public/%FF@7#0",  # no UTF-8
        "EV-0123456789ABCDEF",
    ],
)
def test_a_text_that_unit_id_never_wrote_is_no_unit_id(text: str) -> None:
    assert parse_unit_id(text) is None


def test_two_tenants_may_use_the_same_source_id_and_never_meet() -> None:
    blue, red = RevisionKey(Namespace("blue"), "A", "1"), RevisionKey(Namespace("red"), "A", "1")

    assert blue != red
    assert unit_id(UnitKey(*blue, 0)) != unit_id(UnitKey(*red, 0))


def test_keys_order_component_by_component_and_by_code_point() -> None:
    """R11: an upper-case letter comes before a lower-case one, `10` before `9`, and a shorter name first."""
    ordered = [
        UnitKey(Namespace("blue"), "A", "10", 0),
        UnitKey(Namespace("blue"), "A", "9", 0),
        UnitKey(Namespace("blue"), "A", "9", 2),
        UnitKey(Namespace("blue"), "A", "9", 10),
        UnitKey(Namespace("blue"), "AB", "1", 0),
        UnitKey(Namespace("blue"), "a", "1", 0),
        UnitKey(PUBLIC, "A", "1", 0),
    ]
    mixed = [ordered[place] for place in (3, 6, 0, 5, 2, 4, 1)]

    assert sorted(mixed) == ordered


def test_a_unit_names_its_revision_and_a_revision_its_source() -> None:
    key = UnitKey(PUBLIC, "SB-A-7", "7", 3)

    assert key.revision_key == RevisionKey(PUBLIC, "SB-A-7", "7")
    assert key.revision_key.source == SourceKey(PUBLIC, "SB-A-7")
