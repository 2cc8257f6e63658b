"""Tests of `server/recalling.py`: who sees a record again, and when it looks like one that never was (R35)."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from evidence.access import Label, Principal
from evidence.canonical import Json, digest, digest_text
from evidence.grants import Dimension, Grant, Subject
from evidence.identity import PUBLIC, Namespace, UnitKey
from evidence.requirements import UnitMatch
from index.catalog import Catalog
from index.errors import DamagedRecords
from server.errors import NotFound
from server.recalling import audit, own_manifest, query_code_of
from server.record_schemas import AuditQuery
from server.recording import Recorder
from tests.builders import BLUE, NOW, claim, principal, requires, source
from tests.index.catalog_builders import catalog, revision
from tests.server.recorded import answer, keep, recorder

ANN = principal(roles=["legal"], purposes=["care"])
RESTRICTED = UnitKey(BLUE, "restricted", "1", 0)
FOR_CARE = UnitKey(BLUE, "for-care", "1", 0)
OPEN = UnitKey(PUBLIC, "open", "1", 0)
FOREIGN = UnitKey(Namespace("red"), "foreign", "1", 0)


@pytest.fixture(name="held")
def fixture_held(tmp_path: Path) -> Iterator[Catalog]:
    revisions = [
        revision("restricted", "25 MB", namespace=BLUE, roles=["legal"]),
        revision("for-care", "a dose", namespace=BLUE, purposes=["care"]),
        revision("open", "in general"),
        revision("foreign", "99 MB", namespace=Namespace("red")),
    ]
    with catalog(tmp_path / "catalog", revisions) as made:
        yield made


@pytest.fixture(name="kept_by")
def fixture_kept_by(held: Catalog) -> Iterator[Recorder]:
    made = recorder(held.directory, held)
    with made.records:
        yield made


def recalled(kept_by: Recorder, held: Catalog, body: Mapping[str, Json], who: Principal) -> Any:
    """The manifest of `body` as `who` gets it again, or the text of the refusal."""
    try:
        return own_manifest(cast("str", body["packet_id"]), who, records=kept_by.records, catalog=held, now=NOW)
    except NotFound as refused:
        return refused.detail


NEVER = "no such manifest"


def test_the_caller_gets_their_own_manifest_again(kept_by: Recorder, held: Catalog) -> None:
    body = answer(RESTRICTED, OPEN)
    keep(kept_by, body, ANN)

    assert recalled(kept_by, held, body, ANN) == body["manifest"]


@pytest.mark.parametrize(
    "who",
    [
        principal(sub="bob", roles=["legal"], purposes=["care"]),
        principal("red", roles=["legal"], purposes=["care"]),
        principal(None, roles=["legal"], purposes=["care"]),
        principal(sub="bob", scope=["audit", "search"]),
    ],
)
def test_nobody_else_gets_it(who: Principal, kept_by: Recorder, held: Catalog) -> None:
    body = answer(OPEN)
    keep(kept_by, body, ANN)

    assert recalled(kept_by, held, body, who) == NEVER


def test_it_is_gone_once_a_unit_in_it_is_no_longer_visible(kept_by: Recorder, held: Catalog) -> None:
    body = answer(OPEN, RESTRICTED)
    keep(kept_by, body, ANN)

    assert recalled(kept_by, held, body, principal(purposes=["care"])) == NEVER


TAKEN_AWAY: dict[str, Callable[[Catalog], object]] = {
    "role of the caller revoked": lambda held: held.revoke(Grant(BLUE, "ann", Dimension.ROLE, "legal")),
    "caller revoked": lambda held: held.revoke(Subject(BLUE, "ann")),
    "source deleted": lambda held: held.delete(RESTRICTED.revision_key.source),
    "source relabelled": lambda held: held.relabel(
        RESTRICTED.revision_key.source, Label(namespace=BLUE, roles=("auditor",))
    ),
}


@pytest.mark.parametrize("take_away", TAKEN_AWAY.values(), ids=TAKEN_AWAY)
def test_it_is_gone_as_soon_as_a_unit_in_it_is_taken_away(
    take_away: Callable[[Catalog], object], kept_by: Recorder, held: Catalog
) -> None:
    """R35, by the live authority, whatever the credentials still say."""
    body, other = answer(OPEN, RESTRICTED), answer(OPEN)
    for one in (body, other):
        keep(kept_by, one, ANN)
    assert recalled(kept_by, held, body, ANN) == body["manifest"]
    take_away(held)

    assert recalled(kept_by, held, body, ANN) == NEVER


def test_a_revoked_revision_is_still_visible_so_that_what_was_told_of_it_is_too(
    kept_by: Recorder, held: Catalog
) -> None:
    """R35 asks for visible, not for usable: whoever its label admits is told that it was revoked (R16)."""
    body = answer(OPEN, RESTRICTED)
    keep(kept_by, body, ANN)
    held.revoke(RESTRICTED.revision_key)

    assert recalled(kept_by, held, body, ANN) == body["manifest"]


@pytest.mark.parametrize(
    "body",
    [
        answer(OPEN, stale=[RESTRICTED.revision_key]),
        answer(OPEN, contradicts=[("blue", "restricted")]),
        answer(UnitKey(PUBLIC, "open", "1", 1)),  # the source has one unit
        answer(UnitKey(PUBLIC, "open", "2", 0)),  # and one revision
        answer(OPEN, text_digests={OPEN.revision_key: digest_text("other words")}),
        answer(FOREIGN),
    ],
)
def test_it_is_gone_once_anything_it_names_is_not_there_for_the_caller(
    body: Mapping[str, Json], kept_by: Recorder, held: Catalog
) -> None:
    keep(kept_by, body, principal())

    assert recalled(kept_by, held, body, principal()) == NEVER


def test_what_it_names_and_is_visible_keeps_it(kept_by: Recorder, held: Catalog) -> None:
    body = answer(
        OPEN,
        stale=[RESTRICTED.revision_key],
        contradicts=[("blue", "restricted")],
        text_digests={OPEN.revision_key: digest_text("in general")},
    )
    keep(kept_by, body, ANN)

    assert recalled(kept_by, held, body, ANN) == body["manifest"]


def test_the_packets_purpose_must_still_be_granted(kept_by: Recorder, held: Catalog) -> None:
    bodies = [answer(FOR_CARE, purpose="care"), answer(OPEN, purpose="care"), answer(purpose="care")]
    for body in bodies:
        keep(kept_by, body, ANN)

    assert [recalled(kept_by, held, body, ANN) for body in bodies] == [body["manifest"] for body in bodies]
    assert [recalled(kept_by, held, body, principal(roles=["legal"])) for body in bodies] == [NEVER] * 3


def test_a_purpose_that_the_packet_was_not_asked_for_shows_nothing_more(kept_by: Recorder, held: Catalog) -> None:
    body = answer(FOR_CARE)
    keep(kept_by, body, ANN)

    assert recalled(kept_by, held, body, ANN) == NEVER


def test_a_manifest_that_was_changed_in_the_file_is_damage_and_no_answer(kept_by: Recorder, held: Catalog) -> None:
    body, other = answer(OPEN), answer(OPEN, query="another")
    for one in (body, other):
        keep(kept_by, one, ANN)
    with kept_by.records.writing() as connection:
        connection.exec_driver_sql("UPDATE manifest SET body = (SELECT body FROM manifest WHERE number = 2)")

    with pytest.raises(DamagedRecords, match="does not match its packet id"):
        recalled(kept_by, held, body, ANN)


# Audit


BLUE_AUDITOR = principal(sub="eve", scope=["audit"])
AUDITOR = principal(None, sub="eve", scope=["audit"])


def audited(kept_by: Recorder, packet_id: str, who: Principal, **query: Any) -> dict[str, Any]:
    return audit(packet_id, who, AuditQuery(**query), recorder=kept_by)


def test_an_auditor_reads_every_run_and_the_manifest_once(kept_by: Recorder) -> None:
    body = answer(RESTRICTED)
    for request_id in ("r-1", "r-2"):
        packet_id = keep(kept_by, body, ANN, request_id=request_id)

    for who in (BLUE_AUDITOR, AUDITOR):
        read = audited(kept_by, packet_id, who)
        assert [run["request_id"] for run in read["runs"]] == ["r-1", "r-2"]
        assert read["manifest"] == body["manifest"]
        assert read["next"] is None


def test_another_tenants_packet_looks_to_an_auditor_like_one_that_never_was(kept_by: Recorder) -> None:
    packet_id = keep(kept_by, answer(OPEN), ANN)
    red = principal("red", scope=["audit"])

    assert audited(kept_by, packet_id, red) == audited(kept_by, digest("never"), red)
    assert audited(kept_by, packet_id, red)["runs"] == []


def test_runs_are_read_page_by_page(kept_by: Recorder) -> None:
    for number in range(3):
        packet_id = keep(kept_by, answer(OPEN), ANN, request_id=f"r-{number}")

    first = audited(kept_by, packet_id, AUDITOR, limit=2)
    assert ([run["request_id"] for run in first["runs"]], first["next"]) == (["r-0", "r-1"], "r-1")
    rest = audited(kept_by, packet_id, AUDITOR, limit=2, after=first["next"])
    assert ([run["request_id"] for run in rest["runs"]], rest["next"]) == (["r-2"], None)


def test_the_sealed_record_says_unauthorized_where_the_caller_reads_absent(kept_by: Recorder) -> None:
    """R7: and a tenant's auditor reads of their own tenant and of public sources only."""
    body = answer(roles={"own": "absent", "foreign": "absent"})
    requirements = [
        requires("own", source("restricted")),
        requires("foreign", UnitMatch(unit_id="red/foreign@1#0")),
        requires("nothing", claim("no such claim")),
    ]
    packet_id = keep(kept_by, body, principal(), requirements)

    for who, roles in ((AUDITOR, ["own", "foreign"]), (BLUE_AUDITOR, ["own"])):
        (run,) = audited(kept_by, packet_id, who)["runs"]
        assert [finding["role"] for finding in run["unauthorized"]] == roles
        assert {finding["reason"] for finding in run["unauthorized"]} == {"unauthorized"}


def test_the_audit_says_what_retention_removed(held: Catalog) -> None:
    kept_by = recorder(held.directory, held, max_runs=1)
    with kept_by.records:
        gone = keep(kept_by, answer(OPEN), ANN)
        keep(kept_by, answer(OPEN, query="another"), ANN)
        kept_by.prune()

        read = audited(kept_by, gone, BLUE_AUDITOR)
        assert (read["runs"], read["manifest"]) == ([], None)
        assert (read["retention"]["removed_runs"], read["retention"]["removed_up_to"]) == (1, "2025-06-01T00:00:00Z")
        red = audited(kept_by, gone, principal("red", scope=["audit"]))
        assert red["retention"]["removed_runs"] == 0


def test_a_replay_starts_from_the_code_that_the_latest_run_kept(kept_by: Recorder) -> None:
    """R10."""
    packet_id = keep(kept_by, answer(OPEN), ANN)

    assert query_code_of(packet_id, ANN, records=kept_by.records) == b"\x01\xff"
    assert query_code_of(packet_id, principal("red"), records=kept_by.records) is None
    assert query_code_of(digest("never"), ANN, records=kept_by.records) is None
