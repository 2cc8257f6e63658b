"""Which key signs and checks this catalog's own tokens?

Each catalog has its own Ed25519 key (RFC 8037) and its own issuer name, made with it: a token of one
catalog is no token of another. The key file is readable by its owner alone.
"""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from joserfc.jwk import OKPKey

from server.errors import StartError

KEY_FILE = Path("keys") / "signing.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key pair bound to one algorithm, under the id and the issuer that tokens must carry."""

    key: OKPKey
    key_id: str
    issuer: str


def create_key(catalog: Path) -> SigningKey:
    """Make the catalog's key file (mode 600) and return the key. Raises StartError when one is there already."""
    path = catalog / KEY_FILE
    key = OKPKey.generate_key("Ed25519", {"use": "sig"})
    record = {"issuer": f"muniment:{secrets.token_hex(16)}", "jwk": key.as_dict(private=True)}
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise StartError(f"{KEY_FILE} is there already; a catalog keeps the key it was made with") from None
    with os.fdopen(descriptor, "w") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    return load_key(catalog)


def load_key(catalog: Path) -> SigningKey:
    """Read the catalog's key. Raises StartError when it is missing, unreadable, open to others or no Ed25519 key."""
    path = catalog / KEY_FILE
    try:
        mode = path.stat().st_mode
        record = json.loads(path.read_text())
        key = OKPKey.import_key(record["jwk"])
        issuer = record["issuer"]
    except FileNotFoundError:
        raise StartError(f"no signing key at {path}; `muniment init` makes one with the catalog") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise StartError(f"the signing key at {path} cannot be read") from None
    if mode & 0o077:
        raise StartError(f"{path} is open to others (mode {mode & 0o777:o}); run `chmod 600` on it")
    if key.get("crv") != "Ed25519" or not key.is_private or not isinstance(issuer, str):
        raise StartError(f"the signing key at {path} is no Ed25519 private key with an issuer")
    return SigningKey(key=key, key_id=key.thumbprint(), issuer=issuer)
