"""Which of the required roles does the chosen evidence fill, and what is missing? (pure)

Coverage says nothing about size or rank (R20). It is judged for the units that are really handed over: a unit that
was dropped for space fills no role. A unit in an open conflict fills a role only as a conflict; a claim that a rule
of the domain overrules fills nothing, while its unit still stands where a source, a family or a unit is asked for.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from evidence.canonical import Json
from evidence.conflict import ConflictGroup
from evidence.duplicates import Duplicate
from evidence.envelope import Candidate
from evidence.requirements import (
    ClaimMatch,
    Requirement,
    is_disconfirmed_by,
    is_filled_by,
    is_filled_outside,
    matching_revisions,
)
from evidence.snapshot import Snapshot
from evidence.state import RoleState, SupportRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """How the requirements and the whole selection meet, before anything is dropped.

    fillers[r]: the positions in the selection of the units that fill requirement r, ascending.
    otherwise[r]: the state of role r in a packet that holds the whole selection, where no unit of it fills the role.
    roles[p]: the roles that the unit at position p fills, in the order of the request.
    support_roles[p]: what that unit does.
    conflicting: the positions of the units in an open conflict.
    mandatory: the positions of the units that a mandatory requirement matches, overruled or not.
    """

    requirements: tuple[Requirement, ...]
    fillers: tuple[tuple[int, ...], ...]
    otherwise: tuple[RoleState, ...]
    roles: tuple[tuple[str, ...], ...]
    support_roles: tuple[SupportRole, ...]
    conflicting: frozenset[int]
    mandatory: frozenset[int]

    def open_roles(self) -> list[Requirement]:
        """The requirements that no unit of the selection fills, in the order of the request."""
        return [asked for asked, fillers in zip(self.requirements, self.fillers, strict=True) if not fillers]


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

    exhaustive: whether the packet holds every unit that this caller may use, or a duplicate of it.
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


def assess(
    requirements: tuple[Requirement, ...],
    selection: Sequence[Candidate],
    *,
    snapshot: Snapshot,
    groups: Sequence[ConflictGroup],
) -> Assessment:
    """Look each requirement up in the selection, and then in everything visible.

    `groups`: the conflict groups of the selection, with all of their members in it.
    """
    group_of = {member: group for group in groups for member in group.members}
    standing = [_as_it_stands(candidate, group_of.get(candidate.unit.key)) for candidate in selection]
    conflicting = frozenset(
        position
        for position, candidate in enumerate(selection)
        if (group := group_of.get(candidate.unit.key)) is not None and group.is_open
    )
    fillers = tuple(
        tuple(position for position, candidate in enumerate(standing) if is_filled_by(requirement.match, candidate))
        for requirement in requirements
    )
    mandatory = frozenset(
        position
        for position, candidate in enumerate(selection)
        if any(requirement.mandatory and is_filled_by(requirement.match, candidate) for requirement in requirements)
    )
    roles = tuple(
        tuple(requirement.role for requirement, by in zip(requirements, fillers, strict=True) if position in by)
        for position in range(len(selection))
    )
    return Assessment(
        requirements=requirements,
        fillers=fillers,
        otherwise=tuple(_state_when_unfilled(requirement, selection, snapshot) for requirement in requirements),
        roles=roles,
        support_roles=tuple(
            SupportRole.CONFLICTING
            if position in conflicting
            else _support_role(selection[position], standing[position], requirements, fills=bool(roles[position]))
            for position in range(len(selection))
        ),
        conflicting=conflicting,
        mandatory=mandatory,
    )


def cover(
    assessment: Assessment,
    kept: Collection[int],
    *,
    handles: Sequence[str],
    usable_units: int,
    duplicates: Sequence[Duplicate],
) -> Coverage:
    """The coverage of a packet that holds the positions `kept` of the selection; `handles` is by position.

    `duplicates`: the units that are out because another one says the same; none of them is kept.
    """
    included = frozenset(kept)
    roles = tuple(
        _role_coverage(assessment, number, included, handles=handles) for number in range(len(assessment.requirements))
    )
    asked, allowed = set(), set()
    for requirement, role in zip(assessment.requirements, roles, strict=True):
        if isinstance(requirement.match, ClaimMatch):
            asked.add(requirement.match.key)
            if role.state is RoleState.FILLED:
                allowed.add(requirement.match.key)
    return Coverage(
        roles=roles,
        exhaustive=len(included) + len(duplicates) == usable_units,
        prohibited_claims=tuple(sorted(asked - allowed)),
    )


def _as_it_stands(candidate: Candidate, group: ConflictGroup | None) -> Candidate:
    """The unit without the claims that are overruled."""
    if group is None or group.is_open:
        return candidate
    key = candidate.unit.key
    return replace(candidate, claims=tuple(claim for claim in candidate.claims if not group.overrules(key, claim.key)))


def _role_coverage(
    assessment: Assessment, number: int, included: frozenset[int], *, handles: Sequence[str]
) -> RoleCoverage:
    requirement, fillers = assessment.requirements[number], assessment.fillers[number]
    filling = [position for position in fillers if position in included]
    if filling:
        state = RoleState.FILLED if assessment.conflicting.isdisjoint(filling) else RoleState.CONFLICTING
    else:
        state = RoleState.NOT_SELECTED if fillers else assessment.otherwise[number]
    return RoleCoverage(
        role=requirement.role,
        mandatory=requirement.mandatory,
        state=state,
        handles=tuple(handles[position] for position in filling),
    )


def _state_when_unfilled(requirement: Requirement, selection: Sequence[Candidate], snapshot: Snapshot) -> RoleState:
    if is_filled_outside(selection, requirement.match, snapshot):
        return RoleState.NOT_SELECTED
    stale = any(snapshot.is_stale(key) for key in matching_revisions(requirement.match, snapshot))
    return RoleState.STALE if stale else RoleState.ABSENT


def _support_role(
    candidate: Candidate, standing: Candidate, requirements: Sequence[Requirement], *, fills: bool
) -> SupportRole:
    """A unit that contradicts an expected value is shown as such even where it fills another role: the handles of
    the roles tell what it fills, and nothing else would tell that it disagrees. Where no value is expected, the one
    that a rule upholds takes its place: the overruled unit disagrees with that."""
    for requirement in requirements:
        match = requirement.match
        any_value = isinstance(match, ClaimMatch) and match.value is None
        overruled = any_value and is_filled_by(match, candidate) and not is_filled_by(match, standing)
        if overruled or is_disconfirmed_by(match, candidate):
            return SupportRole.DISCONFIRMING
    return SupportRole.SUPPORTING if fills else SupportRole.BACKGROUND
