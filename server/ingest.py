"""How do sources become revisions and units of a catalog?

What comes in was checked whole (`server/sources.py`); then one transaction takes all of it or nothing. A little new
text is encoded before it is written and can be searched at once; more waits for the next reindex.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evidence.canonical import Json, digest
from evidence.counted import counted
from evidence.identity import RevisionKey
from evidence.source_record import SourceRevision
from evidence.unit import Unit
from index.catalog import Catalog
from index.catalog_write import IngestReport, NewRevision
from index.chunking import QuoteTooLong, TokenCounter, chunk
from index.intake import Encode, take_in, to_make_searchable
from index.recipe import Recipe
from server.source_place import Place, SourceFileError
from server.sources import CheckedSources

Progress = Callable[[str, int, int], None]  # step, done, of how many (0: not known)
RATE_TEXTS = 8  # texts encoded to tell the time to expect
SMALL_BYTES = 16 * 1024 * 1024  # of text of an input that is held in memory whole, as the body of a request is
SMALL_TOKENS = 50_000  # encoder tokens that are made searchable at once: some seconds on two cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an ingest did, or would do. `seconds_to_encode` is an estimate, for people, of a dry run only.

    searchable: whether all of it can be searched now, without a reindex.
    """

    report: IngestReport
    dry_run: bool
    searchable: bool = False
    seconds_to_encode: float | None = None

    def record(self) -> dict[str, Json]:
        """The outcome as JSON."""
        report = self.report
        record: dict[str, Json] = {
            "ingest_id": report.ingest_id,
            "accepted": report.accepted,
            "unchanged": report.unchanged,
            "relabelled": report.relabelled,
            "units": report.units,
            "tokens": report.tokens,
            "text_bytes": report.text_bytes,
            "dry_run": self.dry_run,
            "searchable": self.searchable,
        }
        if self.seconds_to_encode is not None:
            record["seconds_to_encode"] = round(self.seconds_to_encode)
        return record

    def lines(self) -> list[str]:
        """The outcome for people."""
        report = self.report
        verb = "would accept" if self.dry_run else "accepted"
        changes = (
            f"{verb} {counted(report.accepted, 'revision')} ({counted(report.units, 'unit')},"
            f" {counted(report.tokens, 'encoder token')}, {counted(report.text_bytes, 'byte')} of text);"
            f" {report.unchanged} unchanged; {counted(report.relabelled, 'source')} relabelled"
        )
        lines = [changes]
        if self.seconds_to_encode is not None:
            lines.append(f"reindex would take about {round(self.seconds_to_encode)} s for their encoding")
        if not self.dry_run:
            lines.append(f"ingest id {report.ingest_id}")
        if self.searchable:
            lines.append("all of it can be searched now")
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunker:
    """How a recipe cuts texts: its window less the document prompt, its target, its prefix rule."""

    counter: TokenCounter
    window: int
    target: int
    contextual: bool

    @classmethod
    def of(cls, recipe: Recipe, counter: TokenCounter, *, document_window: int) -> "Chunker":
        """The chunker of a recipe, over its encoder's own tokenizer and the window left beside the document prompt."""
        return cls(
            counter=counter,
            window=document_window,
            target=recipe.chunk_target,
            contextual=recipe.contextual,
        )

    def cut(self, place: Place, source: SourceRevision) -> NewRevision:
        """A source with its units. Raises SourceFileError when a quote is longer than the encoder's window."""
        facts = source.facts
        try:
            units = chunk(
                facts.key,
                title=facts.title,
                text=source.text,
                quotes=source.quotes,
                counter=self.counter,
                window=self.window,
                target=self.target,
                contextual=self.contextual,
            )
        except QuoteTooLong as error:
            raise SourceFileError(place, problem=str(error)) from None
        return NewRevision(facts=facts, text=source.text, units=units)


