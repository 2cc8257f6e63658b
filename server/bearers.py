"""Who bears this token, and what of its grants is left?

The signature of a genuine token is checked once. That it is of the key at hand, that its time has come and not passed,
and what was revoked meanwhile by whichever process, is looked at for every request (R1). Of a token that was refused
nothing is kept.
"""

import hashlib
from collections.abc import Mapping

from evidence.access import Principal
from evidence.grants import Revocations
from index.recent import Recent
from server.keys import SigningKey
from server.scope import principal_of_claims, still_granted
from server.tokens import genuine_claims, require_in_force

TOKENS_KEPT = 512  # a token has at most 8 KB


class Bearer:
    """The bearer of one genuine token."""

    def __init__(self, claims: Mapping[str, object]) -> None:
        """Raises Unauthenticated where the claims name no principal."""
        self.claims = claims
        self._named = principal_of_claims(claims)
        self._left: tuple[Revocations, Principal] | None = None

    def less(self, revocations: Revocations) -> Principal:
        """The principal less what was revoked. Raises Unauthenticated when nothing is left of it."""
        left = self._left
        if left is None or left[0] is not revocations:  # the very same revocations take the very same away
            left = self._left = revocations, still_granted(self._named, revocations)
        return left[1]


class Bearers:
    """Recognizes tokens that it has seen. Shared by the requests of a process."""

    def __init__(self) -> None:
        self._known: Recent[tuple[str, bytes], Bearer] = Recent(TOKENS_KEPT)

    def recognize(self, token: str, *, key: SigningKey, now_s: int) -> Bearer:
        """The bearer of a token that is in force at `now_s`. Raises Unauthenticated.

        What is kept is found by the key, which its own digest names, and by a digest over every byte of the token.
        """
        name = key.key_id, hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        known = self._known.get(name)
        bearer = Bearer(genuine_claims(token, key=key)) if known is None else known
        require_in_force(bearer.claims, key=key, now_s=now_s)
        if known is None:
            self._known.put(name, bearer)
        return bearer
