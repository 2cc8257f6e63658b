"""Where do real packets get smaller as a block comes in, so that packing must not expect them to grow? (R22)"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evidence.adapters import Adapter
from evidence.arrangement import arrange
from evidence.budget import Limit, Measure, TokenMeter
from evidence.draft import Draft, draft
from evidence.envelope import Candidate
from evidence.packing import Overflow, Packed, Tier, pack, packing_order
from models.tokens import TOKENIZER_NAMES, get_counter
from tests.builders import claim, means, request, requires, retrieval, source
from tests.evidence.answers import holding, units_of
from tests.evidence.disputes import MANUFACTURER_FIRST, facts_of, passages, rules
from tests.evidence.prompts import chat_template, prompt

FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONG = "k" * 2000  # longer than some units: where such a claim is no longer prohibited, the packet shrinks
KEYS = ("max", LONG)
SOURCES = "ABCDEF"
ROLES = (
    requires("max", claim("max")),
    requires("long", claim(LONG)),
    requires("value", claim(LONG, "1")),
    requires("source", source("B")),
)


@st.composite
def catalogs(draw: st.DrawFn) -> list[Candidate]:
    """Up to six sources of two passages, some of them empty but for a word and some equal, with claims that differ."""
    found: list[Candidate] = []
    for source_id in SOURCES[: draw(st.integers(3, len(SOURCES)))]:
        claims = draw(st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from("12")), max_size=2))
        facts = facts_of(
            source_id,
            claims=[(key, value, f"says {value}") for key, value in claims],
            authority=draw(st.sampled_from(["", "manufacturer", "dealer"])),
        )
        found.extend(passages(facts, draw(st.sampled_from(["says 1 says 2 ", "says 1 ", "x "])), "x "))
    return found


@st.composite
def drafts(draw: st.DrawFn, adapters: st.SearchStrategy[Adapter], meter: TokenMeter | None = None) -> Draft:
    """A selection of such a catalog, drawn up for a request with some of the roles."""
    catalog, adapter = draw(catalogs()), draw(adapters)
    ranked = draw(st.permutations(catalog))
    mandatory = draw(st.sets(st.sampled_from(ROLES), max_size=1))
    asked = [replace(role, mandatory=role in mandatory) for role in ROLES if draw(st.booleans())]
    made = means(meter=meter, template=chat_template(), rules=rules(MANUFACTURER_FIRST))
    asking = request(requirements=asked, adapter=adapter)
    found = retrieval(ranked[draw(st.integers(0, len(ranked))) :])
    snapshot = holding(catalog)
    arrangement = arrange(asking, found, snapshot=snapshot, units_of=units_of(catalog), rules=made.rules)
    slots = None if adapter is Adapter.JSON else prompt(adapter=adapter)
    return draft(asking, arrangement, snapshot=snapshot, means=made, prompt=slots)


def sizes_of(drafted: Draft, size: Callable[[list[int]], int]) -> list[int]:
    """The size of the packet of the first 0, 1, ... blocks in packing order."""
    order = packing_order(drafted.arrangement.blocks())
    prefixes = (order[:count] for count in range(len(order) + 1))
    return [size(sorted(position for block in prefix for position in block.positions)) for prefix in prefixes]


def assert_grows(drafted: Draft, sizes: list[int]) -> None:
    """With each block, but where it is the first to fill a role, and to the complete selection."""
    filled: set[str] = set()
    for count, block in enumerate(packing_order(drafted.arrangement.blocks())[:-1], start=1):
        assert sizes[count] > sizes[count - 1] or not block.roles <= filled
        filled |= block.roles


@FEW
@given(drafted=drafts(st.sampled_from(Adapter)), data=st.data())
def test_a_packet_of_any_adapter_is_packed_as_dropping_one_block_after_the_other_would(
    drafted: Draft, data: st.DataObject
) -> None:
    sizes = sizes_of(drafted, lambda kept: drafted.sizes(kept).bytes)
    blocks = drafted.arrangement.blocks()
    allowed = data.draw(st.sampled_from(sizes))
    mandatory = sum(block.tier is Tier.MANDATORY for block in blocks)
    fitting = [count for count in range(mandatory, len(sizes)) if sizes[count] <= allowed]

    limit = Limit(measure=Measure.BYTES, allowed=allowed)
    outcome = pack(blocks, overflow=Overflow.OMIT_OPTIONAL, limits=[limit], measure=drafted.sizes)
    assert_grows(drafted, sizes)
    assert (outcome.sizes.bytes if isinstance(outcome, Packed) else None) == (sizes[fitting[-1]] if fitting else None)
    if isinstance(outcome, Packed):
        assert len(outcome.kept) == sum(len(block.positions) for block in packing_order(blocks)[: fitting[-1]])


@pytest.mark.parametrize("tokenizer", TOKENIZER_NAMES)
def test_tokens_grow_wherever_bytes_are_promised_to(tokenizer: str) -> None:
    """What packing takes for granted of the tokenizers at hand (R23)."""
    counter = get_counter(tokenizer)

    @FEW
    @given(drafted=drafts(st.sampled_from(Adapter)))
    def check(drafted: Draft) -> None:
        assert_grows(drafted, sizes_of(drafted, lambda kept: counter.count(drafted.body(kept))))

    check()


def test_a_packet_does_shrink_where_a_claim_is_no_longer_prohibited() -> None:
    """So that the tests above try something."""
    catalog = passages(facts_of("A", claims=[(LONG, "1", "says 1")]), "says 1 ", "x ")
    asking = request(requirements=[requires("long", claim(LONG), mandatory=False)])
    snapshot = holding(catalog)
    arrangement = arrange(
        asking, retrieval(catalog), snapshot=snapshot, units_of=units_of(catalog), rules=means().rules
    )

    drafted = draft(asking, arrangement, snapshot=snapshot, means=means(), prompt=None)
    sizes = sizes_of(drafted, lambda kept: drafted.sizes(kept).bytes)
    assert sizes[1] < sizes[0]
