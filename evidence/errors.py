"""Which mistakes in evidence can a caller correct? (pure)

EvidenceError
├── InvalidRecord              a record that is wrong at one place, which it names
│   ├── InvalidSource          a source record that breaks the schema
│   ├── InvalidRequest         a request that cannot be carried out as it stands
│   ├── InvalidQueryClass      a query class record that breaks the schema
│   ├── InvalidAuthorityRules  authority rules that break the schema
│   └── InvalidManifest        a record that is no manifest of ours, or one that was changed
├── InvalidInstant             a text that is no RFC 3339 date-time with a zone
├── InvalidNumber              a text that is no number, or one of too many digits
├── UnreadableBody             a rendered text that no adapter of ours wrote
└── NotCanonical               a value RFC 8785 cannot write (float, integer beyond 2^53)

BrokenGuarantee     not a caller's mistake: our own code broke a promise, and nothing may be handed over
"""


class EvidenceError(ValueError):
    """Something a caller gave cannot become evidence."""


class InvalidInstant(EvidenceError):
    """The text names no single moment."""


class InvalidNumber(EvidenceError):
    """The text writes no number, or one of too many digits. The message is one line and never content."""


class NotCanonical(EvidenceError):
    """The value has no canonical form here."""


class UnreadableBody(EvidenceError):
    """The text is no rendered packet of this adapter."""


class InvalidRecord(EvidenceError):
    """A record is wrong at one place.

    path: JSON path of the offending value, as `$.access.tenant`.
    problem: what is wrong and what is allowed; never the offending content.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class InvalidSource(InvalidRecord):
    """A source record breaks the schema."""


class InvalidRequest(InvalidRecord):
    """A request cannot be carried out as it stands."""


class InvalidQueryClass(InvalidRecord):
    """A query class record breaks the schema."""


class InvalidAuthorityRules(InvalidRecord):
    """Authority rules break the schema."""


class InvalidManifest(InvalidRecord):
    """A record is no manifest of ours, or one that was changed after it was sealed."""


class BrokenGuarantee(RuntimeError):
    """Something that our own code promises does not hold, so the answer must not leave."""
