"""What does a catalog hold, as its operator sees it?

Every namespace, every label: for whoever has the catalog's files in hand. Nothing here answers a caller.
"""

from collections.abc import Iterator

from evidence.canonical import Json, canonical
from evidence.identity import Namespace, SourceKey
from evidence.revision import RevisionFacts
from evidence.source_record import to_record
from index.catalog import Catalog
from index.catalog_read import Reading


def list_sources(catalog: Catalog, *, namespace: Namespace | None) -> Iterator[dict[str, Json]]:
    """Every source in key order, those of one namespace where one is given: label, revisions and units, counted."""
    with catalog.read() as reading:
        counts = reading.holdings.unit_counts
        for key, revisions in _by_source(reading, namespace).items():
            yield {
                **_named(key, revisions[0]),
                "revisions": len(revisions),
                "units": sum(counts[facts.key] for facts in revisions),
            }


def show_source(catalog: Catalog, source_id: str, *, namespace: Namespace | None) -> list[dict[str, Json]]:
    """The sources of that id, one a namespace, with all that is known of each revision apart from its text."""
    with catalog.read() as reading:
        counts = reading.holdings.unit_counts
        ingests = reading.ingest_ids()
        found = _by_source(reading, namespace, source_id=source_id)
        return [
            {
                **_named(key, revisions[0]),
                "revisions": [
                    {**_known(facts), "units": counts[facts.key], "ingest_id": ingests[facts.key]}
                    for facts in revisions
                ],
            }
            for key, revisions in found.items()
        ]


def namespaces_of(catalog: Catalog, source_id: str) -> list[Namespace]:
    """The namespaces that have a source of that id, or a revision to show for it, in order."""
    with catalog.read() as reading:
        return [key.namespace for key in _by_source(reading, None, source_id=source_id)]


def export(catalog: Catalog, *, namespace: Namespace | None) -> Iterator[bytes]:
    """Every revision in key order, as the line that `ingest` reads as the same revision again."""
    with catalog.read() as reading:
        for key, facts in reading.facts().items():
            if namespace in (None, key.namespace):
                yield canonical(to_record(facts, reading.revision_text(key))) + b"\n"


def _by_source(
    reading: Reading, namespace: Namespace | None, *, source_id: str | None = None
) -> dict[SourceKey, list[RevisionFacts]]:
    found: dict[SourceKey, list[RevisionFacts]] = {}
    for key, facts in reading.facts().items():
        if namespace in (None, key.namespace) and source_id in (None, key.source_id):
            found.setdefault(key.source, []).append(facts)
    return found


def _named(key: SourceKey, facts: RevisionFacts) -> dict[str, Json]:
    label = facts.label.record()
    return {"namespace": key.namespace, "source_id": key.source_id, "label": label}


def _known(facts: RevisionFacts) -> dict[str, Json]:
    known = facts.content_record()
    return {name: value for name, value in known.items() if name not in ("namespace", "source_id")}
