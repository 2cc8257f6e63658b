"""Which packets hold hostile texts wherever something from outside can stand?

Packed as a server packs them, by `assemble`: the selection is written, measured with a model's own tokenizer, accepted
or refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from evidence.adapters import Adapter
from evidence.assembly import Assembled, assemble
from evidence.budget import Budget, TokenMeter
from evidence.chat import ChatTemplate
from evidence.conversation import number_turns
from evidence.envelope import Candidate, UnitsOf
from evidence.means import Means
from evidence.ranking import Retrieval
from evidence.request import PacketRequest
from evidence.revision import Claim
from evidence.slots import Slot
from evidence.snapshot import Snapshot
from evidence.tool_results import ToolResult
from tests import builders
from tests.evidence.answers import holding, units_of

UNITS, OF_A_UNIT, BESIDE = 25, 5, 28
BATCH = UNITS * OF_A_UNIT + BESIDE  # texts in a packet
SAID = 16  # the last of them: in the conversation and in the tool results
WORD = "word"
_ROOMY = replace(builders.EXPLANATORY, budgets=dict.fromkeys(Slot, 10**6))  # only turns beyond the sixth are folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request with everything that it is answered from, so that it can be asked again under another budget."""

    request: PacketRequest
    snapshot: Snapshot
    retrieval: Retrieval
    means: Means
    units_of: UnitsOf

    def counted_by(self, meter: TokenMeter) -> "Question":
        """The same question, for a model whose tokens can be counted."""
        return replace(
            self, request=replace(self.request, tokenizer=meter.name), means=replace(self.means, meter=meter)
        )

    def answer(self, budget: Budget) -> Assembled:
        return assemble(
            replace(self.request, budget=budget),
            snapshot=self.snapshot,
            retrieval=self.retrieval,
            means=self.means,
            units_of=self.units_of,
        )


def question(texts: Sequence[str], *, adapter: Adapter, template: ChatTemplate | None) -> Question:
    """A question about BATCH texts, each in a place of its own: source id, title, headings or passage of a unit; the
    last ones in claims, owners, requirements and the scope, and in the slots beside the evidence. Two units are in
    conflict, and two roles are filled by none."""
    assert len(texts) == BATCH
    inside, beside = texts[:-BESIDE], texts[-BESIDE:]
    role, purpose, subject = beside[:3]
    selection = list(_units(inside, conflict=beside[3:8]))
    who = builders.principal(roles=(role,), purposes=(purpose,))
    return Question(
        request=_request(beside[8:], role=role, adapter=adapter),
        snapshot=holding(selection, asked=builders.eligibility(who, purpose=purpose, subject=subject)),
        retrieval=builders.retrieval(selection),
        means=builders.means(template=template),
        units_of=units_of(selection),
    )


def _request(texts: Sequence[str], *, role: str, adapter: Adapter) -> PacketRequest:
    key, value, family, query, *turns = texts[:-8]
    tool, column, *cells = texts[-8:]
    return builders.request(
        query=query,
        query_class=_ROOMY,
        adapter=adapter,
        requirements=[
            builders.requires(f"{role} 1", builders.claim(f"{key} 1", value), mandatory=False),
            builders.requires(f"{role} 2", builders.family(family), mandatory=False),
        ],
        conversation=()
        if adapter is Adapter.JSON
        else number_turns([("user" if place % 2 == 0 else "assistant", turn) for place, turn in enumerate(turns)]),
        tool_results=()
        if adapter is Adapter.JSON
        else [
            ToolResult(
                tool=tool,
                columns=(column, f"{column} 2"),
                rows=tuple((cell, place) for place, cell in enumerate(cells)),
            )
        ],
    )


def _units(texts: Sequence[str], *, conflict: Sequence[str]) -> Iterator[Candidate]:
    """The units, best first. The first two claim different values under one key, and have owners."""
    key, *values, first_owner, second_owner = conflict
    for place in range(UNITS):
        source_id, title, *heading, text = texts[place * OF_A_UNIT : (place + 1) * OF_A_UNIT]
        facts = builders.revision(f"{source_id} {place}", title=title, text=text)
        if place < len(values):
            claim = Claim(key=key, value=f"{values[place]} {place}", quote=text)
            facts = replace(facts, claims=(claim,), owner=(first_owner, second_owner)[place])
        found = builders.candidate(facts, text, rank=place + 1)
        yield replace(found, unit=replace(found.unit, heading=tuple(heading)))


def batches(payloads: Sequence[str]) -> Iterator[list[str]]:
    """Payloads, so many to a packet; the last packet is filled up. An empty one stands as a word."""
    for start in range(0, len(payloads), BATCH):
        batch = [text or WORD for text in payloads[start : start + BATCH]]
        yield [*batch, *[WORD] * (BATCH - len(batch))]
