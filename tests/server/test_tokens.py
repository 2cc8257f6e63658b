"""Tests of `server/tokens.py` and `server/keys.py`."""

import base64
import json
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey

from evidence.access import Principal
from evidence.identity import Namespace
from server.errors import StartError, Unauthenticated
from server.keys import KEY_FILE, SigningKey, create_key, load_key
from server.tokens import LEEWAY_S, issue, verify

NOW_S = 1_800_000_000
BLUE = Principal(sub="ann", tenant=Namespace("blue"), roles=("technician",), scope=("search", "ingest"))


@pytest.fixture(name="key")
def fixture_key(tmp_path: Path) -> SigningKey:
    return create_key(tmp_path)


def forge(key: SigningKey, *, header: Mapping[str, object] = {}, changes: Mapping[str, object] = {}) -> str:
    """A token signed with the real key whose claims or header differ from a good one's; None removes a claim."""
    claims: dict[str, object] = {
        "iss": key.issuer,
        "aud": "muniment",
        "sub": "ann",
        "iat": NOW_S,
        "exp": NOW_S + 60,
        "tenant": "blue",
        **changes,
    }
    head = {"alg": "Ed25519", "typ": "JWT", "kid": key.key_id, **header}
    kept = {name: value for name, value in claims.items() if value is not None or name == "tenant"}
    return jwt.encode(head, kept, key.key, algorithms=["Ed25519"])


def test_a_token_gives_back_the_principal_it_was_issued_for(key: SigningKey) -> None:
    claims = verify(issue(BLUE, key=key, now_s=NOW_S, lifetime_s=60), key=key, now_s=NOW_S)

    assert claims["sub"] == "ann"
    assert claims["tenant"] == "blue"
    assert claims["roles"] == ["technician"]
    assert claims["scope"] == "search ingest"


@pytest.mark.parametrize(("seconds", "admitted"), [(59 + LEEWAY_S, True), (60 + LEEWAY_S, False)])
def test_a_token_ends_at_its_expiry_and_the_stated_leeway(key: SigningKey, seconds: int, admitted: bool) -> None:
    token = issue(BLUE, key=key, now_s=NOW_S, lifetime_s=60)

    if admitted:
        verify(token, key=key, now_s=NOW_S + seconds)
    else:
        with pytest.raises(Unauthenticated):
            verify(token, key=key, now_s=NOW_S + seconds)


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "muniment:other"},
        {"iss": None},
        {"aud": "muniment2"},
        {"aud": ["muniment", "other"]},
        {"aud": None},
        {"exp": None},
        {"exp": str(NOW_S + 60)},
        {"exp": True},
        {"iat": None},
        {"iat": NOW_S + 61},
        {"nbf": NOW_S + 61},
        {"exp": NOW_S - LEEWAY_S},
    ],
    ids=str,
)
def test_a_genuine_signature_over_wrong_claims_is_refused(key: SigningKey, changes: dict[str, object]) -> None:
    token = forge(key, changes=changes)

    with pytest.raises(Unauthenticated):
        verify(token, key=key, now_s=NOW_S)


@pytest.mark.parametrize(
    "header",
    [{"kid": "other"}, {"typ": "at+jwt"}, {"jku": "https://example.invalid/keys"}, {"x5u": "https://example.invalid"}],
    ids=str,
)
def test_a_genuine_signature_under_a_wrong_header_is_refused(key: SigningKey, header: dict[str, object]) -> None:
    token = forge(key, header=header)

    with pytest.raises(Unauthenticated):
        verify(token, key=key, now_s=NOW_S)


def test_a_token_signed_with_the_public_key_as_a_shared_secret_is_refused(key: SigningKey) -> None:
    public = key.key.as_dict(private=False)["x"]
    assert isinstance(public, str)
    secret = OctKey.import_key(base64.urlsafe_b64decode(public + "="))
    claims = {"iss": key.issuer, "aud": "muniment", "sub": "ann", "iat": NOW_S, "exp": NOW_S + 60, "tenant": "blue"}
    token = jwt.encode({"alg": "HS256", "typ": "JWT", "kid": key.key_id}, claims, secret)

    with pytest.raises(Unauthenticated):
        verify(token, key=key, now_s=NOW_S)


def test_an_unsigned_token_is_refused(key: SigningKey) -> None:
    def part(record: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(record).encode()).rstrip(b"=").decode()

    claims: dict[str, object] = {"iss": key.issuer, "aud": "muniment", "sub": "ann", "iat": NOW_S, "exp": NOW_S + 60}

    for algorithm in ("none", "None", "Ed25519", "EdDSA"):
        with pytest.raises(Unauthenticated):
            verify(f"{part({'alg': algorithm, 'kid': key.key_id})}.{part(claims)}.", key=key, now_s=NOW_S)


def test_a_token_of_another_catalog_is_refused(key: SigningKey, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = create_key(tmp_path / "other")
    token = issue(BLUE, key=other, now_s=NOW_S, lifetime_s=60)

    with pytest.raises(Unauthenticated):
        verify(token, key=key, now_s=NOW_S)


def test_no_single_changed_character_passes(key: SigningKey) -> None:
    token = issue(BLUE, key=key, now_s=NOW_S, lifetime_s=60)

    for place in range(len(token) - 1):  # the last character of a base64url signature holds unused bits
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        with pytest.raises(Unauthenticated):
            verify(changed, key=key, now_s=NOW_S)


@pytest.mark.parametrize("token", ["", ".", "..", "a.b.c", "é.é.é", "A" * 9000, "." * 100, "{}.{}.{}"], ids=len)
def test_what_is_no_token_is_refused_calmly(key: SigningKey, token: str) -> None:
    with pytest.raises(Unauthenticated):
        verify(token, key=key, now_s=NOW_S)


def test_the_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    create_key(tmp_path)

    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600


def test_a_key_file_open_to_others_is_refused(tmp_path: Path) -> None:
    create_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o644)

    with pytest.raises(StartError, match="chmod 600"):
        load_key(tmp_path)


def test_a_missing_key_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="muniment init"):
        load_key(tmp_path)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / KEY_FILE
    path.parent.mkdir()
    path.write_text(json.dumps({"issuer": "x", "jwk": OKPKey.generate_key("X25519").as_dict(private=True)}))
    path.chmod(0o600)

    with pytest.raises(StartError, match="Ed25519"):
        load_key(tmp_path)


def test_a_second_key_never_replaces_the_first(tmp_path: Path) -> None:
    first = create_key(tmp_path)

    with pytest.raises(StartError):
        create_key(tmp_path)
    assert load_key(tmp_path).key_id == first.key_id
