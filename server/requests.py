"""What does a request mean once defaults, clock, caller and the operator's files are known?"""

from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from evidence.access import Principal
from evidence.adapters import Adapter
from evidence.authority_rules import AuthorityRules
from evidence.budget import Budget, TokenMeter
from evidence.canonical import Json
from evidence.conversation import ExtractiveSummarizer, number_turns
from evidence.eligibility import Eligibility
from evidence.errors import InvalidRequest
from evidence.instant import Instant, parse_instant
from evidence.means import Alternative, Means
from evidence.query_class import QueryClass
from evidence.request import PacketRequest as Resolved
from evidence.requirements import ClaimMatch, FamilyMatch, Match, Requirement, SourceMatch, UnitMatch, resolve_source
from evidence.tool_results import ToolResult
from models.errors import ModelError, UnknownTokenizer
from models.joined import JoinedCounter
from models.tokens import LOCAL, TOKENIZER_NAMES, Counter, get_counter
from server.errors import Invalid, Unavailable
from server.profiles import Profile, Profiles, counted_folders, find_profile, refuse_uncountable
from server.query_classes import QueryClasses
from server.schemas import BudgetBody, PacketRequest, Retrieval
from server.schemas import Match as MatchBody
from server.scope import scope_for

_NO_MODEL = Profile(
    name="", adapter=Adapter.JSON, tokenizer=None, window=None, reserved_output_tokens=None, folder=None
)
TOKENIZER = "$.budget.tokenizer"  # the place that a tokenizer is named at
OF_MODEL = "model:"  # in front of a model's name: the tokenizer in its folder
COUNTERS_KEPT = 16  # an open counter takes up to 40 MB


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


