"""Tests of `server/citing.py`: R33 and R7 against a living catalog."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evidence.access import Label, Principal
from evidence.citations import citation_handle
from evidence.grants import Dimension, Grant, Subject
from evidence.identity import Namespace, RevisionKey, SourceKey
from evidence.instant import parse_instant
from evidence.unit import Unit
from index.catalog import Catalog
from server.citation_schemas import CitationAnswer, CitationRequest, NativeAnswer, NativeRequest
from server.citing import read_native, validate_citations
from server.errors import Forbidden, Invalid, Unauthenticated
from server.parsing import parse
from tests.worlds import NOW, RECIPE, extend, principal, record

BLUE, RED = Namespace("blue"), Namespace("red")
ANN = principal("blue", roles=("staff",), purposes=("repair",))
PARAGRAPH = " ".join(f"Sentence {number} makes the passage longer." for number in range(30))
LIMIT = f"Uploads are limited to 25 MB. {PARAGRAPH}"
VIDEOS = f"Videos have no limit at all. {PARAGRAPH}"
RULE = RevisionKey(BLUE, "RULE", "1")
RECORDS = [
    record("RULE", f"{LIMIT}\n\n{VIDEOS}", tenant="blue", citable_for=["limit"]),
    record("NOTE", "Staff may send files of 99 MB.", tenant="blue", access={"roles": ["staff"]}),
    record("PLAN", "Repairs start in March.", tenant="blue", access={"purposes": ["repair"]}),
    record("PART", "The latch is inspected.", tenant="blue", applies_to=["k1"]),
    record("RULE", "Uploads in red are limited to 7 MB.", tenant="red"),
]


@pytest.fixture(name="catalog")
def fixture_catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog.create(tmp_path / "catalog", RECIPE) as catalog:
        extend(catalog, RECORDS)
        yield catalog


def units(catalog: Catalog, source_id: str, *, namespace: str = "blue", revision: str = "1") -> list[Unit]:
    with catalog.read() as reading:
        return reading.units_of(RevisionKey(Namespace(namespace), source_id, revision))


def shown(unit: Unit) -> dict[str, Any]:
    return {
        "handle": citation_handle(unit),
        "namespace": unit.key.namespace,
        "source_id": unit.key.source_id,
        "revision": unit.key.revision,
        "span": [unit.start, unit.end],
        "text": unit.text,
        "trust": "untrusted-retrieved-data",
    }


def packet(*passages: Unit, **fields: Any) -> dict[str, Any]:
    return {"schema": "muniment.packet/1", "evidence": [shown(unit) for unit in passages], **fields}


def results(
    catalog: Catalog,
    cited_from: Mapping[str, Any],
    occurrences: Sequence[Mapping[str, Any]],
    *,
    who: Principal = ANN,
    **asked: Any,
) -> list[dict[str, Any]]:
    request = parse({"packet": cited_from, "occurrences": occurrences, **asked}, CitationRequest)
    answer = validate_citations(catalog, request, who, now=NOW)
    CitationAnswer.model_validate(answer)
    return answer["results"]  # type: ignore[return-value]  # the shape was just checked


def verdict(catalog: Catalog, passage: Unit, *, who: Principal = ANN, **fields: Any) -> str:
    asked = {name: fields.pop(name) for name in ("purpose", "subject") if name in fields}
    occurrence = {"handle": citation_handle(passage), "quote": passage.text[:10]}
    (result,) = results(catalog, packet(passage, **fields), [occurrence], who=who, **asked)
    return str(result["verdict"])


def test_a_quote_is_placed_in_the_stored_revision_text(catalog: Catalog) -> None:
    first, second = units(catalog, "RULE")[0], units(catalog, "RULE")[-1]
    handle = citation_handle(second)

    (result,) = results(catalog, packet(first, second), [{"handle": handle, "quote": second.text[3:9]}])

    assert result == {"handle": handle, "verdict": "valid", "span": [second.start + 3, second.start + 9]}


def test_every_occurrence_is_judged_for_itself_in_order(catalog: Catalog) -> None:
    limit, note = units(catalog, "RULE")[0], units(catalog, "NOTE")[0]
    valid, other = citation_handle(limit), citation_handle(note)
    asked = [
        ({"handle": valid, "quote": "limited to 25 MB"}, "valid"),
        ({"handle": "EV-0000000000000000", "quote": "limited to 25 MB"}, "fabricated"),
        ({"handle": "doc-99"}, "fabricated"),
        ({"handle": valid, "quote": "limited to 99 MB"}, "misquoted"),
        ({"handle": valid, "quote": "files of 99 MB"}, "misattributed"),
        ({"handle": valid, "quote": "25 MB. Staff may"}, "misquoted"),
        ({"handle": valid, "quote": ""}, "misquoted"),
        ({"handle": valid, "quote": "Limited to 25 MB"}, "misquoted"),
        ({"handle": valid, "claim_type": "approval"}, "not-citable"),
        ({"handle": valid, "claim_type": "limit", "claim": "At most 25 MB."}, "valid"),
        ({"handle": other}, "valid"),
    ]

    found = results(catalog, packet(limit, note), [occurrence for occurrence, _ in asked])

    assert [result["verdict"] for result in found] == [expected for _, expected in asked]
    assert [result["handle"] for result in found] == [occurrence["handle"] for occurrence, _ in asked]


def test_a_quote_of_a_passage_of_the_same_revision_outside_the_packet_is_misattributed(catalog: Catalog) -> None:
    first = units(catalog, "RULE")[0]
    assert "Videos have" not in first.text

    (result,) = results(catalog, packet(first), [{"handle": citation_handle(first), "quote": "Videos have no limit"}])

    assert (result["verdict"], result["span"]) == ("misattributed", None)


def test_a_stated_place_of_the_passage_that_holds_other_words_is_misquoted(catalog: Catalog) -> None:
    """The quote stands elsewhere in the very passage that is cited: nothing else was meant."""
    note = units(catalog, "NOTE")[0]
    occurrence = {"handle": citation_handle(note), "quote": "99 MB", "span": [0, 5]}

    assert results(catalog, packet(note), [occurrence])[0]["verdict"] == "misquoted"


def test_a_quote_across_two_neighbouring_passages_is_misquoted(catalog: Catalog) -> None:
    first, second = units(catalog, "RULE")[:2]
    seam = first.text[-12:] + second.text[:12]

    (result,) = results(catalog, packet(first, second), [{"handle": citation_handle(first), "quote": seam}])

    assert result["verdict"] == "misquoted"


def test_a_quote_of_the_older_revision_under_the_newer_handle_is_never_valid(catalog: Catalog) -> None:
    extend(
        catalog,
        [record("NOTE", "Staff may send files of 50 MB.", tenant="blue", revision="2", access={"roles": ["staff"]})],
    )
    old, new = units(catalog, "NOTE")[0], units(catalog, "NOTE", revision="2")[0]
    occurrence = {"handle": citation_handle(new), "quote": "files of 99 MB"}

    assert results(catalog, packet(new), [occurrence])[0]["verdict"] == "misquoted"
    assert results(catalog, packet(new, old, use="historical"), [occurrence])[0]["verdict"] == "misattributed"


def test_a_superseded_passage_is_no_longer_eligible_unless_the_packet_is_historical(catalog: Catalog) -> None:
    old = units(catalog, "NOTE")[0]
    extend(
        catalog,
        [
            record(
                "NOTE",
                "Staff may send files of 50 MB.",
                tenant="blue",
                revision="2",
                effective_from="2026-03-01T00:00:00Z",
                access={"roles": ["staff"]},
            )
        ],
    )

    assert verdict(catalog, old) == "no-longer-eligible"
    assert verdict(catalog, old, use="historical") == "valid"
    assert verdict(catalog, old, as_of="2026-02-01T00:00:00Z") == "valid"


def test_a_deleted_a_relabelled_and_a_revoked_passage_are_no_longer_eligible(catalog: Catalog) -> None:
    limit, note, part = (units(catalog, source_id)[0] for source_id in ("RULE", "NOTE", "PART"))
    assert [verdict(catalog, unit) for unit in (limit, note, part)] == ["valid"] * 3

    catalog.revoke(limit.key.revision_key)
    catalog.relabel(SourceKey(BLUE, "NOTE"), Label(namespace=BLUE, roles=("board",)))
    catalog.delete(SourceKey(BLUE, "PART"))

    assert [verdict(catalog, unit) for unit in (limit, note, part)] == ["no-longer-eligible"] * 3


def test_a_role_that_was_revoked_takes_the_passage_with_it(catalog: Catalog) -> None:
    note = units(catalog, "NOTE")[0]

    catalog.revoke(Grant(BLUE, "ann", Dimension.ROLE, "staff"))

    assert verdict(catalog, note) == "no-longer-eligible"


def test_a_subject_that_was_revoked_gets_no_verdict(catalog: Catalog) -> None:
    note = units(catalog, "NOTE")[0]
    catalog.revoke(Subject(BLUE, "ann"))

    with pytest.raises(Unauthenticated):
        verdict(catalog, note)


def test_the_purpose_of_the_packet_must_be_granted_and_said_again(catalog: Catalog) -> None:
    """R1: a passage for one purpose is no evidence for none."""
    plan = units(catalog, "PLAN")[0]

    assert verdict(catalog, plan, purpose="repair") == "valid"
    assert verdict(catalog, plan) == "no-longer-eligible"
    with pytest.raises(Forbidden):
        verdict(catalog, plan, purpose="audit")


def test_what_applies_to_another_subject_is_no_longer_eligible(catalog: Catalog) -> None:
    part = units(catalog, "PART")[0]

    assert verdict(catalog, part, subject="k1") == "valid"
    assert verdict(catalog, part, subject="k2") == "no-longer-eligible"


def test_another_tenants_passage_looks_like_one_that_never_was(catalog: Catalog) -> None:
    """R7, R33: in the packet or not, quoted rightly or not, of the asked claim type or not."""
    foreign = units(catalog, "RULE", namespace="red")[0]
    unreal = replace(foreign, text=foreign.text, start=foreign.start + 1, end=foreign.end + 1)
    handles = citation_handle(foreign), citation_handle(unreal)
    assert verdict(catalog, foreign, who=principal("red")) == "valid"

    def seen(handle: str, item: dict[str, Any] | None) -> list[dict[str, Any]]:
        own = shown(units(catalog, "NOTE")[0])
        evidence = [own] if item is None else [own, item]
        occurrences = [
            {"handle": handle},
            {"handle": handle, "quote": "limited to 7 MB"},
            {"handle": handle, "quote": "nothing of the kind", "claim_type": "limit"},
            {"handle": own["handle"], "quote": "limited to 7 MB"},
        ]
        found = results(catalog, {"evidence": evidence}, occurrences)
        return [{**result, "handle": "H" if result["handle"] == handle else "own"} for result in found]

    assert seen(handles[0], shown(foreign)) == seen(handles[1], shown(unreal))
    assert seen(handles[0], None) == seen(handles[1], None)
    assert [result["verdict"] for result in seen(handles[0], shown(foreign))] == ["no-longer-eligible"] * 3 + [
        "misquoted"
    ]


def test_a_packet_that_was_edited_gains_nothing(catalog: Catalog) -> None:
    """The packet is the caller's word: what it shows is held against the catalog."""
    note = units(catalog, "NOTE")[0]
    forged = {**shown(note), "text": "Staff may send files of 900 MB."}
    occurrence = {"handle": citation_handle(note), "quote": "files of 900 MB"}

    (result,) = results(catalog, {"evidence": [forged]}, [occurrence])

    assert result["verdict"] == "misattributed"


