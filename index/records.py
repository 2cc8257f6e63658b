"""Which answers were given, to whom, and what was said of them later?

`DIR/records.sqlite`, beside the catalog. A manifest is kept once for its packet id, however often it was answered;
each answer is a run. Useful for showing a caller their own manifest again and an auditor every run. Not useful for
deciding who may see one: whoever asks here has been judged already.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from sqlalchemy import Connection, and_, bindparam, insert, select, update

from evidence.identity import Namespace
from evidence.instant import Instant
from index.catalog_rows import AnyRow
from index.errors import DamagedRecords
from index.records_connection import RecordsFile
from index.records_tables import manifest, run

DATABASE = "records.sqlite"
LEVEL = 1  # zlib: level 6 takes twice as long for 7% fewer bytes (measured on manifests of 15 kB)

_PREFIX = "sha256:"
_PACKET = select(manifest.c.number).where(manifest.c.packet == bindparam("packet"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer to be kept. `packet_id` is `sha256:` and hex; `manifest` and `sealed` are JSON."""

    packet_id: str
    manifest: bytes
    namespace: Namespace  # of the caller: its tenant, or public
    sub: str
    at: Instant
    request_id: str
    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptManifest:
    """A manifest as it was answered, and whose it is."""

    manifest: bytes
    namespace: Namespace
    sub: str


class Records:
    """The records beside a catalog. May be shared by threads; close it, or use it as a context manager.

    Several processes may keep records in the same directory: each write is one transaction, and they take turns.
    """

    def __init__(self, file: RecordsFile) -> None:
        """Use `open`."""
        self._file = file

    @classmethod
    def open(cls, directory: Path) -> "Records":
        """The records in the catalog's `directory`, made when there are none yet; readable by its owner alone.

        Raises RecordsUnavailable or DamagedRecords.
        """
        return cls(RecordsFile(directory / DATABASE))

    def keep(self, answered: Answered) -> int:
        """Keep an answer: its manifest unless it is there, and one more run. Returns the run's number.

        All of it is kept, or nothing and RecordsUnavailable is raised. What returned survives the process's death.
        """
        packet = packet_bytes(answered.packet_id)
        if packet is None:
            raise ValueError("a packet id is sha256: and 64 hexadecimal digits")
        with self._file.reading() as connection:
            known = connection.execute(_PACKET, {"packet": packet}).first() is not None
        body = None if known else _compressed(answered.manifest)  # outside the transaction: others wait for that
        sealed = _compressed(answered.sealed)
        with self._file.writing() as connection:
            number = connection.execute(_PACKET, {"packet": packet}).scalar()
            if number is None:
                row = {"packet": packet, "namespace": answered.namespace, "sub": answered.sub}
                row["body"] = body or _compressed(answered.manifest)
                number = _inserted(connection.execute(insert(manifest), row).inserted_primary_key)
            return _inserted(
                connection.execute(
                    insert(run),
                    {
                        "manifest": number,
                        "namespace": answered.namespace,
                        "at": answered.at,
                        "request_id": answered.request_id,
                        "body": sealed,
                    },
                ).inserted_primary_key
            )

    def complete(self, number: int, sealed: bytes) -> None:
        """Put `sealed` in the place of what the run `number` was kept with. A run that was pruned stays away."""
        body = _compressed(sealed)
        with self._file.writing() as connection:
            connection.execute(update(run).where(run.c.number == number).values(body=body))

    def manifest_of(self, packet_id: str) -> KeptManifest | None:
        """The manifest of a packet, None where none is kept."""
        found = select(manifest.c.body, manifest.c.namespace, manifest.c.sub)
        with self._file.reading() as connection:
            row = connection.execute(found.where(manifest.c.packet == packet_bytes(packet_id))).first()
        if row is None:
            return None
        return KeptManifest(manifest=_whole(row.body), namespace=Namespace(row.namespace), sub=row.sub)

    def runs_of(self, packet_id: str, *, namespace: Namespace | None, after: str | None, limit: int) -> list[bytes]:
        """At most `limit` sealed records of a packet, in the order they were kept.

        namespace: only runs of callers of that one; None is all. after: begin behind the last run of that request id;
        nothing when the packet has no such run.
        """
        query = (
            select(run.c.body).join(manifest).where(manifest.c.packet == packet_bytes(packet_id)).order_by(run.c.number)
        )
        if namespace is not None:
            query = query.where(run.c.namespace == namespace)
        if after is not None:
            last = select(run.c.number).join(manifest)
            named = and_(manifest.c.packet == packet_bytes(packet_id), run.c.request_id == after)
            query = query.where(
                run.c.number > last.where(named).order_by(run.c.number.desc()).limit(1).scalar_subquery()
            )
        with self._file.reading() as connection:
            return [_whole(row.body) for row in connection.execute(query.limit(limit))]

    def latest_run_of(self, packet_id: str, *, namespace: Namespace) -> bytes | None:
        """The sealed record of a packet's last run by a caller of that namespace, None where none is kept."""
        query = select(run.c.body).join(manifest).where(manifest.c.packet == packet_bytes(packet_id))
        query = query.where(run.c.namespace == namespace).order_by(run.c.number.desc()).limit(1)
        with self._file.reading() as connection:
            body = connection.execute(query).scalar()
        return None if body is None else _whole(body)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One state, for the modules of this package that keep tables of their own among the records."""
        with self._file.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction, for the same modules."""
        with self._file.writing() as connection:
            yield connection

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "Records":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def packet_bytes(packet_id: str) -> bytes | None:
    """The 32 bytes that a packet id stands for, None where the text is no packet id."""
    digits = packet_id.removeprefix(_PREFIX)
    if len(packet_id) != len(_PREFIX) + 64 or len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
        return None
    return bytes.fromhex(digits)


def _inserted(key: AnyRow | None) -> int:
    assert key is not None
    return int(key[0])


def _compressed(body: bytes) -> bytes:
    return zlib.compress(body, LEVEL)


def _whole(body: bytes) -> bytes:
    try:
        return zlib.decompress(body)
    except zlib.error:
        raise DamagedRecords("a record cannot be unpacked") from None
