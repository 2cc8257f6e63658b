"""What is known of one version of a source, apart from its text? (pure)"""

from dataclasses import dataclass, field
from enum import StrEnum

from evidence.access import Label
from evidence.canonical import Json, digest
from evidence.identity import RevisionKey
from evidence.instant import Instant, format_instant


class Status(StrEnum):
    """The publisher's word on a revision. Currency is derived per scope, never stored (R4)."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement that a unit makes: the unit that holds the first occurrence of `quote` owns it."""

    key: str
    value: str
    quote: str

    def record(self) -> dict[str, Json]:
        return {"key": self.key, "value": self.value, "quote": self.quote}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictSide:
    """Which passage of a revision a declared conflict means: exactly one of the two is set."""

    claim: str | None = None
    quote: str | None = None

    def record(self) -> dict[str, Json]:
        return {"claim": self.claim} if self.claim is not None else {"quote": self.quote}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A declared `contradicts` relation to a source, any revision. `namespace` is resolved already (own, or public)."""

    namespace: str
    source_id: str
    here: ConflictSide | None = None
    there: ConflictSide | None = None

    def record(self) -> dict[str, Json]:
        return {
            "namespace": self.namespace,
            "source_id": self.source_id,
            "here": None if self.here is None else self.here.record(),
            "there": None if self.there is None else self.there.record(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFacts:
    """Immutable facts of a revision; the text itself stays in the catalog, known here by its digest.

    The effective interval is `[effective_from, effective_to)`; None is open. `label` is the source's.
    `metadata` is the canonical JSON of an object whose values are strings, integers, booleans, or lists of those.
    `was_draft`: of a revoked revision, whether it was revoked before it was ever published. Raises ValueError for one
    of any other status.
    """

    key: RevisionKey
    label: Label
    title: str = ""
    family: str = ""
    owner: str = ""
    authority: str = ""
    status: Status = Status.CURRENT
    was_draft: bool = False
    effective_from: Instant | None = None
    effective_to: Instant | None = None
    supersedes: tuple[RevisionKey, ...] = ()
    contradicts: tuple[Contradiction, ...] = ()
    claims: tuple[Claim, ...] = ()
    applies_to: tuple[str, ...] = ()
    citable_for: tuple[str, ...] = ()
    metadata: str = "{}"
    text_digest: str
    digest: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.was_draft and self.status is not Status.REVOKED:
            raise ValueError(f"only a revoked revision was a draft, and this one is {self.status.value}")
        object.__setattr__(self, "digest", digest(self.record()))

    @property
    def is_published(self) -> bool:
        """Whether it ever was. A draft is not, and revoking one publishes nothing (R3)."""
        return self.status is not Status.DRAFT and not self.was_draft

    def content_record(self) -> dict[str, Json]:
        """The facts without the label: what decides whether a revision offered again is the same (R29)."""
        return {
            "namespace": self.key.namespace,
            **self.source_record(),
            **({"was_draft": True} if self.was_draft else {}),
            "supersedes": [list(key) for key in self.supersedes],
            "contradicts": [relation.record() for relation in self.contradicts],
            "claims": [claim.record() for claim in self.claims],
            "applies_to": self.applies_to,
            "citable_for": self.citable_for,
            "metadata": self.metadata,
            "text": self.text_digest,
        }

    def source_record(self) -> dict[str, Json]:
        """What names and describes the revision wherever it is shown, its namespace apart."""
        return {
            "source_id": self.key.source_id,
            "revision": self.key.revision,
            "title": self.title,
            "family": self.family,
            "owner": self.owner,
            "authority": self.authority,
            "status": self.status.value,
            "effective_from": _instant(self.effective_from),
            "effective_to": _instant(self.effective_to),
        }

    def record(self) -> dict[str, Json]:
        """All facts as a canonical record, the label among them."""
        return {**self.content_record(), "label": self.label.record()}


def _instant(at: Instant | None) -> str | None:
    return None if at is None else format_instant(at)
