"""What can go wrong between a catalog, its index and whoever asks them?

IndexFault
├── CatalogFault             the directory, or the database in it
│   ├── NotACatalog          the path holds no catalog
│   ├── DirectoryNotEmpty    a catalog is only made in a new or empty directory
│   ├── NewerFormat          written by a later version of this program
│   ├── DamagedCatalog       a checksum or an invariant does not hold
│   └── CatalogUnavailable   the authority cannot be read or written now (disk, permission)
│       └── CatalogBusy      another writer held it for too long
├── CodesMissing             codes were to be kept with their revisions, and some are not there
├── IngestRefused            a revision the catalog does not take; names its key, never its content
│   ├── InvalidRevision      text, facts and units do not belong together
│   ├── RevisionChanged      the same key with other bytes: a correction is a new revision
│   ├── LabelChanged         another label than its source has, and no relabel was asked for
│   └── SupersedesCycle      the revision would supersede itself through others
├── GenerationFault          the published index
│   ├── NoGeneration         nothing was published yet
│   ├── DamagedGeneration    a file is missing, cut or changed
│   ├── PublishFailed        the disk refused; what was in force still is
│   └── PublisherBusy        another process is reindexing this catalog
├── RecordsFault             the records of what was answered
│   ├── RecordsUnavailable   they cannot be read or written now (disk, lock, permission)
│   └── DamagedRecords       a record does not read back as it was written
└── RecipeMismatch           rows or queries of another recipe than the catalog's (R10)
"""

from pathlib import Path

from evidence.identity import RevisionKey


class IndexFault(Exception):
    """Something the index cannot do as asked."""


class CatalogFault(IndexFault):
    """The catalog as a whole."""


class NotACatalog(CatalogFault):
    """`directory` holds no catalog."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} holds no catalog; `muniment init` makes one")
        self.directory = directory


class DirectoryNotEmpty(CatalogFault):
    """A catalog is only made in a directory that is new or empty."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} is not an empty directory; a catalog is only made in a new or empty one")
        self.directory = directory


class NewerFormat(CatalogFault):
    """The catalog was written by a later version. `found` and `known` name the formats."""

    def __init__(self, *, found: str, known: str) -> None:
        super().__init__(f"catalog has format {found}, this version knows formats up to {known}; use a newer version")
        self.found = found
        self.known = known


class DamagedCatalog(CatalogFault):
    """A checksum or invariant does not hold. `what` says which, without content."""

    def __init__(self, what: str) -> None:
        super().__init__(f"catalog is damaged: {what}; `muniment verify` lists all damage")
        self.what = what


class CatalogUnavailable(CatalogFault):
    """The authority cannot be read or written now."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"catalog is unavailable: {problem}")
        self.problem = problem


class CatalogBusy(CatalogUnavailable):
    """Another writer holds the catalog."""

    def __init__(self) -> None:
        super().__init__("another process is writing to it; try again when it is done")


class CodesMissing(IndexFault):
    """Codes were to be kept together with their revisions; `units` of those have none. Encode them, and add again."""

    def __init__(self, *, units: int) -> None:
        super().__init__(f"{units} units have no code; encode what is missing and add again")
        self.units = units


class IngestRefused(IndexFault):
    """A revision the catalog does not take."""

    def __init__(self, key: RevisionKey, problem: str) -> None:
        super().__init__(f"{describe(key)}: {problem}")
        self.key = key
        self.problem = problem


class InvalidRevision(IngestRefused):
    """Text, facts and units do not belong together."""


class RevisionChanged(IngestRefused):
    """The catalog holds this key with other bytes."""

    def __init__(self, key: RevisionKey) -> None:
        super().__init__(key, "is in the catalog with other content; a correction is a new revision")


class LabelChanged(IngestRefused):
    """The source has another label, and no relabel was asked for."""

    def __init__(self, key: RevisionKey) -> None:
        super().__init__(
            key, "its label differs from the label of its source; all revisions share one, ask for relabel"
        )


class SupersedesCycle(IngestRefused):
    """`cycle` names the revisions in order; the first is superseded by itself through the others."""

    def __init__(self, cycle: tuple[RevisionKey, ...]) -> None:
        path = " -> ".join(describe(key) for key in (*cycle, cycle[0]))
        super().__init__(cycle[0], f"`supersedes` runs in a circle: {path}")
        self.cycle = cycle


class GenerationFault(IndexFault):
    """The published index as a whole."""


class NoGeneration(GenerationFault):
    """Nothing was published yet."""

    def __init__(self) -> None:
        super().__init__("the catalog has no published index yet; `muniment reindex` builds one")


class DamagedGeneration(GenerationFault):
    """`part` of generation `name` is not what was published."""

    def __init__(self, *, name: str, part: str, problem: str) -> None:
        super().__init__(f"generation {name}: {part}: {problem}; `muniment reindex` builds it again")
        self.name = name
        self.part = part
        self.problem = problem


class PublishFailed(GenerationFault):
    """A write or sync failed. `problem` is the system's word for it."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the new index could not be published: {problem}; the one before is still in force")
        self.problem = problem


class PublisherBusy(GenerationFault):
    """Another process holds the publisher's lock."""

    def __init__(self) -> None:
        super().__init__("another process is reindexing this catalog; wait until it is done")


class RecordsFault(IndexFault):
    """The records of what was answered."""


class RecordsUnavailable(RecordsFault):
    """The records cannot be read or written now. `problem` is the system's word for it."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the records are unavailable: {problem}")
        self.problem = problem


class DamagedRecords(RecordsFault):
    """A record does not read back as it was written. `what` says which, without content."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the records are damaged: {what}")
        self.what = what


class RecipeMismatch(IndexFault):
    """`part` of the recipe differs: the catalog was made with `expected`, and `got` was offered."""

    def __init__(self, *, part: str, expected: str, got: str) -> None:
        super().__init__(f"the catalog's recipe has {part} {expected}, got {got}; rows of two recipes are never mixed")
        self.part = part
        self.expected = expected
        self.got = got


def describe(key: RevisionKey) -> str:
    """A revision's key as messages show it.

    >>> describe(RevisionKey("blue", "SB-A-7", "2"))
    "revision '2' of source 'SB-A-7' in 'blue'"
    """
    return f"revision {key.revision!r} of source {key.source_id!r} in {key.namespace!r}"
