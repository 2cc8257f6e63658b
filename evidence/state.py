"""What does the evidence amount to, and what may be done with it? (pure)

Every word of an answer's outcome is listed here. A new one makes each `match` on its type fail to type-check
until somebody has decided what it means there.
"""

from collections.abc import Sequence
from enum import StrEnum


class State(StrEnum):
    """What the packet's evidence amounts to, in the order of precedence of R28."""

    CONFLICTING = "conflicting"
    STALE = "stale"  # only stale evidence fills a mandatory role
    ABSENT = "absent"  # no mandatory role is filled, or nothing is included
    PARTIAL = "partial"  # some mandatory roles are filled
    SUPPORTED = "supported"  # all mandatory roles are filled
    UNASSESSED = "unassessed"  # evidence is included, and nothing was required of it


class Behaviour(StrEnum):
    """What the receiver should do; the query class decides it from the state."""

    ANSWER = "answer"
    PARTIAL = "partial"
    ABSTAIN = "abstain"
    ESCALATE = "escalate"
    FAIL_CLOSED = "fail-closed"


class Disposition(StrEnum):
    """How the request ended. All of them are answers with a manifest; abstaining is `accepted`."""

    ACCEPTED = "accepted"
    REFUSED_BUDGET = "refused-budget"
    STALE_VERSION = "stale-version"  # the request demanded another catalog version
    ROUTE_FAILED = "route-failed"  # the fixed slots do not fit
    FAILED_CLOSED = "failed-closed"  # the scope kept changing while the packet was made


class Reason(StrEnum):
    """Why a passage, revision or role is in, or out (R16)."""

    INCLUDED = "included"
    OMITTED_BUDGET = "omitted-budget"
    OMITTED_DUPLICATE = "omitted-duplicate"
    OMITTED_POLICY = "omitted-policy"
    STALE = "stale"
    CONFLICTING = "conflicting"
    OVERRULED = "overruled"
    NOT_SELECTED = "not-selected"
    ABSENT = "absent"
    UNAUTHORIZED = "unauthorized"  # the sealed record only: to a caller it looks like `absent` (R7)


class RoleState(StrEnum):
    """How a required role stands towards one packet (R20)."""

    FILLED = "filled"
    CONFLICTING = "conflicting"
    STALE = "stale"  # only a visible revision that may not be used now would fill it
    NOT_SELECTED = "not-selected"  # a usable unit would fill it, and is not in the packet
    ABSENT = "absent"


class SupportRole(StrEnum):
    """What an included unit does for the requirements (R20)."""

    SUPPORTING = "supporting"  # fills a role
    CONFLICTING = "conflicting"
    DISCONFIRMING = "disconfirming"  # makes the claim of a role with another value than expected
    BACKGROUND = "background"


def judge_state(
    mandatory_roles: Sequence[RoleState],
    *,
    includes_evidence: bool,
    conflicting: bool,
    exhaustive_asked: bool,
    exhaustive: bool,
) -> State:
    """The state of a packet, by the precedence of R28.

    `mandatory_roles` holds the state of each mandatory role. Where none is mandatory, nothing was required of the
    evidence: the state is then `unassessed` if anything is included, else `absent`.
    `conflicting`: whether the selection touches a conflict that nobody settled, packed or left out whole (R19).
    `exhaustive_asked`: whether the question is about all, or how many; it is never supported by less than everything
    that may be used (R36).

    >>> judge_state(
    ...     [RoleState.FILLED, RoleState.NOT_SELECTED],
    ...     includes_evidence=True,
    ...     conflicting=False,
    ...     exhaustive_asked=False,
    ...     exhaustive=False,
    ... )
    <State.PARTIAL: 'partial'>
    """
    if conflicting or RoleState.CONFLICTING in mandatory_roles:
        return State.CONFLICTING
    if RoleState.STALE in mandatory_roles:
        return State.STALE
    if not mandatory_roles:
        return State.UNASSESSED if includes_evidence else State.ABSENT
    filled = sum(role is RoleState.FILLED for role in mandatory_roles)
    if filled == 0:
        return State.ABSENT
    if filled < len(mandatory_roles) or (exhaustive_asked and not exhaustive):
        return State.PARTIAL
    return State.SUPPORTED
