"""What stands between a caller and what they may not use, and how is each of it broken?

Three barriers, each broken here as wholly as a fault could break it, so that the others can be seen to hold alone.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import Any
from unittest import mock

import evidence.eligibility
import index.compartments
import index.live
import server.attempts
import server.citing
import server.containment
import server.gate
import server.pipeline
import server.recalling
from evidence.eligibility import Eligibility, Standing
from evidence.identity import RevisionKey
from evidence.revision import RevisionFacts
from server.containment import Checked, Told
from server.views import Views


class Barrier(StrEnum):
    """In the order in which an answer passes them."""

    RANKING = "the gate before ranking"
    ASSEMBLY = "the gate at assembly, with the last look at the authority"
    CONTAINMENT = "the look at the finished answer"


@contextmanager
def broken(*barriers: Barrier) -> Iterator[None]:
    """With these barriers open to everything, for as long as this lasts."""
    with ExitStack() as stack:
        for barrier in barriers:
            for patched, name, wrong in _BROKEN[barrier]:
                stack.enter_context(mock.patch.object(patched, name, wrong))
        yield


@contextmanager
def shared_rules_broken() -> Iterator[None]:
    """With every revision visible to everybody by the rules that both gates go by, for as long as this lasts."""
    with ExitStack() as stack:
        for module in (evidence.eligibility, index.compartments):
            stack.enter_context(mock.patch.object(module, "admits", return_value=True))
        for module in (evidence.eligibility, index.compartments, index.live):
            stack.enter_context(mock.patch.object(module, "is_visible", return_value=True))
        yield


def alone(barrier: Barrier) -> tuple[Barrier, ...]:
    """All others."""
    return tuple(other for other in Barrier if other is not barrier)


def _all_usable(visible: Iterable[RevisionFacts], _: Eligibility) -> dict[RevisionKey, Standing]:
    return {facts.key: Standing.USABLE for facts in visible}


def _all_live(reading: Any, keys: Iterable[RevisionKey], _: Eligibility) -> dict[RevisionKey, Any]:
    held = reading.facts()
    return {key: (held[key], Standing.USABLE) for key in keys if key in held}


def _only_tell(checked: Checked, *, told: Told) -> None:
    told(checked)


_BROKEN: dict[Barrier, tuple[tuple[Any, str, Any], ...]] = {
    Barrier.RANKING: (
        (index.compartments, "admits", lambda *_: True),
        (index.compartments, "is_visible", lambda *_, **__: True),
        (index.compartments, "judge", _all_usable),
    ),
    Barrier.ASSEMBLY: (
        (server.gate, "live_standings", _all_live),
        (server.attempts, "has_lost", lambda *_: False),
        (Views, "epoch", lambda *_: "sha256:" + "0" * 64),
    ),
    Barrier.CONTAINMENT: tuple(
        (module, "conclude", _only_tell)
        for module in (server.containment, server.citing, server.recalling, server.pipeline)
    ),
}
