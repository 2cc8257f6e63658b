"""Does what a principal may not see change one byte of what it gets, in this very catalog?

R6, carried out: beside the catalog one is made that holds only what the principal may see, for each view that the
questions take (`plan`). Both are asked the same through the whole HTTP application, and responses are compared
byte for byte. The clock stands at one moment and the stopwatch stands still on both sides, so that two headers are all
that is left out. Nothing is written into the catalog.
"""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

from eval.errors import Unproved
from eval.proof.comparing import first_difference
from eval.proof.plan import Part, holding, plan, unasked
from eval.proof.report import Found, Proof
from eval.proof.requests import Asked, Question
from evidence.access import Principal
from evidence.instant import Instant
from index.analysis import analyzer_for
from index.catalog import DATABASE
from index.errors import NotACatalog
from index.generation import GENERATIONS, current_name
from index.records import Records
from index.snapshot import Snapshot, Snapshots
from index.visible_copy import copy_part
from server import clock
from server.app import create_app
from server.errors import StartError
from server.in_process import HttpRequest, HttpResponse, ask
from server.keys import create_key, load_key
from server.opening import open_pipeline
from server.pipeline import Pipeline
from server.recording import Recorder
from server.settings import Settings
from server.timing import Stopwatch
from server.tokens import MAX_TOKEN_BYTES, issue

TOKEN_LIFETIME_S = 7 * 86400  # longer than any proof
RUNS_KEPT = 1000  # of the records of each side, which go with the folder
_OVERLOADED = frozenset({429, 503})
ROOM_BYTES = 64 << 20  # for records and what SQLite keeps beside its files

Progress = Callable[[str, int, int], None]  # step, done, of how many


def prove(
    directory: Path,
    principal: Principal,
    *,
    settings: Settings,
    questions: Sequence[Question] | None,
    limit: int | None,
    reencode: bool,
    progress: Progress,
) -> Proof:
    """Ask both catalogs, and say what was compared and where the answers part first.

    questions, limit: as of `plan`. reencode: the codes of the visible part are made again, not copied.
    Raises Unproved, StartError and NoGeneration, and what opening, reading and writing a catalog raise. What was made
    is gone when this ends, however it ends.
    """
    settings = settings.overridden({"allowed_hosts": ("*",)})  # else both would only say that the host is not served
    at, tally = clock.now(), _Tally()
    with (
        _beside(directory) as folder,
        _side(directory, principal, settings=settings, at=at, records=folder) as full,
        Snapshots(full.pipeline.catalog).pin() as snapshot,
    ):
        reading, copy = snapshot.reading, folder / "visible"
        parts = plan(reading, principal, questions=questions, limit=limit)
        total = sum(part.requests for part in parts)
        for part in parts:
            _copy(part, copy, full.pipeline, snapshot, reencode=reencode, progress=progress)
            with _side(copy, principal, settings=settings, at=at, records=copy) as visible:
                for answered in _compare(part, full, visible, tally):
                    progress("compare answers", answered, total)
            _require_still(full.pipeline, snapshot)
            shutil.rmtree(copy)
        if HTTPStatus.OK not in tally.statuses:
            raise Unproved(f"no request was answered: {_counted(tally.statuses)}; errors alone prove nothing")
        return Proof(
            sub=principal.sub,
            tenant=principal.tenant,
            of=holding(reading.facts(), reading.holdings.unit_counts),
            views=tuple(part.viewed for part in parts),
            not_asked=unasked(reading, principal, parts),
            statuses=dict(sorted(tally.statuses.items())),
            size_bytes=tally.size_bytes,
            differing=tally.differing,
            first=tally.first,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """The application over one catalog, and the token that it takes."""

    app: FastAPI
    pipeline: Pipeline
    token: str

    def ask(self, asked: Asked, portal: BlockingPortal) -> HttpResponse:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        request = HttpRequest(method=asked.method, target=asked.target, headers=headers, body=asked.body)
        return portal.call(ask, self.app, request)


@dataclass(slots=True, kw_only=True)
class _Tally:
    """What was compared so far."""

    statuses: Counter[int] = field(default_factory=Counter)
    size_bytes: int = 0
    differing: int = 0
    first: Found | None = None

    def add(self, asked: Asked, one: HttpResponse, other: HttpResponse) -> None:
        """Compare two responses to one request. Raises Unproved for an overload, and where neither is an answer."""
        if _OVERLOADED.intersection((one.status, other.status)):
            raise Unproved(
                f"{asked.route} ({asked.what}) met an overload: status {one.status} over the whole catalog,"
                f" {other.status} over what is visible; run the proof again when this machine has less to do"
            )
        difference = first_difference(one, other)
        if difference is not None:
            self.differing += 1
            self.first = self.first or Found(asked=asked, difference=difference)
        elif one.status >= 500:
            raise Unproved(
                f"{asked.route} ({asked.what}) ends with status {one.status} on both sides; the log says why, and"
                " nothing is proved by that"
            )
        self.statuses[one.status] += 1
        self.size_bytes += len(one.body)


def _compare(part: Part, full: _Side, visible: _Side, tally: _Tally) -> Iterator[int]:
    """Ask both sides everything, in the same order; after each answer how many there are by now."""
    with start_blocking_portal() as portal:
        for asked in part.asked():
            tally.add(asked, full.ask(asked, portal), visible.ask(asked, portal))
            yield tally.statuses.total()


@contextmanager
def _beside(directory: Path) -> Iterator[Path]:
    """A folder beside the catalog, for its owner alone, that is gone at the end."""
    place = directory.resolve()
    if not (place / DATABASE).is_file():
        raise NotACatalog(directory)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{place.name}.proof-", dir=place.parent))
    except OSError as error:
        problem = f"what is visible would be built here, beside the catalog: {error.strerror}"
        raise StartError(f"{place.parent}: {problem}") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _side(directory: Path, principal: Principal, *, settings: Settings, at: Instant, records: Path) -> Iterator[_Side]:
    """The application over the catalog in `directory` at a moment that stands still. `records`: the folder of its
    records."""
    with (
        open_pipeline(directory, settings=settings, clock=lambda: at, stopwatch=_standing_still) as pipeline,
        Records.open(records) as kept,
    ):
        key = load_key(directory)
        token = issue(principal, key=key, now_s=int(time.time()), lifetime_s=TOKEN_LIFETIME_S)
        if len(token) > MAX_TOKEN_BYTES:
            raise StartError(f"a token of this principal has {len(token)} bytes, and HTTP takes {MAX_TOKEN_BYTES}")
        longest = settings.records_max_days
        recorder = Recorder(kept, pipeline.catalog, max_runs=RUNS_KEPT, max_days=longest, clock=lambda: at)
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=key)
        yield _Side(app=app, pipeline=pipeline, token=token)


