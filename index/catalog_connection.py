"""How is the database of a catalog opened, read as one state, and written by one writer at a time?

The driver's default gives no snapshot: it opens a transaction only in front of a write. So the driver's own handling
is switched off, every read transaction begins with an explicit BEGIN, and every write transaction with BEGIN
IMMEDIATE (the hooks that SQLAlchemy documents for SQLite). In WAL mode readers never wait for the writer.
"""

import functools
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimedOut
from sqlalchemy.pool import ConnectionPoolEntry

from index.errors import CatalogBusy, CatalogFault, CatalogUnavailable, DamagedCatalog, NewerFormat

BUSY_TIMEOUT_S = 30.0  # how long a writer waits for another one
POOL_SIZE = 64  # read transactions at once in one process

_BEGIN = "muniment_begin"  # execution option: which BEGIN opens the transaction

# trusted_schema, cell_size_check: https://www.sqlite.org/security.html, for databases that may have been tampered with.
# Extensions cannot be loaded: the driver leaves that off. synchronous FULL: what was acknowledged survives a power cut.
# secure_delete: what was taken out is overwritten, not left in free pages.
_PRAGMAS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
)


def open_engine(file: Path) -> Engine:
    """An engine on the SQLite file, made when it is not there. Connects only when used."""
    engine = create_engine(
        URL.create("sqlite", database=str(file)),
        connect_args={"timeout": BUSY_TIMEOUT_S},
        pool_size=POOL_SIZE,
        max_overflow=0,
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "handle_error", _refuse_undecodable)
    return engine


def use_write_ahead_log(engine: Engine) -> None:
    """Switch the file to WAL, once, when it is made: the mode is kept in the file."""
    with faults_named():
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA journal_mode = WAL")
            mode = cursor.fetchall()
        finally:
            connection.close()
    if mode != [("wal",)]:
        raise CatalogUnavailable("its file system does not allow a write-ahead log")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state from its first statement on, whatever is committed meanwhile."""
    with faults_named(), engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """The only write transaction: committed at the end, rolled back on any error. Raises CatalogBusy."""
    with faults_named(), _immediate(engine) as connection, connection.begin():
        yield connection


@contextmanager
def rehearsing(engine: Engine) -> Iterator[Connection]:
    """A write transaction that is always rolled back: what would happen, with nothing of it kept."""
    with faults_named(), _immediate(engine) as connection:
        transaction = connection.begin()
        try:
            yield connection
        finally:
            transaction.rollback()


def _immediate(engine: Engine) -> Connection:
    return engine.connect().execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})


def migrate(connection: Connection) -> None:
    """Bring the tables to today's format, inside the caller's write transaction."""
    config = _migrations()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def is_current_format(connection: Connection) -> bool:
    """Whether the tables are today's. Raises NewerFormat, or DamagedCatalog when no format is stated."""
    found = MigrationContext.configure(connection).get_current_revision()
    if found is None:
        raise DamagedCatalog("its database states no format")
    known, all_known = _known_formats()
    if found not in all_known:
        raise NewerFormat(found=found, known=known)
    return found == known


@functools.cache
def _known_formats() -> tuple[str, frozenset[str]]:
    """Today's format, and every one so far. Read once a process: it takes milliseconds, and cannot change."""
    scripts = ScriptDirectory.from_config(_migrations())
    return str(scripts.get_current_head()), frozenset(script.revision for script in scripts.walk_revisions())


def _migrations() -> Config:
    config = Config()
    config.set_main_option("script_location", "index:migrations")
    config.set_main_option("path_separator", "os")
    return config


def problems(connection: Connection) -> list[str]:
    """What SQLite itself finds broken: pages, indexes, row counts, references. Reads the whole file."""
    found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check")]
    broken = [
        f"a row of {row[0]} refers to a missing row of {row[2]}"
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check")
    ]
    return [text for text in found if text != "ok"] + broken


@contextmanager
def faults_named() -> Iterator[None]:
    """Turn the driver's errors into ours, by SQLite's own result code; they never hold content.

    A broken constraint passes through: it is a mistake of this program, not a state of the catalog.
    """
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise _named(error.orig) from error
    except sqlite3.Error as error:
        raise _named(error) from error
    except PoolTimedOut as error:
        raise CatalogUnavailable(f"{POOL_SIZE} transactions are open already") from error


def _named(error: BaseException | None) -> CatalogFault:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # the primary code of an extended one
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return CatalogBusy()
    if code in _UNAVAILABLE:
        return CatalogUnavailable(_UNAVAILABLE[code])
    name = getattr(error, "sqlite_errorname", None)  # the driver gives none where it cannot decode a text
    return DamagedCatalog(_UNDECODABLE if name is None else f"SQLite says {name}")


_UNDECODABLE = "a text in it is not UTF-8"
_UNAVAILABLE = {
    sqlite3.SQLITE_PERM: "its files may not be opened",
    sqlite3.SQLITE_READONLY: "its files may not be written",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "its database cannot be opened",
    sqlite3.SQLITE_NOMEM: "memory ran out",
}


def _prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver itself opens no transaction
    cursor = connection.cursor()
    try:
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
    except UnicodeDecodeError as error:
        raise DamagedCatalog(_UNDECODABLE) from error
    finally:
        cursor.close()


def _refuse_undecodable(context: ExceptionContext) -> None:
    """The driver fails this way when the text of SQLite's own error quotes a damaged schema."""
    if isinstance(context.original_exception, UnicodeDecodeError):
        raise DamagedCatalog(_UNDECODABLE) from context.original_exception


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))
