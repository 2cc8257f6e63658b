"""The six slots and their trust (R24, R25)."""

from evidence.slots import DATA, INSTRUCTIONS, Slot


def test_only_the_policy_and_the_task_are_trusted_and_only_they_instruct() -> None:
    """R25."""
    trusted = [slot for slot in Slot if slot.trust == "trusted"]

    assert trusted == [Slot.SYSTEM_POLICY, Slot.TASK]
    assert tuple(trusted) == INSTRUCTIONS


def test_every_slot_that_does_not_instruct_is_data() -> None:
    assert {*INSTRUCTIONS, *DATA} == set(Slot)
    assert set(INSTRUCTIONS).isdisjoint(DATA)


def test_each_data_slot_has_the_trust_of_its_source() -> None:
    """R24."""
    assert {slot.value: slot.trust.value for slot in DATA} == {
        "conversation": "semi-trusted",
        "retrieved-evidence": "untrusted",
        "tool-results": "untrusted",
        "caller-turn": "trusted-as-intent",
    }