def _counted(statuses: Counter[int]) -> str:
    return ", ".join(f"{number} with status {status}" for status, number in sorted(statuses.items()))


def _standing_still() -> Stopwatch:
    return Stopwatch(lambda: 0.0)


def _copy(
    part: Part, directory: Path, whole: Pipeline, snapshot: Snapshot, *, reencode: bool, progress: Progress
) -> None:
    """The catalog of what one view shows."""
    if reencode and whole.encoder is None:
        raise StartError("codes cannot be made again: the encoder of the catalog's recipe is not at hand")
    _require_room(directory.parent, part, snapshot, whole.catalog.directory)
    copy_part(
        snapshot,
        directory,
        recipe=whole.catalog.recipe,
        keys=part.keys,
        revoked=part.revoked,
        analyzer=analyzer_for(whole.catalog.recipe),
        encoder=whole.encoder if reencode else None,
        prepare=create_key,
        progress=progress,
    )


def _require_room(folder: Path, part: Part, snapshot: Snapshot, directory: Path) -> None:
    """Raise StartError unless the copy has room: of database and index the visible share, and the log that SQLite
    writes before a large transaction is in the database."""
    files = [directory / DATABASE, *(directory / GENERATIONS / snapshot.segments.base.name).iterdir()]
    held = sum(file.stat().st_size for file in files) + files[0].stat().st_size
    share = part.viewed.visible.units / max(snapshot.reading.unit_count, 1)
    needed, free = int(held * share) + ROOM_BYTES, shutil.disk_usage(folder).free
    if free < needed:
        raise StartError(
            f"a catalog of what is visible takes up to {needed >> 20} MiB beside this one; {free >> 20} MiB are free"
        )


def _require_still(whole: Pipeline, snapshot: Snapshot) -> None:
    """Raise Unproved where the catalog is not what it was when the proof began."""
    with whole.catalog.read() as reading:
        moved = reading.change != snapshot.reading.change
    if moved or current_name(whole.catalog.directory) != snapshot.segments.base.name:
        raise Unproved("the catalog was written to meanwhile; run the proof again when nobody writes, or on a copy")