def ingest(
    catalog: Catalog,
    sources: CheckedSources,
    *,
    relabel: bool,
    chunker: Chunker,
    progress: Progress,
    encode: Encode | None = None,
) -> Outcome:
    """Take in all of `sources`, or nothing when the catalog refuses one of them.

    With `encode`, an input of at most SMALL_BYTES of which at most SMALL_TOKENS cannot be searched yet can be searched
    when this returns. What is larger, and everything without `encode`, waits for a reindex.
    """
    if encode is None or sources.text_bytes > SMALL_BYTES:
        offered = _offered(catalog, sources, chunker, progress)
        return Outcome(report=catalog.add(offered, relabel=relabel), dry_run=False)
    revisions = list(_offered(catalog, sources, chunker, _but_for_the_end(progress)))
    if sum(unit.tokens for unit in to_make_searchable(catalog, revisions)) > SMALL_TOKENS:
        return Outcome(report=catalog.add(revisions, relabel=relabel), dry_run=False)
    return _ingest_searchable(catalog, revisions, relabel=relabel, encode=encode, progress=progress)


def ingest_searchable(
    catalog: Catalog, sources: CheckedSources, *, chunker: Chunker, encode: Encode, progress: Progress
) -> Outcome:
    """Take in all of `sources`, held in memory, or nothing; whatever its size it can be searched when this returns."""
    revisions = list(_offered(catalog, sources, chunker, progress))
    return _ingest_searchable(catalog, revisions, relabel=False, encode=encode, progress=progress)


def _ingest_searchable(
    catalog: Catalog, revisions: Sequence[NewRevision], *, relabel: bool, encode: Encode, progress: Progress
) -> Outcome:
    report = take_in(
        catalog,
        revisions,
        relabel=relabel,
        encode=encode,
        progress=lambda done, total: progress("encode", done, total),
    )
    return Outcome(report=report, dry_run=False, searchable=True)


def rehearse(
    catalog: Catalog,
    sources: CheckedSources,
    *,
    relabel: bool,
    chunker: Chunker,
    progress: Progress,
    encode: Callable[[Sequence[str]], object],
) -> Outcome:
    """What `ingest` would do, refusals included, and how long encoding would take. Nothing is written."""
    samples: list[Unit] = []

    def sampled() -> Iterator[NewRevision]:
        for new in _offered(catalog, sources, chunker, progress):
            if len(samples) < RATE_TEXTS:
                samples.append(new.units[0])
            yield new

    report = catalog.rehearse(sampled(), relabel=relabel)
    return Outcome(report=report, dry_run=True, seconds_to_encode=report.tokens / _tokens_per_second(samples, encode))


def _but_for_the_end(progress: Progress) -> Progress:
    """Progress of a step after which the catalog may still refuse everything: that it is done is no news then."""

    def report(step: str, done: int, total: int) -> None:
        if done < total or not total:
            progress(step, done, total)

    return report


def _offered(catalog: Catalog, sources: CheckedSources, chunker: Chunker, progress: Progress) -> Iterator[NewRevision]:
    """Each source with its units; one that the catalog holds already is not cut again."""
    with catalog.read() as reading:
        held = reading.holdings.content_digests
    for done, (place, source) in enumerate(sources.read(), start=1):
        units: Sequence[Unit] | None = None
        if held.get(source.facts.key) == digest(source.facts.content_record()):
            units = _units_held(catalog, source.facts.key)
        if units is None:
            yield chunker.cut(place, source)
        else:
            yield NewRevision(facts=source.facts, text=source.text, units=units)
        progress("cut sources", done, sources.revisions)


def _units_held(catalog: Catalog, key: RevisionKey) -> list[Unit] | None:
    """The units of a revision; None when it was taken out meanwhile."""
    with catalog.read() as reading:
        return reading.units_of(key) if key in reading.facts() else None


def _tokens_per_second(samples: Sequence[Unit], encode: Callable[[Sequence[str]], object]) -> float:
    """The encoder's rate over a few of the units themselves."""
    if not samples:
        return 1.0
    texts = [unit.input_text for unit in samples]
    encode(texts[:1])  # what a first call costs is paid once, not for each text
    begun = time.perf_counter()
    encode(texts)
    return sum(unit.tokens for unit in samples) / (time.perf_counter() - begun)
