"""Tests of `evidence/packet.py`: the semantic packet, the same for every adapter."""

from evidence.coverage import Coverage
from evidence.eligibility import Use
from evidence.packet import evidence_item, packet_record
from evidence.request import Strategy
from evidence.state import SupportRole
from tests.builders import candidate, eligibility, instant, principal, request, revision
from tests.evidence.answers import holding
from tests.evidence.disputes import conflicts, saying

NOTHING_ASKED = Coverage(roles=(), exhaustive=False, prohibited_claims=())


def test_an_item_says_whose_passage_it_is_how_it_stands_and_what_it_may_not_do() -> None:
    found = candidate(revision("A", "2", title="Uploads", namespace="public"), "at most 25", start=7)

    item = evidence_item(found, handle="EV-1", support_role=SupportRole.SUPPORTING, group=None)
    assert item == {
        "handle": "EV-1",
        "namespace": "public",
        "source_id": "A",
        "revision": "2",
        "title": "Uploads",
        "heading": [],
        "span": [7, 17],
        "status": "current",
        "support_role": "supporting",
        "conflict_group": None,
        "trust": "untrusted-retrieved-data",
        "text": "at most 25",
    }


def test_an_item_of_a_group_names_the_group() -> None:
    one, other = saying("A", "25"), saying("B", "30")
    (group,) = conflicts([one], other).groups

    item = evidence_item(one, handle="EV-1", support_role=SupportRole.CONFLICTING, group=group)
    assert item["conflict_group"] == group.id


def test_a_packet_says_what_was_asked_of_which_catalog() -> None:
    asked = eligibility(principal(None), use=Use.HISTORICAL, as_of=instant("2025-03-01"))
    seen = holding([], asked=asked)

    packet = packet_record(
        request(strategy=Strategy.BROAD), [], snapshot=seen, coverage=NOTHING_ASKED, groups=(), handles={}, cut=True
    )
    assert packet == {
        "schema": "muniment.packet/1",
        "catalog_version": seen.catalog_version,
        "namespace": "public",
        "strategy": "broad",
        "as_of": "2025-03-01T00:00:00Z",
        "use": "historical",
        "evidence": [],
        "cut": True,
        "conflict_groups": [],
        "coverage": {"roles": [], "exhaustive": False, "prohibited_claims": []},
    }


def test_a_group_shows_the_handles_that_are_in_the_packet_and_says_when_it_was_left_out() -> None:
    """R19."""
    one, other = saying("B", "25", owner="ann"), saying("A", "30", owner="bob")
    (group,) = conflicts([one], other).groups

    def shown(handles: dict[object, str]) -> object:
        packet = packet_record(
            request(),
            [],
            snapshot=holding([one, other]),
            coverage=NOTHING_ASKED,
            groups=[group],
            handles=handles,  # type: ignore[arg-type]  # keys of units, whose type plays no part here
            cut=False,
        )
        return packet["conflict_groups"]

    told = {"id": group.id, "key": "max", "keys": ["max"], "owners": ["ann", "bob"], "resolution": None}
    assert shown({one.unit.key: "EV-1", other.unit.key: "EV-2"}) == [{**told, "handles": ["EV-1", "EV-2"]}]
    assert shown({}) == [{**told, "handles": [], "left_out": True}]
