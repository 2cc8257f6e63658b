"""What does a request mean once defaults, clock and caller are known?"""

from functools import lru_cache

from evidence.access import Principal
from evidence.budget import Budget, TokenMeter
from evidence.eligibility import Eligibility
from evidence.instant import Instant, parse_instant
from evidence.query_class import QueryClass, find_query_class
from evidence.request import PacketRequest as ResolvedPacketRequest
from evidence.requirements import ClaimMatch, FamilyMatch, Match, Requirement, SourceMatch, UnitMatch, resolve_source
from models.errors import ModelError, UnknownTokenizer
from models.tokens import TOKENIZER_NAMES, Counter, get_counter
from server.errors import Invalid, Unavailable
from server.schemas import Match as MatchBody
from server.schemas import PacketRequest, Retrieval
from server.scope import scope_for


def eligibility_for(request: Retrieval, principal: Principal, *, now: Instant) -> Eligibility:
    """The one eligibility object of a request (R2). Raises Forbidden for a purpose that was not granted (R1), Invalid
    for an `as_of` in the future (R4)."""
    as_of = None if request.as_of is None else parse_instant(request.as_of)
    if as_of is not None and as_of > now:
        raise Invalid("lies in the future; what will be effective is not known", path="$.as_of")
    return Eligibility(
        scope=scope_for(principal, purpose=request.purpose),
        use=request.use,
        at=now if as_of is None else as_of,
        as_of=as_of,
        subject=request.subject,
        filter=request.filter.filter(),
    )


def resolve_packet_request(request: PacketRequest, principal: Principal) -> ResolvedPacketRequest:
    """The request with every default filled in. Raises Invalid for an unknown query class."""
    query_class = find_query_class(request.query_class)
    if query_class is None:
        raise Invalid("no such query class; allowed: explanatory", path="$.query_class")
    budget = request.budget
    return ResolvedPacketRequest(
        query=request.query,
        k=_k(request, query_class),
        strategy=request.strategy,
        search={
            "channel": request.channel.value,
            "rerank": request.rerank,
            "fusion": request.fusion.normalized(),
        },
        query_class=query_class,
        requirements=tuple(
            Requirement(role=asked.role, match=_match(asked.match, principal), mandatory=asked.mandatory)
            for asked in request.requirements
        ),
        budget=Budget()
        if budget is None
        else Budget(
            max_bytes=budget.max_bytes,
            max_tokens=budget.max_tokens,
            window=budget.window,
            reserved_output_tokens=budget.reserved_output_tokens,
        ),
        tokenizer=None if budget is None else budget.tokenizer,
        on_overflow=request.on_overflow,
        adapter=request.adapter,
        catalog_version=request.catalog_version,
    )


def meter_for(tokenizer: str | None) -> TokenMeter | None:
    """The exact counter of the tokenizer named, None for none. Raises Invalid for one that is not at hand (R23)."""
    if tokenizer is None:
        return None
    try:
        counter = _counter(tokenizer)
    except UnknownTokenizer as error:
        raise Invalid(str(error), path="$.budget.tokenizer") from None
    except ModelError as error:
        raise Unavailable(f"the tokenizer {tokenizer} cannot be opened: {type(error).__name__}") from None
    return TokenMeter(name=counter.name, digest=counter.digest, count=counter.count)


@lru_cache(maxsize=len(TOKENIZER_NAMES) + 1)
def _counter(name: str) -> Counter:
    """Opening a counter takes up to a second; an unknown name raises and is not kept."""
    return get_counter(name)


def _k(request: PacketRequest, query_class: QueryClass) -> int:
    return min(query_class.k, request.fusion.depth) if request.k is None else request.k


def _match(asked: MatchBody, principal: Principal) -> Match:
    if asked.claim is not None:
        return ClaimMatch(key=asked.claim, value=asked.value)
    if asked.family is not None:
        return FamilyMatch(family=asked.family)
    if asked.source_id is not None:
        return SourceMatch(source=resolve_source(asked.source_id, public=asked.public, own=principal.namespace))
    assert asked.unit_id is not None
    return UnitMatch(unit_id=asked.unit_id)
