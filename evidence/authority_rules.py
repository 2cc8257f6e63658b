"""Which rule of a domain, if any, settles a conflict? (pure)

A domain may own a rule that says whose word prevails: an order of authority classes. Rules come from the operator,
have a name and a version, and are recorded with what they settle. Nothing else ever settles a conflict (R18).

A rule settles a group of units only where

1. it applies to every unit of the group, and to every claim that they disagree on;
2. it has a place in its order for the authority class of every unit;
3. in every disagreement of the group the best class present takes a side, and only one.

Then the units on the other sides are overruled, and all others prevail. Both stay in the packet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidence.canonical import Json, digest
from evidence.disagreement import Disagreement
from evidence.errors import InvalidAuthorityRules, InvalidSource
from evidence.identity import UnitKey
from evidence.record_fields import as_list, as_name, as_object
from evidence.revision import RevisionFacts
from evidence.strict_json import key_path


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorityRule:
    """Whose word prevails. `order`: authority classes, best first. `family`, `claim_key`: what the rule is about; None
    is about any."""

    name: str
    family: str | None
    claim_key: str | None
    order: tuple[str, ...]

    def applies_to(self, members: Sequence[RevisionFacts], disagreements: Sequence[Disagreement]) -> bool:
        """Whether the rule is about all of this."""
        return all(self.family in (None, facts.family) and facts.authority in self.order for facts in members) and all(
            self.claim_key is None or disagreement.keys == (self.claim_key,) for disagreement in disagreements
        )

    def record(self) -> dict[str, Json]:
        return {"name": self.name, "family": self.family, "claim": self.claim_key, "order": list(self.order)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorityRules:
    """The rules of an installation, tried in order, and who owns which family of sources."""

    name: str
    version: str
    family_owners: Mapping[str, str]
    rules: tuple[AuthorityRule, ...]

    def record(self) -> dict[str, Json]:
        """Name, version and digest: what the rules say about families that a caller cannot see is not theirs to read
        (R8). The rule that settled a conflict stands in its resolution."""
        content: dict[str, Json] = {
            "family_owners": dict(self.family_owners),
            "rules": [rule.record() for rule in self.rules],
        }
        return {"name": self.name, "version": self.version, "digest": digest(content)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What a rule decided, and under which version of which rules. Every member that is not overruled prevails.

    overruled: in identity order.
    """

    rule: str
    rules: str
    version: str
    overruled: tuple[UnitKey, ...]


NO_RULES = AuthorityRules(name="none", version="1", family_owners={}, rules=())


def settle(
    members: Mapping[UnitKey, RevisionFacts], disagreements: Sequence[Disagreement], rules: AuthorityRules
) -> Settlement | None:
    """What the first rule that can settle the group decides; None where no rule can."""
    for rule in rules.rules:
        overruled = _overruled(rule, members, disagreements)
        if overruled is not None:
            return Settlement(
                rule=rule.name,
                rules=rules.name,
                version=rules.version,
                overruled=tuple(sorted(overruled)),
            )
    return None


def parse_authority_rules(record: Json) -> AuthorityRules:
    """Rules from their record: `name`, `version`, `family_owners` (family -> owner) and `rules`, each with `name`,
    `order` and optionally `family` and `claim`. Raises InvalidAuthorityRules for anything else."""
    try:
        return _parse(record)
    except InvalidSource as error:
        raise InvalidAuthorityRules(error.path, error.problem) from None


def _overruled(
    rule: AuthorityRule, members: Mapping[UnitKey, RevisionFacts], disagreements: Sequence[Disagreement]
) -> frozenset[UnitKey] | None:
    """The members that the rule overrules; None where it may not settle the group."""
    if not rule.applies_to(list(members.values()), disagreements):
        return None
    places = {unit: rule.order.index(facts.authority) for unit, facts in members.items()}
    best_place = min(places.values())
    best = {unit for unit, place in places.items() if place == best_place}
    overruled: set[UnitKey] = set()
    for disagreement in disagreements:
        others = [side for side in disagreement.sides if best.isdisjoint(side)]
        if len(others) != len(disagreement.sides) - 1:
            return None
        overruled.update(unit for side in others for unit in side)
    return frozenset(overruled)


def _parse(record: Json) -> AuthorityRules:
    fields = as_object(
        record, "$", allowed=("name", "version", "family_owners", "rules"), required=("name", "version", "rules")
    )
    owners = fields.get("family_owners", {})
    families = owners if isinstance(owners, dict) else {}
    owners = as_object(owners, "$.family_owners", allowed=tuple(families), required=())
    rules = tuple(_rule(entry, path) for entry, path in as_list(fields["rules"], "$.rules"))
    names = [rule.name for rule in rules]
    if len(set(names)) < len(names):
        raise InvalidSource("$.rules", "two rules have the same name; each name is used once")
    return AuthorityRules(
        name=as_name(fields["name"], "$.name"),
        version=as_name(fields["version"], "$.version"),
        family_owners={
            as_name(family, "$.family_owners"): as_name(owner, key_path("$.family_owners", family))
            for family, owner in sorted(owners.items())
        },
        rules=rules,
    )


def _rule(entry: object, path: str) -> AuthorityRule:
    fields = as_object(entry, path, allowed=("name", "family", "claim", "order"), required=("name", "order"))
    order = tuple(as_name(value, place) for value, place in as_list(fields["order"], key_path(path, "order")))
    if len(order) < 2 or len(set(order)) < len(order):
        raise InvalidSource(key_path(path, "order"), "must name two or more authority classes, each once")
    return AuthorityRule(
        name=as_name(fields["name"], key_path(path, "name")),
        family=_optional_name(fields, "family", path),
        claim_key=_optional_name(fields, "claim", path),
        order=order,
    )


def _optional_name(fields: Mapping[str, object], name: str, path: str) -> str | None:
    value = fields.get(name)
    return None if value is None else as_name(value, key_path(path, name))
