"""Which reranker serves, how much does it count, and when is it opened?

At the first request that asks for one: models take seconds to open. One that cannot be opened is stated in every
answer that would have used it (R15).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import structlog

from evidence.canonical import Json
from models.encoder import Encoder
from models.errors import ModelError
from models.late_interaction import LateInteraction
from models.loading import open_cross_encoder
from models.registry import find_cross_encoder
from models.reranker import Reranker
from models.runtime import runtime_names
from server.settings import Settings

UNAVAILABLE = "rerank: unavailable"
LATE_INTERACTION = "late-interaction"
# Late interaction over the encoder's own token vectors helps beside fusion and hurts alone: nDCG@10 on SciFact .733
# mixed at 0.2 against .731 fused and .712 alone; on NFCorpus .365 at 0.3, .359 and .352.
LATE_INTERACTION_WEIGHT = Fraction(1, 5)
CROSS_ENCODER_WEIGHT = Fraction(1)  # a model trained to rank decides alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """A reranker and the weight of its min-max score beside the fused one, 0 to 1."""

    reranker: Reranker
    weight: Fraction

    def record(self) -> dict[str, Json]:
        """For the manifest."""
        return {"name": self.reranker.name, "digest": self.reranker.digest, "weight": str(self.weight)}


class RerankerSlot:
    """Opens a reranker once, when it is first needed. Shared by the threads of a process."""

    def __init__(self, open_reranker: Callable[[], Mixed]) -> None:
        self._open = open_reranker
        self._opening = threading.Lock()
        self._mixed: Mixed | None = None
        self._broken = False
        self._log = structlog.get_logger("muniment.reranking")

    def get(self) -> Mixed | None:
        """The reranker, or None when it could not be opened; it is tried once."""
        with self._opening:
            if self._mixed is None and not self._broken:
                try:
                    self._mixed = self._open()
                except ModelError as error:
                    self._broken = True
                    self._log.error("the reranker is unavailable", reason=str(error))
            return self._mixed

    def record(self) -> dict[str, Json] | None:
        """What the manifest says of the reranker; None where there is none."""
        mixed = self.get()
        return None if mixed is None else mixed.record()


def open_reranker(settings: Settings, *, encoder: Encoder | None, device: str) -> Mixed:
    """The reranker that the settings name: late interaction over `encoder`, or a cross-encoder of the registry.

    Raises ModelError when it cannot be had.
    """
    if settings.reranker != LATE_INTERACTION:
        entry = find_cross_encoder(settings.reranker, folder=settings.models_dir)
        runtime = runtime_names(device)[0]
        opened = open_cross_encoder(entry, runtime=runtime, device=device, cache=settings.cache)
        return Mixed(reranker=opened, weight=CROSS_ENCODER_WEIGHT)
    if encoder is None:
        raise ModelError("late interaction needs the encoder, which is unavailable")
    return Mixed(reranker=LateInteraction(encoder, device=device), weight=LATE_INTERACTION_WEIGHT)
