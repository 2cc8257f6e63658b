"""How does a test make evidence with only the facts that matter visible?

Every builder gives a complete, valid object; a test names what it is about and leaves out the rest. The default
caller is Ann of tenant `blue`, who asks at 2025-06-01T00:00:00Z.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

from evidence.access import Label, Principal, Scope
from evidence.adapters import Adapter
from evidence.authority_rules import NO_RULES, AuthorityRules
from evidence.budget import Budget, TokenMeter
from evidence.canonical import Json, digest, digest_text
from evidence.chat import ChatTemplate
from evidence.conversation import ExtractiveSummarizer, Turn
from evidence.eligibility import Eligibility, Filter, Standing, Use, catalog_version, is_visible, judge, validity
from evidence.envelope import Candidate, RetrievalTrace, locate_claims
from evidence.identity import Namespace, RevisionKey, SourceKey, UnitKey, unit_id
from evidence.instant import Instant, parse_instant
from evidence.means import Alternative, Means
from evidence.packing import Overflow
from evidence.query_class import QueryClass
from evidence.query_class_record import parse_query_class
from evidence.ranking import LayerDigests, Retrieval
from evidence.request import PacketRequest, Strategy
from evidence.requirements import ClaimMatch, FamilyMatch, Match, Requirement, SourceMatch, UnitMatch
from evidence.revision import Claim, Contradiction, RevisionFacts, Status
from evidence.slots import Slot
from evidence.snapshot import Snapshot, index_visible
from evidence.strict_json import loads
from evidence.tool_results import ToolResult
from evidence.unit import Unit
from tests.source_tree import ROOT

BLUE = Namespace("blue")
RED = Namespace("red")
NOW = parse_instant("2025-06-01T00:00:00Z")


def shipped_query_class(name: str) -> QueryClass:
    """A query class as it is shipped."""
    record = loads((ROOT / "server" / "query_classes" / f"{name}.json").read_bytes())
    return parse_query_class(cast("Json", record))


EXPLANATORY = shipped_query_class("explanatory")


def with_budget(slot: Slot, tokens: int, *, query_class: QueryClass = EXPLANATORY) -> QueryClass:
    """A query class with another budget for one slot."""
    return replace(query_class, budgets={**query_class.budgets, slot: tokens})


def with_evidence_tokens(tokens: int) -> QueryClass:
    """The default query class with another budget for the evidence."""
    return with_budget(Slot.RETRIEVED_EVIDENCE, tokens)


def instant(day: str) -> Instant:
    """Midnight UTC of a day, as `2025-03-01`."""
    return parse_instant(f"{day}T00:00:00Z")


def revision_key(source_id: str, revision: str = "1", *, namespace: str = BLUE) -> RevisionKey:
    return RevisionKey(Namespace(namespace), source_id, revision)


def label(
    namespace: str = BLUE,
    *,
    roles: Iterable[str] = (),
    purposes: Iterable[str] = (),
    regions: Iterable[str] = (),
    cases: Iterable[str] = (),
) -> Label:
    return Label(
        namespace=Namespace(namespace),
        roles=tuple(sorted(roles)),
        purposes=tuple(sorted(purposes)),
        regions=tuple(sorted(regions)),
        cases=tuple(sorted(cases)),
    )


def principal(
    tenant: str | None = BLUE,
    *,
    sub: str = "ann",
    roles: Iterable[str] = (),
    purposes: Iterable[str] = (),
    regions: Iterable[str] = (),
    cases: Iterable[str] = (),
    scope: Iterable[str] = ("search",),
) -> Principal:
    return Principal(
        sub=sub,
        tenant=None if tenant is None else Namespace(tenant),
        roles=tuple(sorted(roles)),
        purposes=tuple(sorted(purposes)),
        regions=tuple(sorted(regions)),
        cases=tuple(sorted(cases)),
        scope=tuple(sorted(scope)),
    )


def eligibility(
    who: Principal | None = None,
    *,
    purpose: str | None = None,
    use: Use = Use.CURRENT,
    now: Instant = NOW,
    as_of: Instant | None = None,
    subject: str | None = None,
    only: Filter | None = None,
) -> Eligibility:
    return Eligibility(
        scope=Scope(principal=who or principal(), purpose=purpose),
        use=use,
        at=now if as_of is None else as_of,
        as_of=as_of,
        subject=subject,
        filter=only or Filter(),
    )


def revision(
    source_id: str,
    number: str = "1",
    *,
    namespace: str = BLUE,
    text: str = "",
    under: Label | None = None,
    title: str = "",
    family: str = "",
    owner: str = "",
    status: Status = Status.CURRENT,
    was_draft: bool = False,
    effective_from: str | None = None,
    effective_to: str | None = None,
    supersedes: Iterable[RevisionKey] = (),
    contradicts: Iterable[Contradiction] = (),
    claims: Mapping[str, str] | None = None,
    quote: str = "",
    applies_to: Iterable[str] = (),
    metadata: str = "{}",
) -> RevisionFacts:
    """Facts of one revision. `effective_from`, `effective_to`: days. `claims`: key -> value, all with `quote`."""
    return RevisionFacts(
        key=revision_key(source_id, number, namespace=namespace),
        label=under or label(namespace),
        title=title,
        family=family,
        owner=owner,
        status=status,
        was_draft=was_draft,
        effective_from=None if effective_from is None else instant(effective_from),
        effective_to=None if effective_to is None else instant(effective_to),
        supersedes=tuple(supersedes),
        contradicts=tuple(contradicts),
        claims=tuple(Claim(key=key, value=value, quote=quote) for key, value in (claims or {}).items()),
        applies_to=tuple(applies_to),
        metadata=metadata,
        text_digest=digest_text(text),
    )


class SearchedText(str):
    """A text that counts how often a passage is looked for in it."""

    __slots__ = ("searches",)
    searches: int

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.searches = 0
        return made

    def find(self, *of: Any) -> int:
        self.searches += 1
        return super().find(*of)

    def __contains__(self, passage: object) -> bool:
        self.searches += 1
        return super().__contains__(cast("str", passage))


def unit(key: RevisionKey, text: str, *, ordinal: int = 0, start: int = 0, heading: Iterable[str] = ()) -> Unit:
    """The passage `text` of a revision, `start` code points into it."""
    return Unit(
        key=UnitKey(*key, ordinal),
        start=start,
        end=start + len(text),
        heading=tuple(heading),
        text=text,
        digest=digest_text(text),
        prefix="",
        prefix_tokens=0,
        prefix_tokens_cut=0,
        tokens=len(text.split()) + 2,
    )


def candidate(facts: RevisionFacts, text: str, *, ordinal: int = 0, start: int = 0, rank: int = 1) -> Candidate:
    """A unit that both channels found at `rank`. It owns those claims of its revision whose quote it holds."""
    passage = unit(facts.key, text, ordinal=ordinal, start=start)
    return Candidate(
        unit=passage,
        facts=facts,
        claims=locate_claims(facts.claims, text=text).owned_by(0, len(text)),
        trace=RetrievalTrace(ranks={"dense": rank, "lexical": rank}, scores={"dense": 900 - rank, "lexical": 2**33}),
    )


def candidates(*texts: str, namespace: str = BLUE) -> tuple[Candidate, ...]:
    """One candidate for each text, best first, each of a source of its own: `S-1`, `S-2`, ..."""
    return tuple(
        candidate(revision(f"S-{rank}", namespace=namespace, text=text), text, rank=rank)
        for rank, text in enumerate(texts, start=1)
    )


def snapshot(
    facts: Iterable[RevisionFacts],
    *,
    asked: Eligibility | None = None,
    units: Mapping[RevisionKey, int] | None = None,
) -> Snapshot:
    """What `asked` sees of a catalog that holds `facts`: what is invisible is left out here, as the catalog does.

    units: how many units a revision has, where that is not one.
    """
    asked = asked or eligibility()
    visible = [revision for revision in facts if is_visible(revision, scope=asked.scope, use=asked.use)]
    standings = judge(visible, asked)
    counts = {revision.key: (units or {}).get(revision.key, 1) for revision in visible}
    recipe = {"encoder": "none"}
    return Snapshot(
        eligibility=asked,
        validity=validity(visible, at=asked.at),
        catalog_version=catalog_version(visible),
        epoch=digest("epoch"),
        recipe=recipe,
        recipe_digest=digest(recipe),
        visible=index_visible(visible),
        standings=standings,
        unit_counts=counts,
        usable_units=sum(counts[key] for key, standing in standings.items() if standing is Standing.USABLE),
    )


def retrieval(
    selection: Sequence[Candidate],
    *,
    unselected: Iterable[UnitKey] = (),
    capped: Iterable[UnitKey] = (),
    degraded: Iterable[str] = (),
) -> Retrieval:
    return Retrieval(
        selection=tuple(selection),
        unselected=tuple(unselected),
        capped=tuple(capped),
        degraded=tuple(degraded),
        parameters={"fusion": {"method": "minmax", "depth": 200}},
        stats_scope={"units": len(selection)},
        layers=LayerDigests(policy=digest("policy"), corpus=digest("corpus"), query=digest("query")),
    )


def request(
    *,
    query: str = "how large may an upload be?",
    strategy: Strategy = Strategy.NARROW,
    query_class: QueryClass = EXPLANATORY,
    requirements: Iterable[Requirement] = (),
    budget: Budget | None = None,
    tokenizer: str | None = None,
    on_overflow: Overflow = Overflow.REFUSE,
    adapter: Adapter = Adapter.JSON,
    conversation: Iterable[Turn] = (),
    tool_results: Iterable[ToolResult] = (),
    version: str | None = None,
) -> PacketRequest:
    return PacketRequest(
        query=query,
        k=query_class.k,
        strategy=strategy,
        search={"channel": "hybrid", "rerank": False},
        query_class=query_class,
        requirements=tuple(requirements),
        budget=budget or Budget(),
        tokenizer=tokenizer,
        on_overflow=on_overflow,
        adapter=adapter,
        conversation=tuple(conversation),
        tool_results=tuple(tool_results),
        catalog_version=version,
    )


def means(
    *,
    meter: TokenMeter | None = None,
    template: ChatTemplate | None = None,
    model: Mapping[str, Json] | None = None,
    rules: AuthorityRules = NO_RULES,
    alternatives: Iterable[Alternative] = (),
) -> Means:
    """What assembly works with where an operator has set nothing."""
    return Means(
        meter=meter,
        template=template,
        model=model,
        rules=rules,
        summarizer=ExtractiveSummarizer(),
        alternatives=tuple(alternatives),
    )


def requires(role: str, match: Match, *, mandatory: bool = True) -> Requirement:
    return Requirement(role=role, match=match, mandatory=mandatory)


def claim(key: str, value: str | None = None) -> ClaimMatch:
    return ClaimMatch(key=key, value=value)


def family(name: str) -> FamilyMatch:
    return FamilyMatch(family=name)


def source(source_id: str, *, namespace: str = BLUE) -> SourceMatch:
    return SourceMatch(source=SourceKey(Namespace(namespace), source_id))


def unit_of(found: Candidate) -> UnitMatch:
    return UnitMatch(unit_id=unit_id(found.unit.key))


def word_meter() -> TokenMeter:
    """A tokenizer for tests: each run of characters without a space is a token."""
    return meter_of("words", lambda text: len(text.split()))


def character_meter() -> TokenMeter:
    """A tokenizer for tests: each code point is a token."""
    return meter_of("characters", len)


def meter_of(name: str, count: Callable[[str], int]) -> TokenMeter:
    """A tokenizer for tests that counts as `count` does."""
    return TokenMeter(name=name, digest=digest(name), count=count, count_joined=lambda pieces: count("".join(pieces)))
