"""Which revision does a record offer, where is a bad one refused, and does writing undo reading?"""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.access import Label
from evidence.errors import InvalidSource
from evidence.identity import PUBLIC, Namespace, RevisionKey
from evidence.instant import Instant
from evidence.label_record import parse_label
from evidence.revision import Claim, ConflictSide, Contradiction, Status
from evidence.source_record import MAX_TEXT_BYTES, SourceRevision, parse_source, to_record
from tests.builders import SearchedText

TEXT = "# Uploads\n\nAt most 25 MB. The latch is inspected yearly.\n"
BLUE = Label(namespace=Namespace("blue"))


def record(**changes: Any) -> dict[str, Any]:
    """The smallest public record, with `changes`; a change to `...` takes the key away."""
    made = {"source_id": "SB-A-7", "revision": "7", "text": TEXT, "access": {"public": True}, **changes}
    return {name: value for name, value in made.items() if value is not ...}


def parse(**changes: Any) -> SourceRevision:
    return parse_source(record(**changes), default_label=None)


def full_record() -> dict[str, Any]:
    return record(
        title="Latch — bulletin",
        family="bulletin",
        owner="brand-safety",
        authority="manufacturer",
        status="superseded",
        effective_from="2025-03-01T01:00:00+01:00",
        effective_to="2026-03-01T00:00:00.5Z",
        supersedes=[
            {"source_id": "SB-A-2", "revision": "2", "public": False},
            {"source_id": "SB-A-1", "revision": "1", "public": True},
        ],
        contradicts=[
            {"source_id": "SB-C-1", "here": {"claim": "upload.max_mb"}, "there": {"quote": "anything"}},
            {"source_id": "SB-C-2", "public": True, "here": {"quote": "inspected yearly"}},
        ],
        claims=[{"key": "upload.max_mb", "value": "25", "quote": "At most 25 MB."}],
        applies_to=["model-k2", "model-k1", "model-k2"],
        citable_for=["limit"],
        access={"public": False, "tenant": "blue", "roles": ["b", "a", "b"], "purposes": ["support"]},
        metadata={"product": ["desk", 2, True], "n": 9007199254740991},
    )


def test_the_smallest_record_is_a_current_open_ended_revision() -> None:
    revision = parse()

    assert revision.text == TEXT
    assert revision.quotes == ()
    assert revision.facts.key == RevisionKey(PUBLIC, "SB-A-7", "7")
    assert revision.facts.label == Label(namespace=PUBLIC)
    assert revision.facts.status is Status.CURRENT
    assert (revision.facts.effective_from, revision.facts.effective_to) == (None, None)
    assert revision.facts.text_digest == "sha256:" + hashlib.sha256(TEXT.encode()).hexdigest()


def test_every_field_of_the_schema_is_read() -> None:
    revision = parse_source(full_record(), default_label=None)

    facts = revision.facts
    assert facts.label == Label(namespace=Namespace("blue"), roles=("a", "b"), purposes=("support",))
    assert (facts.title, facts.family, facts.owner) == ("Latch — bulletin", "bulletin", "brand-safety")
    assert (facts.authority, facts.status) == ("manufacturer", Status.SUPERSEDED)
    assert facts.effective_from == Instant(1_740_787_200_000_000)  # date -d 2025-03-01T00:00:00Z +%s
    assert facts.effective_to == Instant(1_772_323_200_500_000)
    assert facts.claims == (Claim(key="upload.max_mb", value="25", quote="At most 25 MB."),)
    assert (facts.applies_to, facts.citable_for) == (("model-k1", "model-k2"), ("limit",))
    assert facts.metadata == '{"n":9007199254740991,"product":["desk",2,true]}'
    assert revision.quotes == ("At most 25 MB.", "inspected yearly")


def test_references_lie_in_the_records_own_namespace_unless_they_say_public() -> None:
    facts = parse_source(full_record(), default_label=None).facts

    assert facts.supersedes == (RevisionKey(Namespace("blue"), "SB-A-2", "2"), RevisionKey(PUBLIC, "SB-A-1", "1"))
    assert facts.contradicts == (
        Contradiction(
            namespace="blue",
            source_id="SB-C-1",
            here=ConflictSide(claim="upload.max_mb"),
            there=ConflictSide(quote="anything"),
        ),
        Contradiction(namespace="public", source_id="SB-C-2", here=ConflictSide(quote="inspected yearly")),
    )