class Requests:
    """Resolves packet requests by the operator's query classes, model profiles and rules. Shared by threads.

    tokenizer_folders: local tokenizers that a request may name as `hf:PATH`.
    """

    def __init__(
        self,
        *,
        classes: QueryClasses,
        profiles: Profiles,
        rules: AuthorityRules,
        tokenizer_folders: tuple[Path, ...] = (),
    ) -> None:
        self._classes = classes
        self._profiles = profiles
        self.rules = rules
        self._folders = tokenizer_folders
        self._counter = lru_cache(maxsize=COUNTERS_KEPT)(self._open_counter)

    def find_class(self, name: str) -> QueryClass | None:
        return self._classes.get(name)

    def find_model(self, name: str) -> Profile | None:
        return self._profiles.get(name)

    def resolve(self, request: PacketRequest, principal: Principal) -> tuple[Resolved, Means]:
        """The request with every default filled in, and the means to answer it.

        Raises Invalid naming the place for an unknown query class, model or tokenizer, and for a token limit that
        nothing at hand can count (R23).
        """
        query_class = self.find_class(request.query_class)
        if query_class is None:
            raise Invalid(f"no such query class; allowed: {', '.join(self._classes)}", path="$.query_class")
        profile = None if request.model is None else find_profile(self._profiles, request.model)
        try:
            resolved = self._resolved(request, principal, query_class, profile)
            means = self._means(resolved, profile)
        except InvalidRequest as error:
            raise Invalid(error.problem, path=error.path) from None
        if resolved.adapter is Adapter.JSON:
            return resolved, means
        return resolved, replace(means, alternatives=self._alternatives(request, principal, resolved))

    def _resolved(
        self, request: PacketRequest, principal: Principal, query_class: QueryClass, profile: Profile | None
    ) -> Resolved:
        asked, model = request.budget or BudgetBody(), profile or _NO_MODEL
        reserved = asked.reserved_output_tokens
        return Resolved(
            query=request.query,
            k=min(query_class.k, request.fusion.depth) if request.k is None else request.k,
            strategy=request.strategy,
            source=None
            if request.source_id is None
            else resolve_source(request.source_id, public=request.public, own=principal.namespace),
            search={
                "channel": request.channel.value,
                "rerank": request.rerank,
                "fusion": request.fusion.normalized(),
            },
            query_class=query_class,
            requirements=(
                *query_class.required_roles,
                *(
                    Requirement(role=one.role, match=_match(one.match, principal), mandatory=one.mandatory)
                    for one in request.requirements
                ),
            ),
            budget=Budget(
                max_bytes=asked.max_bytes,
                max_tokens=asked.max_tokens,
                window=model.window if asked.window is None else asked.window,
                reserved_output_tokens=(model.reserved_output_tokens or 0) if reserved is None else reserved,
            ),
            tokenizer=asked.tokenizer or _tokenizer_of(model),
            on_overflow=request.on_overflow,
            adapter=request.adapter or model.adapter,
            model=request.model,
            conversation=number_turns((turn.role.value, turn.content) for turn in request.conversation),
            tool_results=tuple(
                ToolResult(
                    tool=result.tool,
                    columns=tuple(result.columns),
                    rows=tuple(map(tuple, result.rows)),
                )
                for result in request.tool_results
            ),
            catalog_version=request.catalog_version,
        )

    def _means(self, resolved: Resolved, profile: Profile | None) -> Means:
        budget = resolved.budget
        limited_by = "max_tokens" if budget.max_tokens is not None else "window" if budget.window is not None else None
        refuse_uncountable(resolved.adapter, tokenizer=resolved.tokenizer, limited_by=limited_by)
        if limited_by is not None and resolved.tokenizer is None:
            raise Invalid("needs `tokenizer`: counts are exact, never estimated", path=f"$.budget.{limited_by}")
        template = profile.template if profile is not None and resolved.adapter is Adapter.HF_CHAT else None
        if template is None and resolved.adapter is Adapter.HF_CHAT:
            raise Invalid(
                "hf-chat needs a `model` whose profile, in the setting models_file, has a folder with a chat template",
                path="$.adapter",
            )
        return Means(
            meter=None if resolved.tokenizer is None else self._meter(resolved.tokenizer),
            template=template,
            model=None if profile is None else _profile_record(profile),
            rules=self.rules,
            summarizer=ExtractiveSummarizer(),
        )

    def _alternatives(
        self, request: PacketRequest, principal: Principal, resolved: Resolved
    ) -> tuple[Alternative, ...]:
        """The other query classes and models under which the fixed slots may fit (R25), each with what it would be."""
        found: list[Alternative] = []
        profile = None if request.model is None else self.find_model(request.model)
        for name, query_class in self._classes.items():
            if name != request.query_class:
                prepare = partial(self._try, request, principal, query_class, profile)
                found.append(Alternative(name=f"class:{name}", prepare=prepare))
        for name, other in self._profiles.items():
            if name != request.model and other.adapter is resolved.adapter:
                asked = request.model_copy(update={"model": name})
                prepare = partial(self._try, asked, principal, resolved.query_class, other)
                found.append(Alternative(name=f"model:{name}", prepare=prepare))
        return tuple(found)

    def _try(
        self, request: PacketRequest, principal: Principal, query_class: QueryClass, profile: Profile | None
    ) -> tuple[Resolved, Means] | None:
        """The request under another class or model; None where it cannot be carried out there at all."""
        try:
            resolved = self._resolved(request, principal, query_class, profile)
            return resolved, self._means(resolved, profile)
        except (InvalidRequest, Invalid, Unavailable):
            return None

    def _meter(self, tokenizer: str) -> TokenMeter:
        """The exact counter of the tokenizer named. Raises Invalid for one that is not at hand (R23)."""
        try:
            counter = self._counter(tokenizer)
        except UnknownTokenizer as error:
            raise Invalid(_unknown(error), path=TOKENIZER) from None
        except ModelError as error:
            raise Unavailable(f"the tokenizer {tokenizer} cannot be opened: {type(error).__name__}") from None
        return TokenMeter(
            name=tokenizer,
            digest=counter.digest,
            count=counter.count,
            count_joined=JoinedCounter(counter).count,  # remembers texts, so it lives for one request alone (R35)
        )

    def _open_counter(self, name: str) -> Counter:
        """Opening a counter takes up to a second; an unknown name raises and is not kept."""
        if name.startswith(OF_MODEL):
            profile = self.find_model(name.removeprefix(OF_MODEL))
            if profile is None or profile.folder is None:
                raise UnknownTokenizer(name, TOKENIZER_NAMES)
            name = f"{LOCAL}{profile.folder}"
        return get_counter(name, allowed=counted_folders(self._profiles, self._folders))


def _unknown(error: UnknownTokenizer) -> str:
    """Why a tokenizer is not known. Which folders there are is nothing for callers, but which settings name them is."""
    if not error.name.startswith((LOCAL, OF_MODEL)):
        return str(error)
    return f"{error}; and the folders of the settings tokenizer_folders (`{LOCAL}`) and models_file (`{OF_MODEL}`)"


def _tokenizer_of(profile: Profile) -> str | None:
    """The name of a profile's tokenizer in requests and answers. One that is a folder of the operator's goes by the
    model's name: where it lies is nothing for callers."""
    return profile.tokenizer if profile.folder is None else f"{OF_MODEL}{profile.name}"


def _profile_record(profile: Profile) -> dict[str, Json]:
    """The profile as the manifest keeps it: no path of this machine, but the digests of its files."""
    return {
        "name": profile.name,
        "adapter": profile.adapter.value,
        "tokenizer": _tokenizer_of(profile),
        "window": profile.window,
        "reserved_output_tokens": profile.reserved_output_tokens,
        "digests": dict(profile.digests),
    }


def _match(asked: MatchBody, principal: Principal) -> Match:
    if asked.claim is not None:
        return ClaimMatch(key=asked.claim, value=asked.value)
    if asked.family is not None:
        return FamilyMatch(family=asked.family)
    if asked.source_id is not None:
        return SourceMatch(source=resolve_source(asked.source_id, public=asked.public, own=principal.namespace))
    assert asked.unit_id is not None
    return UnitMatch(unit_id=asked.unit_id)
