"""Which selected units say again what another one says already? (pure)

Only units of the same source and revision can be duplicates (R17): equal text of another owner, revision, namespace
or label keeps its identity. The rule is named, so that a record can say by which one a unit was left out.
"""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from evidence.envelope import Candidate
from evidence.identity import RevisionKey, UnitKey
from evidence.unit import Unit

RULE = "same-revision-normalized-text/1"
"""Same revision and heading path, and the same text after NFC, with each run of white space as one space and none at
the ends. The heading counts because it can be all that tells two equal passages apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A unit that is left out, and the unit that stays and says the same. Both are positions of the selection."""

    position: int
    kept: int


def find_duplicates(
    selection: Sequence[Candidate], *, roles: Sequence[Collection[str]], in_conflict: Collection[UnitKey]
) -> tuple[Duplicate, ...]:
    """The units to leave out, by ascending position.

    `roles[p]`: the roles that the unit at position p fills. Of equal units the one in a conflict stays, then the one
    that fills most roles, then the first. Another one stays as well if it is in a conflict, or fills a role that none
    of those that stay fills: whatever a unit does, leaving out its duplicates undoes none of it.
    """
    alike: dict[tuple[RevisionKey, tuple[str, ...], str], list[int]] = {}
    for position, candidate in enumerate(selection):
        unit = candidate.unit
        alike.setdefault((unit.key.revision_key, unit.heading, normalized_text(unit)), []).append(position)
    found: list[Duplicate] = []
    for positions in alike.values():
        staying: list[int] = []
        protected = {position for position in positions if selection[position].unit.key in in_conflict}
        for position in sorted(positions, key=lambda p: (p not in protected, -len(roles[p]), p)):
            same = [kept for kept in staying if set(roles[position]) <= set(roles[kept])]
            if position in protected or not same:
                staying.append(position)
            else:
                found.append(Duplicate(position=position, kept=same[0]))
    return tuple(sorted(found, key=lambda duplicate: duplicate.position))


def normalized_text(unit: Unit) -> str:
    """A unit's text as the rule compares it."""
    return " ".join(unicodedata.normalize("NFC", unit.text).split())
