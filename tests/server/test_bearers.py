"""Tests of `server/bearers.py`: a signature is checked once, everything else each time (R1)."""

from pathlib import Path

import pytest

from evidence.grants import Dimension, Grant, Revocations, Subject, Token
from evidence.identity import Namespace
from server import bearers as module
from server.bearers import TOKENS_KEPT, Bearers
from server.errors import Unauthenticated
from server.keys import SigningKey, create_key
from server.tokens import LEEWAY_S, genuine_claims, issue
from tests.worlds import principal

NOW_S = 1_800_000_000
BLUE = Namespace("blue")
ANN = principal("blue", roles=("technician",), scope=("ingest", "search"))
NOTHING = Revocations()


@pytest.fixture(name="key")
def fixture_key(tmp_path: Path) -> SigningKey:
    return create_key(tmp_path)


@pytest.fixture(name="checked")
def fixture_checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens whose signature was looked at."""
    seen: list[str] = []

    def counted(token: str, *, key: SigningKey) -> object:
        seen.append(token)
        return genuine_claims(token, key=key)

    monkeypatch.setattr(module, "genuine_claims", counted)
    return seen


def token_of(key: SigningKey, *, lifetime_s: int = 60) -> str:
    return issue(ANN, key=key, now_s=NOW_S, lifetime_s=lifetime_s)


def test_the_signature_of_a_genuine_token_is_checked_once(key: SigningKey, checked: list[str]) -> None:
    bearers, token = Bearers(), token_of(key)

    for _ in range(3):
        assert bearers.recognize(token, key=key, now_s=NOW_S).less(NOTHING).roles == ("technician",)
    assert checked == [token]


def test_a_token_that_is_known_ends_at_its_expiry_and_the_stated_leeway(key: SigningKey) -> None:
    bearers, token = Bearers(), token_of(key)
    bearers.recognize(token, key=key, now_s=NOW_S)

    bearers.recognize(token, key=key, now_s=NOW_S + 59 + LEEWAY_S)
    with pytest.raises(Unauthenticated):
        bearers.recognize(token, key=key, now_s=NOW_S + 60 + LEEWAY_S)
    bearers.recognize(token, key=key, now_s=NOW_S)


def test_a_token_that_is_known_is_none_of_another_key(key: SigningKey, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = create_key(tmp_path / "other")
    bearers, token = Bearers(), token_of(key)
    bearers.recognize(token, key=key, now_s=NOW_S)

    with pytest.raises(Unauthenticated):
        bearers.recognize(token, key=other, now_s=NOW_S)


def test_no_single_changed_character_passes_beside_a_token_that_is_known(key: SigningKey) -> None:
    bearers, token = Bearers(), token_of(key)
    bearers.recognize(token, key=key, now_s=NOW_S)

    for place in range(0, len(token) - 1, 7):  # the last character of a base64url signature holds unused bits
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        with pytest.raises(Unauthenticated):
            bearers.recognize(changed, key=key, now_s=NOW_S)


def test_a_revocation_counts_for_a_token_that_is_known(key: SigningKey) -> None:
    bearers, token = Bearers(), token_of(key)
    bearer = bearers.recognize(token, key=key, now_s=NOW_S)
    whole = bearer.less(NOTHING)
    token_id = whole.token_id
    assert token_id is not None

    for gone in (
        Revocations(subjects=frozenset({Subject(BLUE, "ann")})),
        Revocations(token_ids=frozenset({Token(BLUE, token_id)})),
    ):
        with pytest.raises(Unauthenticated):
            bearers.recognize(token, key=key, now_s=NOW_S).less(gone)
    role = Revocations(grants=frozenset({Grant(BLUE, "ann", Dimension.ROLE, "technician")}))
    assert bearers.recognize(token, key=key, now_s=NOW_S).less(role).roles == ()
    assert bearers.recognize(token, key=key, now_s=NOW_S).less(NOTHING) == whole


def test_of_a_token_that_was_refused_nothing_is_kept(key: SigningKey, checked: list[str]) -> None:
    bearers, late = Bearers(), token_of(key, lifetime_s=-3600)

    for token in ("a.b.c", late, "\ud800", "é"):
        for _ in range(2):
            with pytest.raises(Unauthenticated):
                bearers.recognize(token, key=key, now_s=NOW_S)
    assert checked == [token for token in ("a.b.c", late, "\ud800", "é") for _ in range(2)]


def test_the_tokens_that_are_kept_are_few(key: SigningKey, checked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOKENS_KEPT", 2)
    bearers = Bearers()
    first, second, third = (token_of(key) for _ in range(3))

    for token in (first, second, third, first):
        bearers.recognize(token, key=key, now_s=NOW_S)
    assert checked == [first, second, third, first]
    assert TOKENS_KEPT < 1000
