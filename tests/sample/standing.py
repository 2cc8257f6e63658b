"""How does each revision of the sample stand towards a listed query?"""

from collections.abc import Mapping, Sequence

from evidence.access import Scope, admits
from evidence.eligibility import Eligibility, Filter, Standing, Use, is_visible, judge
from evidence.identity import RevisionKey
from evidence.instant import Instant, parse_instant
from evidence.revision import RevisionFacts, Status
from tests.sample.shipped import ListedQuery, principal

# The sample means the same on every day between these two: nothing in it starts or ends in between.
STEADY_FROM = parse_instant("2025-06-01T00:00:00Z")
STEADY_TO = parse_instant("2040-01-01T00:00:00Z")


def scope(query: ListedQuery) -> Scope:
    """Who asks the query, for which purpose."""
    purpose = query.request.get("purpose")
    return Scope(principal=principal(query.principal), purpose=None if purpose is None else str(purpose))


def standings(query: ListedQuery, facts: Sequence[RevisionFacts], *, now: Instant) -> dict[RevisionKey, Standing]:
    """The standing of every revision that the query's principal sees at `now`."""
    asked = _eligibility(query, now)
    return judge((each for each in facts if is_visible(each, scope=asked.scope, use=asked.use)), asked)


def usable(query: ListedQuery, facts: Sequence[RevisionFacts], *, now: Instant) -> set[RevisionKey]:
    """The revisions that may be used for the query."""
    return {key for key, standing in standings(query, facts, now=now).items() if standing is Standing.USABLE}


def obstacle(query: ListedQuery, facts: Sequence[RevisionFacts], key: RevisionKey, *, now: Instant) -> str:
    """Why the query may not use the revision: `foreign`, the first restriction that fails, `draft`, or a standing."""
    (blocked,) = (each for each in facts if each.key == key)
    asked = scope(query)
    label, held = blocked.label, asked.principal
    if label.namespace not in ("public", held.tenant):
        return "foreign"
    if not admits(label, asked):
        failing = {
            "role": label.roles and not {*held.roles, f"user:{held.sub}"} & {*label.roles},
            "purpose": label.purposes and asked.purpose not in label.purposes,
            "region": label.regions and not {*held.regions} & {*label.regions},
            "case": label.cases and not {*held.cases} & {*label.cases},
        }
        return next(name for name, fails in failing.items() if fails)
    if blocked.status is Status.DRAFT:
        return "draft"
    return standings(query, facts, now=now)[key].value


def _eligibility(query: ListedQuery, now: Instant) -> Eligibility:
    request = query.request
    as_of = None if request.get("as_of") is None else parse_instant(str(request["as_of"]))
    subject = request.get("subject")
    return Eligibility(
        scope=scope(query),
        use=Use(str(request.get("use", "current"))),
        at=now if as_of is None else as_of,
        as_of=as_of,
        subject=None if subject is None else str(subject),
        filter=_filter(request.get("filter", {})),
    )


def _filter(record: object) -> Filter:
    assert isinstance(record, Mapping)
    assert record.keys() <= {"family", "source_id", "owner", "metadata"}
    fields = {name: tuple(values) for name, values in record.items() if name != "metadata"}
    return Filter(
        family=fields.get("family"),
        source_id=fields.get("source_id"),
        owner=fields.get("owner"),
        metadata=tuple(sorted((name, tuple(values)) for name, values in record.get("metadata", {}).items())),
    )
