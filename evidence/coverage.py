"""Which of the required roles does the chosen evidence fill, and what is missing? (pure)

Coverage says nothing about size or rank (R20). It is judged for the units that are really handed over: a unit that
was dropped for space fills no role.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from evidence.canonical import Json
from evidence.envelope import Candidate
from evidence.requirements import ClaimMatch, Requirement, is_disconfirmed_by, is_filled_by, matching_revisions
from evidence.snapshot import Snapshot
from evidence.state import RoleState, SupportRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How the requirements and the whole selection meet, before anything is dropped.

    fillers[r]: the positions in the selection of the units that fill requirement r, ascending.
    otherwise[r]: the state of role r in a packet that holds none of them.
    roles[p]: the roles that the unit at position p fills, in the order of the request.
    support_roles[p]: what that unit does.
    mandatory, conditional: the positions of the units that fill a mandatory role; that fill other roles only.
    """

    requirements: tuple[Requirement, ...]
    fillers: tuple[tuple[int, ...], ...]
    otherwise: tuple[RoleState, ...]
    roles: tuple[tuple[str, ...], ...]
    support_roles: tuple[SupportRole, ...]
    mandatory: frozenset[int]
    conditional: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCoverage:
    """One role: its state, and the handles of the included units that fill it, in the order of the evidence."""

    role: str
    mandatory: bool
    state: RoleState
    handles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a packet covers. Roles are in the order of the request, prohibited claims in code-point order.

    exhaustive: whether the packet holds every unit that this caller may use.
    prohibited_claims: the claim keys asked for that no included unit bears out, so that nothing may be claimed.
    """

    roles: tuple[RoleCoverage, ...]
    exhaustive: bool
    prohibited_claims: tuple[str, ...]

    def mandatory_states(self) -> list[RoleState]:
        return [role.state for role in self.roles if role.mandatory]

    def record(self) -> dict[str, Json]:
        return {
            "roles": [
                {"role": role.role, "state": role.state.value, "handles": list(role.handles)} for role in self.roles
            ],
            "exhaustive": self.exhaustive,
            "prohibited_claims": list(self.prohibited_claims),
        }


def assess(requirements: tuple[Requirement, ...], selection: Sequence[Candidate], *, snapshot: Snapshot) -> Assessment:
    """Look each requirement up in the selection, and then in everything visible."""
    filled = [
        tuple(requirement for requirement in requirements if is_filled_by(requirement.match, candidate))
        for candidate in selection
    ]
    return Assessment(
        requirements=requirements,
        fillers=tuple(
            tuple(position for position, by_unit in enumerate(filled) if requirement in by_unit)
            for requirement in requirements
        ),
        otherwise=tuple(_state_when_unfilled(requirement, snapshot) for requirement in requirements),
        roles=tuple(tuple(requirement.role for requirement in by_unit) for by_unit in filled),
        support_roles=tuple(
            _support_role(candidate, requirements, fills=bool(by_unit))
            for candidate, by_unit in zip(selection, filled, strict=True)
        ),
        mandatory=frozenset(p for p, by_unit in enumerate(filled) if any(role.mandatory for role in by_unit)),
        conditional=frozenset(
            p for p, by_unit in enumerate(filled) if by_unit and not any(role.mandatory for role in by_unit)
        ),
    )


def cover(assessment: Assessment, kept: Collection[int], *, handles: Sequence[str], usable_units: int) -> Coverage:
    """The coverage of a packet that holds the positions `kept` of the selection; `handles` is by position."""
    included = frozenset(kept)
    roles = tuple(
        _role_coverage(requirement, [position for position in fillers if position in included], otherwise, handles)
        for requirement, fillers, otherwise in zip(
            assessment.requirements, assessment.fillers, assessment.otherwise, strict=True
        )
    )
    asked, allowed = set(), set()
    for requirement, role in zip(assessment.requirements, roles, strict=True):
        if isinstance(requirement.match, ClaimMatch):
            asked.add(requirement.match.key)
            if role.state is RoleState.FILLED:
                allowed.add(requirement.match.key)
    return Coverage(
        roles=roles, exhaustive=len(included) == usable_units, prohibited_claims=tuple(sorted(asked - allowed))
    )


def _role_coverage(
    requirement: Requirement, filling: list[int], otherwise: RoleState, handles: Sequence[str]
) -> RoleCoverage:
    return RoleCoverage(
        role=requirement.role,
        mandatory=requirement.mandatory,
        state=RoleState.FILLED if filling else otherwise,
        handles=tuple(handles[position] for position in filling),
    )


def _state_when_unfilled(requirement: Requirement, snapshot: Snapshot) -> RoleState:
    matching = list(matching_revisions(requirement.match, snapshot))
    if any(snapshot.is_usable(key) for key in matching):
        return RoleState.NOT_SELECTED
    return RoleState.STALE if any(snapshot.is_stale(key) for key in matching) else RoleState.ABSENT


def _support_role(candidate: Candidate, requirements: Sequence[Requirement], *, fills: bool) -> SupportRole:
    """A unit that contradicts an expected value is shown as such even where it fills another role: the handles of
    the roles tell what it fills, and nothing else would tell that it disagrees."""
    if any(is_disconfirmed_by(requirement.match, candidate) for requirement in requirements):
        return SupportRole.DISCONFIRMING
    return SupportRole.SUPPORTING if fills else SupportRole.BACKGROUND
