"""What is revoked at this moment, in microseconds?

SQLite tells a connection whether anything was committed by another one, of whichever process, without reading a page:
`PRAGMA data_version` (https://www.sqlite.org/pragma.html#pragma_data_version). While it says no, what was read last
still holds. Useful where every request must look. Not useful for reading anything else: a state is read by `Catalog`.
"""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from evidence.grants import Revocations


class LatestRevocations:
    """The revocations that were read last, and whether they are still the latest. Shared by threads; close it.

    Opens its one connection when it is first asked. Never waits for a lock of the database.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._held: tuple[int, Revocations] | None = None

    def at_hand(self) -> Revocations | None:
        """What is revoked now; None where it must be read: something was written, or nothing can be told now."""
        held = self._held
        return held[1] if held is not None and held[0] == self._version() else None

    def read_by(self, read: Callable[[], Revocations]) -> Revocations:
        """What `read` gives from a transaction that it begins itself; kept for as long as nothing is written."""
        version = self._version()  # before: what is committed in between is read, and still counts as written since
        revocations = read()
        self._held = None if version is None else (version, revocations)
        return revocations

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._held = None, None

    def _version(self) -> int | None:
        """A number that only this connection knows, another one after each commit; None where the database does not
        say: whoever then reads it learns why."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = sqlite3.connect(
                        f"{self._file.absolute().as_uri()}?mode=rw",
                        uri=True,
                        timeout=0,
                        isolation_level=None,
                        check_same_thread=False,
                    )
                version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
            except sqlite3.Error:
                return None
            return version