def test_a_packet_of_a_moment_to_come_is_refused(catalog: Catalog) -> None:
    with pytest.raises(Invalid, match=r"\$\.packet\.as_of"):
        results(catalog, packet(as_of="2026-06-01T00:00:01Z"), [])


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"occurrences": []}, "$.packet"),
        ({"packet": {}, "occurrences": []}, "$.packet.evidence"),
        ({"packet": {"evidence": [{"handle": "x"}]}, "occurrences": []}, "$.packet.evidence[0].namespace"),
        ({"packet": {"evidence": []}, "occurrences": [{"handle": 7}]}, "$.occurrences[0].handle"),
        ({"packet": {"evidence": []}, "occurrences": [{"handle": "x", "page": 7}]}, "$.occurrences[0].page"),
        ({"packet": {"evidence": []}, "occurrences": [{"handle": "x", "span": [4, 3]}]}, "$.occurrences[0].span"),
        ({"packet": {"evidence": []}, "occurrences": [{"handle": "x", "quote": "\x00"}]}, "$.occurrences[0].quote"),
        ({"packet": {"evidence": []}, "occurrences": [{"handle": "x"}] * 257}, "$.occurrences"),
        ({"packet": {"evidence": [], "use": "any"}, "occurrences": []}, "$.packet.use"),
        ({"packet": {"evidence": [], "as_of": "now"}, "occurrences": []}, "$.packet.as_of"),
    ],
)
def test_a_body_outside_the_schema_is_refused_with_its_place(body: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(body, CitationRequest)

    assert refused.value.path == path


def test_the_largest_request_is_answered_in_seconds(catalog: Catalog) -> None:
    """As many citations as one request may hold, each of a long quote that stands nowhere, beside a packet of
    thousands of passages."""
    first = units(catalog, "RULE")[0]
    quote = "a" * 2000 + "b"
    crowd = [{**shown(first), "handle": f"EV-{number:016d}"} for number in range(5000)]
    occurrences = [{"handle": citation_handle(first), "quote": quote}] * 256

    found = results(catalog, {"evidence": [shown(first), *crowd]}, occurrences)

    assert {result["verdict"] for result in found} == {"misquoted"}


def test_native_citations_are_read_into_what_validation_takes(catalog: Catalog) -> None:
    """R34: from the provider's answer to the verdict."""
    note = units(catalog, "NOTE")[0]
    cited_from = packet(note)
    block = {
        "type": "text",
        "text": "Up to 99 MB.",
        "citations": [{"type": "search_result_location", "source": citation_handle(note), "cited_text": note.text}],
    }

    native = read_native(
        parse({"adapter": "anthropic", "packet": cited_from, "answer": {"content": [block]}}, NativeRequest)
    )

    NativeAnswer.model_validate(native)
    (result,) = results(catalog, cited_from, native["occurrences"])  # type: ignore[arg-type]  # the shape was checked
    assert (result["verdict"], result["span"]) == ("valid", [note.start, note.end])


def test_an_answer_of_another_shape_is_refused_with_its_place() -> None:
    body = {"adapter": "anthropic", "packet": {"evidence": []}, "answer": {"content": "text"}}

    with pytest.raises(Invalid) as refused:
        read_native(parse(body, NativeRequest))

    assert refused.value.path == "$.answer.content"


def test_a_moment_is_judged_as_the_clock_says(catalog: Catalog) -> None:
    extend(catalog, [record("SOON", "From July on.", tenant="blue", effective_from="2026-07-01T00:00:00Z")])
    soon = units(catalog, "SOON")[0]
    request = parse({"packet": packet(soon), "occurrences": [{"handle": citation_handle(soon)}]}, CitationRequest)

    assert verdict(catalog, soon) == "no-longer-eligible"
    later: Any = validate_citations(catalog, request, ANN, now=parse_instant("2026-07-01T00:00:00Z"))
    assert later["results"][0]["verdict"] == "valid"
