"""Is everything on the disk still what was written, and does it agree?

Reads all of it: every file of every generation by its digest, the database by SQLite's own checks and by the digests
that its rows carry, and then one against the other. Damage is a value: all of it is listed, and the rest is still
checked. Nothing is repaired.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from sqlalchemy import Connection, select

from evidence.access import Label
from evidence.canonical import digest
from evidence.citations import citation_handle
from evidence.identity import RevisionKey
from evidence.revision import RevisionFacts
from evidence.unit import Unit
from index.catalog import DATABASE, Catalog
from index.catalog_coded import lacking_codes
from index.catalog_codes import CODE_OF_UNIT, code_of
from index.catalog_revocations import read_revocations
from index.catalog_revoked import read_revoked
from index.catalog_rows import AnyRow, breaks, input_digest, label_of, stored_facts_of, unit_of
from index.catalog_tables import catalog_state, code, label, revision, source, superseder, unit
from index.errors import DamagedCatalog, DamagedGeneration, NoGeneration, RecipeMismatch, describe
from index.generation import CURRENT, GENERATIONS, Generation, check_part, current_name, open_generation, open_manifest
from index.generation_check import broken_promises
from index.generation_format import MANIFEST, is_name

ROWS_A_QUERY = 1000

_SUPERSEDERS = select(
    superseder.c.namespace,
    superseder.c.source_id,
    superseder.c.revision,
    superseder.c.of_namespace,
    superseder.c.of_source,
    superseder.c.of_revision,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that is not as it was written. `where`: a file or a table; `problem` names keys, never content."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass(slots=True)
class _Sound:
    """What of the catalog is as it was written, collected while it is read."""

    labels: dict[str, Label] = field(default_factory=dict)
    facts: dict[RevisionKey, RevisionFacts] = field(default_factory=dict)
    content_digests: dict[RevisionKey, str] = field(default_factory=dict)
    unit_counts: dict[RevisionKey, int] = field(default_factory=dict)


def verify(directory: Path) -> list[Damage]:
    """Everything that is damaged in the catalog and the generations of `directory`; empty when all is well.

    Texts that were not encoded yet, revisions that were not indexed yet and what a publisher left behind when it died
    are no damage. Raises NotACatalog, NewerFormat or CatalogUnavailable, as opening does.
    """
    found = list(_files(directory))
    try:
        with Catalog.open(directory, quick_check=False) as catalog:
            found.extend(Damage(where=DATABASE, problem=problem) for problem in catalog.problems())
            with catalog.read() as reading:
                connection, sound = reading.connection, _Sound()
                found.extend(_facts(connection, sound))
                found.extend(_superseders(connection, sound))
                found.extend(_revocations(connection))
                found.extend(_revoked(connection))
                found.extend(_units(connection, sound))
                found.extend(_codes(connection, catalog.recipe.dimension))
                found.extend(_published(catalog, connection, sound))
    except DamagedCatalog as error:  # so much that it cannot be read to its end
        found.append(Damage(where=DATABASE, problem=error.what))
    return found


def _files(directory: Path) -> Iterator[Damage]:
    """Every file of every published generation against its manifest, and CURRENT against both."""
    folders = [folder for folder in sorted((directory / GENERATIONS).glob("*")) if not folder.name.startswith(".")]
    for folder in folders:
        where = f"{GENERATIONS}/{folder.name}"
        if not is_name(folder.name):
            yield Damage(where=where, problem="is no generation")
            continue
        try:
            parts = open_manifest(folder).parts
        except DamagedGeneration as error:
            yield Damage(where=f"{where}/{error.part}", problem=error.problem)
            continue
        for name, expected in parts.items():
            try:
                check_part(folder, name, expected)
            except DamagedGeneration as error:
                yield Damage(where=f"{where}/{name}", problem=error.problem)
        for file in sorted(folder.iterdir()):
            if file.name not in {*parts, MANIFEST}:
                yield Damage(where=f"{where}/{file.name}", problem="belongs to no generation")
    try:
        name = current_name(directory)
    except DamagedGeneration as error:
        yield Damage(where=CURRENT, problem=error.problem)
    except NoGeneration:
        if folders:
            yield Damage(where=CURRENT, problem="is missing, though generations were published")
    else:
        if name not in {folder.name for folder in folders}:
            yield Damage(where=CURRENT, problem=f"names {name}, which is missing")


def _facts(connection: Connection, sound: _Sound) -> Iterator[Damage]:
    for row in connection.execute(select(label)):
        try:
            sound.labels[row.digest] = label_of(row)
        except DamagedCatalog as error:
            yield Damage(where="label", problem=error.what)
    for row in connection.execute(select(revision, source.c.label_digest).outerjoin(source)):
        key = RevisionKey(row.namespace, row.source_id, row.revision)
        sound.unit_counts[key] = row.units
        if row.label_digest not in sound.labels:
            yield Damage(where="source", problem=f"the label of {describe(key)} is damaged or missing")
            continue
        try:
            facts = stored_facts_of(row, sound.labels[row.label_digest])
        except DamagedCatalog as error:
            yield Damage(where="revision", problem=error.what)
            continue
        if digest(facts.content_record()) != row.content_digest:
            yield Damage(where="revision", problem=f"the content digest of {describe(key)} is another")
            continue
        sound.facts[key], sound.content_digests[key] = facts, row.content_digest
    expected = connection.execute(select(catalog_state.c.revisions)).scalar_one()
    if len(sound.unit_counts) != expected:
        yield Damage(where="revision", problem=f"there are {len(sound.unit_counts)} revisions, there were {expected}")


def _superseders(connection: Connection, sound: _Sound) -> Iterator[Damage]:
    """The relations that are kept once more, to be found from their other end, against the facts that state them."""
    held = {(RevisionKey(*row[:3]), RevisionKey(*row[3:])) for row in connection.execute(_SUPERSEDERS)}
    stated = {(key, target) for key, facts in sound.facts.items() for target in facts.supersedes}
    for key in sorted({key for key, _ in held ^ stated if key in sound.facts}):
        yield Damage(where="superseder", problem=f"what {describe(key)} supersedes is not what its facts state")


def _revocations(connection: Connection) -> Iterator[Damage]:
    try:
        read_revocations(connection)
    except DamagedCatalog as error:
        yield Damage(where="revocation", problem=error.what)


def _revoked(connection: Connection) -> Iterator[Damage]:
    """What is remembered of revoked revisions, against what those that are there say of themselves."""
    try:
        remembered = read_revoked(connection)
    except DamagedCatalog as error:
        yield Damage(where="revoked_revision", problem=error.what)
        return
    rows = connection.execute(
        select(revision.c.namespace, revision.c.source_id, revision.c.revision, revision.c.revoked)
    )
    for row in rows:
        key = RevisionKey(row.namespace, row.source_id, row.revision)
        if remembered.get(key) != row.revoked:
            yield Damage(where="revoked_revision", problem=f"{describe(key)} and its revocation do not agree")


def _units(connection: Connection, sound: _Sound) -> Iterator[Damage]:
    """Each unit by its own digest; then all units of a revision, which must tile its text exactly."""
    counted = dict.fromkeys(sound.unit_counts, 0)
    keyed = (unit.c.namespace, unit.c.source_id, unit.c.revision)
    rows = connection.execute(select(unit).order_by(*keyed, unit.c.ordinal).execution_options(yield_per=ROWS_A_QUERY))
    for key, group in groupby(rows, key=lambda row: RevisionKey(row.namespace, row.source_id, row.revision)):
        held = list(group)
        counted[key] = len(held)
        units: list[Unit] = []
        for row in held:
            try:
                units.append(_intact_unit(row))
            except DamagedCatalog as error:
                yield Damage(where="unit", problem=error.what)
        if len(units) == len(held) and key in sound.facts:
            problem = breaks(sound.facts[key], "".join(read.text for read in units), units)
            if problem is not None:
                yield Damage(where="unit", problem=f"{describe(key)}: {problem}")
    for key, count in sound.unit_counts.items():
        if counted[key] != count:
            yield Damage(where="unit", problem=f"{describe(key)} has {counted[key]} units, had {count}")


def _intact_unit(row: AnyRow) -> Unit:
    read = unit_of(row)
    if input_digest(read) != row.input_digest:
        raise DamagedCatalog(
            f"the input digest of unit {read.key.ordinal} of {describe(read.key.revision_key)} is another"
        )
    if row.handle != citation_handle(read):
        raise DamagedCatalog(f"the handle of unit {read.key.ordinal} of {describe(read.key.revision_key)} is another")
    return read


def _codes(connection: Connection, dimension: int) -> Iterator[Damage]:
    for row in connection.execute(select(code).execution_options(yield_per=ROWS_A_QUERY)):
        try:
            code_of(row, dimension)
        except DamagedCatalog as error:
            yield Damage(where="code", problem=f"{error.what} (input {row.input_digest.hex()} in {row.namespace!r})")
    for key in lacking_codes(connection):
        yield Damage(where="revision", problem=f"{describe(key)} came with its codes, and one of them is missing")


def _published(catalog: Catalog, connection: Connection, sound: _Sound) -> Iterator[Damage]:
    """The generation in force: its own promises, and its rows against the catalog's units and codes."""
    try:
        generation = open_generation(catalog.directory, current_name(catalog.directory), recipe=catalog.recipe)
    except NoGeneration:
        return
    except DamagedGeneration:  # listed by `_files` already
        return
    except RecipeMismatch as error:
        yield Damage(where=CURRENT, problem=str(error))
        return
    where = f"{GENERATIONS}/{generation.name}"
    for part, problem in broken_promises(generation):
        yield Damage(where=f"{where}/{part}", problem=problem)
    agreeing = {run.key: run.start for run in generation.runs if sound.content_digests.get(run.key) == run.facts_digest}
    for key in agreeing:
        rows = len(generation.rows_of(key))
        if rows != sound.unit_counts[key]:
            yield Damage(where=where, problem=f"{describe(key)} has {rows} rows and {sound.unit_counts[key]} units")
    for problem in _differing_codes(connection, generation, agreeing):
        yield Damage(where=f"{where}/codes.int8", problem=problem)


def _differing_codes(
    connection: Connection, generation: Generation, first_rows: dict[RevisionKey, int]
) -> Iterator[str]:
    rows = connection.execute(
        select(unit.c.namespace, unit.c.source_id, unit.c.revision, unit.c.ordinal, code.c.codes)
        .outerjoin(code, CODE_OF_UNIT)
        .execution_options(yield_per=ROWS_A_QUERY)
    )
    for row in rows:
        key = RevisionKey(row.namespace, row.source_id, row.revision)
        if key not in first_rows or row.ordinal not in range(len(generation.rows_of(key))):
            continue  # another kind of damage, found above
        named = f"unit {row.ordinal} of {describe(key)}"
        if row.codes is None:
            yield f"{named} is indexed, but the catalog has no code for it"
        elif row.codes != generation.codes[first_rows[key] + row.ordinal].tobytes():
            yield f"the code of {named} is not the catalog's"
