"""What is handed over beside the packet: the written body, its sizes and its slots? (pure)"""

from evidence.canonical import Json
from evidence.draft import Draft
from evidence.packing import Packed
from evidence.slots import Slot


def rendered_record(drafted: Draft, body: str, packed: Packed) -> dict[str, Json]:
    """The `rendered` block of an accepted answer; slots in their order, each with its own tokens and notice."""
    request, meter, sizes = drafted.request, drafted.meter, packed.sizes
    budgets = request.query_class.budgets
    slots: dict[Slot, dict[str, Json]] = {
        segment.slot: {
            "slot": segment.slot.value,
            "trust": segment.trust.value,
            "tokens": None if meter is None else meter.count(segment.text),
            "budget": None if meter is None else budgets[segment.slot],
            "notice": segment.notice,
        }
        for segment in drafted.frame(packed.kept).segments
    }
    slots[Slot.RETRIEVED_EVIDENCE] = {
        "slot": Slot.RETRIEVED_EVIDENCE.value,
        "trust": Slot.RETRIEVED_EVIDENCE.trust.value,
        "tokens": sizes.evidence_tokens,
        "budget": None if meter is None else budgets[Slot.RETRIEVED_EVIDENCE],
        "notice": _cut_notice(packed),
    }
    return {
        "adapter": request.adapter.value,
        "body": body,
        "bytes": sizes.bytes,
        "tokens": sizes.tokens,
        "tokenizer": None if meter is None else meter.name,
        "slots": [slots[slot] for slot in Slot if slot in slots],
    }


def _cut_notice(packed: Packed) -> str | None:
    if not packed.dropped:
        return None
    return f"{len(packed.dropped)} of {len(packed.dropped) + len(packed.kept)} passages are left out for space"
