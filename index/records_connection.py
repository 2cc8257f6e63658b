"""How is the file of the records opened, read, and written by one writer at a time?

As the catalog's own database (see `index/catalog_connection.py`), but in a file beside it, so that keeping a record
never waits for an ingest, with a shorter patience, and without a sync for every commit: what was committed survives
the death of the process, while a power cut may take the last moments before it. The file itself stays whole.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from index import catalog_connection
from index.errors import CatalogFault, CatalogUnavailable, DamagedRecords, RecordsFault, RecordsUnavailable
from index.records_tables import METADATA

FORMAT = 1  # the file's `user_version`; 0 is a new file
PATIENCE_MS = 2000  # a request waits no longer for another process's writing

_PRAGMAS = ("PRAGMA synchronous = NORMAL", f"PRAGMA busy_timeout = {PATIENCE_MS}")


class RecordsFile:
    """An open file of records, made with its tables when it is not there. Shared by the threads of a process."""

    def __init__(self, file: Path) -> None:
        """Raises RecordsUnavailable or DamagedRecords; a file of a later format is one that cannot be read."""
        try:
            file.touch(mode=0o600)  # SQLite gives the files beside it the same mode
        except OSError as error:
            raise RecordsUnavailable(error.strerror or "their file cannot be made") from error
        self._engine = catalog_connection.open_engine(file)
        self._writing = threading.Lock()  # threads take turns here, without SQLite's polling
        event.listen(self._engine, "connect", _prepare)
        try:
            self._make()
        except BaseException:
            self._engine.dispose()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One state of the records."""
        with _named(), catalog_connection.reading(self._engine) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction: all of it is kept, or nothing. Raises RecordsUnavailable when it cannot be."""
        if not self._writing.acquire(timeout=PATIENCE_MS / 1000):
            raise RecordsUnavailable("too many answers are waiting to be recorded")
        try:
            with _named(), catalog_connection.writing(self._engine) as connection:
                yield connection
        finally:
            self._writing.release()

    def close(self) -> None:
        self._engine.dispose()

    def _make(self) -> None:
        with _named():
            catalog_connection.use_write_ahead_log(self._engine)
        with self.reading() as connection:
            found = _format(connection)
        if found == FORMAT:
            return
        with self.writing() as connection:
            if _format(connection) > FORMAT:
                raise RecordsUnavailable(f"they have format {found}, this version knows formats up to {FORMAT}")
            METADATA.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")


@contextmanager
def _named() -> Iterator[None]:
    """The catalog's errors, said of the records."""
    try:
        yield
    except CatalogFault as error:
        raise _of_records(error) from error


def _of_records(error: CatalogFault) -> RecordsFault:
    if isinstance(error, CatalogUnavailable):
        return RecordsUnavailable(error.problem)
    return DamagedRecords(getattr(error, "what", "their file is no database of records"))


def _format(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def _prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    try:
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
    finally:
        cursor.close()
