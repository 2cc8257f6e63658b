"""Which revisions exist, under which label, in which words?

The authority; a generation is only a cache of it.

DIR/catalog.sqlite    everything below, in WAL mode
DIR/CURRENT           the name of the published generation, one line
DIR/generations/      what `index/publishing.py` publishes and `index/generation.py` opens
DIR/publish.lock      held by the one process that reindexes
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from types import TracebackType

from sqlalchemy import Connection, Engine, insert, select

from evidence.access import Label
from evidence.grants import Grant, Revocations, Subject, Token
from evidence.identity import RevisionKey, SourceKey
from index.catalog_coded import Encoded
from index.catalog_connection import (
    is_current_format,
    migrate,
    open_engine,
    problems,
    reading,
    rehearsing,
    use_write_ahead_log,
    writing,
)
from index.catalog_labels import Relabelled, relabel
from index.catalog_read import KeptHoldings, Reading
from index.catalog_removal import Removed, RolledBack, delete_source, roll_back
from index.catalog_revocations import KeptRevocations, Revoked, revoke
from index.catalog_tables import catalog_state
from index.catalog_watch import LatestRevocations
from index.catalog_write import IngestReport, NewRevision, add
from index.errors import DamagedCatalog, DirectoryNotEmpty, NotACatalog
from index.recipe import Recipe, read_recipe, write_recipe

DATABASE = "catalog.sqlite"


class Catalog:
    """An open catalog. May be shared by threads; close it, or use it as a context manager.

    Several processes may read and write the same directory: readers see one state, writers wait for each other.
    """

    def __init__(self, directory: Path, engine: Engine, recipe: Recipe) -> None:
        """Use `create` or `open`."""
        self.directory = directory
        self.recipe = recipe
        self._engine = engine
        self._kept = KeptHoldings()
        self._revocations = KeptRevocations()
        self._latest = LatestRevocations(directory / DATABASE)
        self._allow: Callable[[Revocations], object] | None = None

    @classmethod
    def create(cls, directory: Path, recipe: Recipe, *, prepare: Callable[[Path], object] | None = None) -> "Catalog":
        """A new, empty catalog in a new or empty directory, readable by its owner alone.

        It is made beside `directory` and put in place at the end, so that nothing half-made is left when anything
        fails. `prepare` gets the unfinished directory for what belongs to a catalog from its first moment, as keys.
        Raises DirectoryNotEmpty.
        """
        require_new(directory)
        directory.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        try:
            _make_database(unfinished / DATABASE, recipe)
            if prepare is not None:
                prepare(unfinished)
            unfinished.rename(directory)  # replaces an empty directory, and only an empty one
        except BaseException:
            shutil.rmtree(unfinished)
            raise
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path, *, quick_check: bool = True) -> "Catalog":
        """The catalog in `directory`. `quick_check` reads the whole database file once, and finds broken pages.

        Raises NotACatalog, NewerFormat, DamagedCatalog or CatalogUnavailable. An older format is brought up to date.
        """
        if not (directory / DATABASE).is_file():
            raise NotACatalog(directory)
        engine = open_engine(directory / DATABASE)
        try:
            with reading(engine) as connection:
                broken = problems(connection) if quick_check else []
                if broken:
                    raise DamagedCatalog(broken[0])
                current = is_current_format(connection)
            if not current:
                with writing(engine) as connection:
                    migrate(connection)
            with reading(engine) as connection:
                recipe = _stored_recipe(connection)
        except BaseException:
            engine.dispose()
            raise
        return cls(directory, engine, recipe)

    def while_allowed(self, allow: Callable[[Revocations], object]) -> "Catalog":
        """This catalog for a writer who may lose what it acts by: each write begins with `allow`, which gets what is
        revoked in that very state. Where it raises, nothing is written. Closing stays with whoever opened it."""
        other = copy(self)
        other._allow = allow
        return other

    def add(self, revisions: Iterable[NewRevision], *, relabel: bool, encoded: Encoded | None = None) -> IngestReport:
        """Take revisions in, all of them or, when one is refused, none. See `index/catalog_write.py`.

        Other writers wait while `revisions` is consumed; readers never do. What was returned is on the disk; with
        `encoded` it can be searched too, from now on and in every process.
        """
        with self.write() as connection:
            return add(connection, revisions, relabel=relabel, encoded=encoded)

    def rehearse(self, revisions: Iterable[NewRevision], *, relabel: bool) -> IngestReport:
        """What `add` would return or raise now. Nothing is written."""
        with rehearsing(self._engine) as connection:
            return add(connection, revisions, relabel=relabel)

    def delete(self, key: SourceKey) -> Removed | None:
        """Take out a source with all its revisions; None when there is no such source."""
        with self.write() as connection:
            return delete_source(connection, key)

    def relabel(self, key: SourceKey, label: Label) -> Relabelled | None:
        """Put a source with all its revisions under another label; None when there is no such source."""
        with self.write() as connection:
            return relabel(connection, key, label)

    def roll_back(self, ingest_id: str) -> RolledBack | None:
        """Undo what one `add` did; None when no `add` that changed anything has that id."""
        with self.write() as connection:
            return roll_back(connection, ingest_id)

    def revoke(self, what: Subject | Token | Grant | RevisionKey) -> Revoked:
        """Revoke a subject, a token, a grant or a revision. It cannot be taken back."""
        with self.write() as connection:
            return revoke(connection, what)

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """One consistent state of the catalog, for as long as the context lasts."""
        with reading(self._engine) as connection:
            yield Reading(connection, self._kept, self._revocations)

    def revocations_at_hand(self) -> Revocations | None:
        """What is revoked at this moment, by whichever process, where nothing was written since `read_revocations`;
        None otherwise. Takes microseconds and never waits."""
        return self._latest.at_hand()

    def read_revocations(self) -> Revocations:
        """What is revoked at this moment, by whichever process."""

        def read() -> Revocations:
            with self.read() as state:
                return state.revocations

        return self._latest.read_by(read)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction, also for the modules of this package that keep tables of their own in the catalog."""
        with writing(self._engine) as connection:
            if self._allow is not None:
                self._allow(Reading(connection, self._kept, self._revocations).revocations)
            yield connection

    def problems(self) -> list[str]:
        """What SQLite itself finds broken in the file."""
        with reading(self._engine) as connection:
            return problems(connection)

    def close(self) -> None:
        self._latest.close()
        self._engine.dispose()

    def __enter__(self) -> "Catalog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def require_new(directory: Path) -> None:
    """Raise DirectoryNotEmpty unless a catalog could be made in `directory`: it is not there, or empty."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise DirectoryNotEmpty(directory)


def _make_database(file: Path, recipe: Recipe) -> None:
    engine = open_engine(file)
    try:
        use_write_ahead_log(engine)
        with writing(engine) as connection:
            migrate(connection)
            connection.execute(
                insert(catalog_state).values(
                    only=True, recipe=write_recipe(recipe), recipe_digest=recipe.digest, change=0, revisions=0
                )
            )
    finally:
        engine.dispose()


def _stored_recipe(connection: Connection) -> Recipe:
    row = connection.execute(select(catalog_state.c.recipe, catalog_state.c.recipe_digest)).one_or_none()
    if row is None:
        raise DamagedCatalog("its recipe is missing")
    recipe = read_recipe(row.recipe)
    if recipe.digest != row.recipe_digest:
        raise DamagedCatalog("its recipe does not match its digest")
    return recipe
