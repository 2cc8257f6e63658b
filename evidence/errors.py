"""Which mistakes in evidence can a caller correct? (pure)

EvidenceError
├── InvalidSource          a source record that breaks the schema; names the place
├── InvalidRequest         a request that cannot be carried out as it stands; names the place
├── InvalidQueryClass      a query class record that breaks the schema; names the place
├── InvalidAuthorityRules  authority rules that break the schema; names the place
├── InvalidManifest        a record that is no manifest, or one that was changed; names the place
├── InvalidInstant         a text that is no RFC 3339 date-time with a zone
├── UnreadableBody         a rendered text that no adapter of ours wrote
└── NotCanonical           a value RFC 8785 cannot write (float, integer beyond 2^53)

BrokenGuarantee     not a caller's mistake: our own code broke a promise, and nothing may be handed over
"""


class EvidenceError(ValueError):
    """Something a caller gave cannot become evidence."""


class InvalidInstant(EvidenceError):
    """The text names no single moment."""


class NotCanonical(EvidenceError):
    """The value has no canonical form here."""


class InvalidSource(EvidenceError):
    """A source record breaks the schema.

    path: JSON path of the offending value, as `$.access.tenant`.
    problem: what is wrong and what is allowed; never the offending content.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class InvalidRequest(EvidenceError):
    """A request that cannot be carried out as it stands.

    path: JSON path in the request, as `$.budget.max_tokens`.
    problem: what is wrong and what is allowed; never the offending content.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class InvalidQueryClass(EvidenceError):
    """A query class record breaks the schema.

    path: JSON path in the record, as `$.slot_budgets.task`.
    problem: what is wrong and what is allowed; never the offending content.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class InvalidAuthorityRules(EvidenceError):
    """A record of authority rules breaks the schema.

    path: JSON path in the record, as `$.rules[0].order`.
    problem: what is wrong and what is allowed; never the offending content.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class InvalidManifest(EvidenceError):
    """A record that is no manifest of ours, or one that was changed after it was sealed.

    path: where in the manifest, as `hashes.manifest`. problem: what is wrong; never the offending content.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class UnreadableBody(EvidenceError):
    """The text is no rendered packet of this adapter."""


class BrokenGuarantee(RuntimeError):
    """Something that our own code promises does not hold, so the answer must not leave."""