def test_the_default_label_holds_only_for_a_record_without_one() -> None:
    assert parse_source(record(access=...), default_label=BLUE).facts.label == BLUE
    assert parse_source(record(), default_label=BLUE).facts.label == Label(namespace=PUBLIC)


def test_a_record_with_no_label_is_refused() -> None:
    """R3: a missing label is an error, never a default."""
    with pytest.raises(InvalidSource, match="no label is refused") as caught:
        parse(access=...)
    assert caught.value.path == "$.access"


def test_the_empty_string_stands_for_no_title_family_owner_or_authority() -> None:
    assert parse(title="", family="", owner="", authority="").facts.digest == parse().facts.digest


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"colour": "red"}, "$.colour"),
        ({"source_id": ...}, "$.source_id"),
        ({"source_id": ""}, "$.source_id"),
        ({"source_id": 7}, "$.source_id"),
        ({"source_id": "a\x00"}, "$.source_id"),
        ({"source_id": "a\u0085b"}, "$.source_id"),
        ({"source_id": "a\u2028b"}, "$.source_id"),
        ({"source_id": "x" * 513}, "$.source_id"),
        ({"source_id": "\ud800"}, "$.source_id"),
        ({"revision": ...}, "$.revision"),
        ({"revision": 7}, "$.revision"),
        ({"revision": None}, "$.revision"),
        ({"text": ...}, "$.text"),
        ({"text": " \n"}, "$.text"),
        ({"text": "a\x00b"}, "$.text"),
        ({"text": "a\udfffb"}, "$.text"),
        ({"text": ["a"]}, "$.text"),
        ({"text": "é" * (MAX_TEXT_BYTES // 2) + "x"}, "$.text"),
        ({"title": "a\x00b"}, "$.title"),
        ({"title": None}, "$.title"),
        ({"title": "x" * 4097}, "$.title"),
        ({"family": "a\nb"}, "$.family"),
        ({"status": "final"}, "$.status"),
        ({"status": None}, "$.status"),
        ({"effective_from": "2025-03-01"}, "$.effective_from"),
        ({"effective_from": "2025-03-01T00:00:00"}, "$.effective_from"),
        ({"effective_from": "2025-02-29T00:00:00Z"}, "$.effective_from"),
        ({"effective_from": 1740787200}, "$.effective_from"),
        ({"effective_from": "2025-03-01T00:00:00Z", "effective_to": "2025-02-01T00:00:00Z"}, "$.effective_to"),
        ({"effective_from": "2025-03-01T00:00:00Z", "effective_to": "2025-03-01T01:00:00+01:00"}, "$.effective_to"),
        ({"supersedes": {"source_id": "a"}}, "$.supersedes"),
        ({"supersedes": [{"source_id": "a"}]}, "$.supersedes[0].revision"),
        ({"supersedes": [{"source_id": "a", "revision": "1", "note": ""}]}, "$.supersedes[0].note"),
        ({"supersedes": [{"source_id": "a", "revision": "1", "public": "no"}]}, "$.supersedes[0].public"),
        ({"supersedes": [{"source_id": "SB-A-7", "revision": "7"}]}, "$.supersedes[0]"),
        ({"contradicts": [{"public": True}]}, "$.contradicts[0].source_id"),
        ({"contradicts": [{"source_id": "c", "here": {"claim": "none"}}]}, "$.contradicts[0].here.claim"),
        ({"contradicts": [{"source_id": "c", "here": {"quote": "none"}}]}, "$.contradicts[0].here.quote"),
        ({"contradicts": [{"source_id": "c", "here": {}}]}, "$.contradicts[0].here"),
        ({"contradicts": [{"source_id": "c", "there": {"claim": "a", "quote": "b"}}]}, "$.contradicts[0].there"),
        ({"contradicts": [{"source_id": "c", "there": {"unit": "a"}}]}, "$.contradicts[0].there.unit"),
        ({"contradicts": [{"source_id": "c"}, {"source_id": "c", "public": True}]}, "$.contradicts[1]"),
        ({"contradicts": [{"source_id": "SB-A-7"}]}, "$.contradicts[0]"),
        ({"claims": [{"key": "k", "value": "25"}]}, "$.claims[0].quote"),
        ({"claims": [{"key": "k", "value": "25", "quote": "26 MB"}]}, "$.claims[0].quote"),
        ({"claims": [{"key": "k", "value": 25, "quote": "25"}]}, "$.claims[0].value"),
        ({"claims": [{"key": "k", "value": "25", "quote": ""}]}, "$.claims[0].quote"),
        ({"claims": [{"key": "k", "value": "25", "quote": "25"}] * 2}, "$.claims[1]"),
        ({"claims": ["k"]}, "$.claims[0]"),
        ({"applies_to": "model-k2"}, "$.applies_to"),
        ({"applies_to": [""]}, "$.applies_to[0]"),
        ({"applies_to": ["m"] * 1001}, "$.applies_to"),
        ({"citable_for": [1]}, "$.citable_for[0]"),
        ({"access": None}, "$.access"),
        ({"access": {}}, "$.access"),
        ({"access": {"public": False}}, "$.access"),
        ({"access": {"public": True, "tenant": "blue"}}, "$.access.tenant"),
        ({"access": {"tenant": "public"}}, "$.access.tenant"),
        ({"access": {"tenant": ""}}, "$.access.tenant"),
        ({"access": {"public": "yes"}}, "$.access.public"),
        ({"access": {"public": 1}}, "$.access.public"),
        ({"access": {"public": True, "role": []}}, "$.access.role"),
        ({"access": {"public": True, "roles": "a"}}, "$.access.roles"),
        ({"access": {"public": True, "roles": [None]}}, "$.access.roles[0]"),
        ({"metadata": []}, "$.metadata"),
        ({"metadata": {"": 1}}, '$.metadata[""]'),
        ({"metadata": {"x": 1.5}}, "$.metadata.x"),
        ({"metadata": {"x": None}}, "$.metadata.x"),
        ({"metadata": {"x": {"y": 1}}}, "$.metadata.x"),
        ({"metadata": {"x": [1, [2]]}}, "$.metadata.x[1]"),
        ({"metadata": {"x": 2**53}}, "$.metadata.x"),
        ({"metadata": {"x": "\ud800"}}, "$.metadata.x"),
    ],
)
def test_a_record_outside_the_schema_is_refused_with_its_path(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidSource) as caught:
        parse(**changes)
    assert caught.value.path == path


def test_what_is_no_object_is_refused() -> None:
    values: tuple[object, ...] = (None, [], "record", 1)

    for value in values:
        with pytest.raises(InvalidSource, match="must be an object") as caught:
            parse_source(value, default_label=BLUE)
        assert caught.value.path == "$"


def test_a_refusal_never_shows_content() -> None:
    with pytest.raises(InvalidSource) as caught:
        parse(status="SECRET", claims=[])
    assert "SECRET" not in str(caught.value)


def test_text_of_exactly_the_limit_is_read() -> None:
    assert len(parse(text="é" * (MAX_TEXT_BYTES // 2)).text) == MAX_TEXT_BYTES // 2


def test_other_control_characters_than_nul_stay_in_the_text() -> None:
    assert parse(text="page one\x0cpage two\x1b\r\n").text == "page one\x0cpage two\x1b\r\n"


def test_a_quote_that_two_claims_share_is_kept_once() -> None:
    claims = [{"key": key, "value": "25", "quote": "25 MB"} for key in ("a", "b")]

    assert parse(claims=claims, contradicts=[{"source_id": "c", "here": {"quote": "25 MB"}}]).quotes == ("25 MB",)


def test_two_namespaces_may_hold_the_same_reference_and_the_public_one_may_be_contradicted_from_a_tenant() -> None:
    """A tenant's source of the same id is another source than the public one: no contradiction with itself."""
    facts = parse(access={"tenant": "blue"}, contradicts=[{"source_id": "SB-A-7", "public": True}]).facts

    assert facts.contradicts[0].namespace == PUBLIC


def test_order_and_repeats_of_sets_do_not_change_the_digest() -> None:
    one = parse(applies_to=["a", "b"], access={"public": True, "roles": ["x", "y", "x"]})
    two = parse(applies_to=["b", "a", "b"], access={"public": True, "roles": ["y", "x"]})

    assert one.facts.digest == two.facts.digest


def test_writing_undoes_reading_for_the_full_record() -> None:
    revision = parse_source(full_record(), default_label=None)

    written = json.loads(json.dumps(to_record(revision.facts, revision.text)))
    assert parse_source(written, default_label=None) == revision


def test_writing_undoes_reading_for_a_revoked_draft() -> None:
    """R3: what was never published is not published by moving it."""
    revision = parse(status="revoked", was_draft=True)

    assert not revision.facts.is_published
    assert parse_source(to_record(revision.facts, revision.text), default_label=None) == revision
    assert "was_draft" not in to_record(parse(status="revoked").facts, TEXT)


@pytest.mark.parametrize("changes", [{}, {"status": "draft"}, {"status": "revoked", "was_draft": "yes"}])
def test_was_draft_goes_with_revoked_alone(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidSource) as caught:
        parse(**{"was_draft": True, **changes})
    assert caught.value.path == "$.was_draft"


def test_a_written_record_names_its_label_so_that_no_flag_can_change_it() -> None:
    revision = parse()

    assert parse_source(to_record(revision.facts, TEXT), default_label=BLUE) == revision


CONTROLS = tuple(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)))
NAMES = st.text(st.characters(codec="utf-8", exclude_characters=CONTROLS), min_size=1, max_size=5)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)


@settings(deadline=None)  # the machine's load is no property of the code
@given(
    source_id=NAMES,
    revision=NAMES,
    tenant=NAMES.filter(lambda name: name != "public"),
    roles=st.lists(NAMES, max_size=3),
    body=TEXTS,
    quote_end=st.integers(2, 21),
    metadata=st.dictionaries(NAMES, st.integers(-(2**53) + 1, 2**53 - 1) | st.booleans() | st.lists(NAMES), max_size=2),
)
def test_writing_undoes_reading(
    source_id: str,
    revision: str,
    tenant: str,
    roles: list[str],
    body: str,
    quote_end: int,
    metadata: dict[str, Any],
) -> None:
    text = "x" + body
    offered = {
        "source_id": source_id,
        "revision": revision,
        "text": text,
        "access": {"tenant": tenant, "roles": roles},
        "claims": [{"key": "k", "value": "v", "quote": text[:quote_end]}],
        "metadata": metadata,
    }

    read = parse_source(offered, default_label=None)
    assert parse_source(to_record(read.facts, read.text), default_label=None) == read


def test_a_label_is_read_alone_too() -> None:
    with pytest.raises(InvalidSource) as caught:
        parse_label({"public": True, "tenant": "blue"}, path="$")
    assert caught.value.path == "$.tenant"
    assert parse_label({"tenant": "blue", "cases": ["2", "1"]}, path="$") == Label(
        namespace=Namespace("blue"), cases=("1", "2")
    )


def test_a_quote_that_many_claims_share_is_searched_once() -> None:
    def searches(claims: int) -> int:
        text = SearchedText(TEXT)
        quoting = [{"key": f"k{number}", "value": "25", "quote": "At most 25 MB."} for number in range(claims)]
        assert len(parse(text=text, claims=quoting).facts.claims) == claims
        return text.searches

    assert searches(1000) == searches(1)


def test_a_revision_declares_at_most_a_thousand_claims() -> None:
    claims = [{"key": f"k{number}", "value": "25", "quote": "At most 25 MB."} for number in range(1001)]

    with pytest.raises(InvalidSource, match="1001 entries, at most 1000") as refused:
        parse(claims=claims)

    assert refused.value.path == "$.claims"
