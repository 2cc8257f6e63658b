"""Small catalogs for tests: only the facts that matter are given, the rest is the plainest there is."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evidence.access import Label, Principal, Scope
from evidence.canonical import digest_text
from evidence.eligibility import Eligibility, Filter, Use
from evidence.identity import PUBLIC, Namespace, RevisionKey, UnitKey
from evidence.instant import Instant, parse_instant
from evidence.revision import RevisionFacts, Status
from evidence.unit import Unit
from index.analysis import Analyzer
from index.catalog import Catalog
from index.catalog_write import IngestReport, NewRevision
from index.intake import take_in
from index.recipe import Recipe
from index.reindex import ReindexReport, reindex

DIMENSION = 16
BLUE = Namespace("blue")
RED = Namespace("red")
NOW = parse_instant("2025-06-01T00:00:00Z")
ANALYZER = Analyzer()


class HashEncoder:
    """Codes that are a hash of the text: equal texts have equal codes, and nothing has to be learnt."""

    runtime = "hash 1"
    model_digest = "sha256:hash"

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.int8]:
        return np.stack([self.encode_query(text) for text in texts])

    def encode_query(self, text: str) -> npt.NDArray[np.int8]:
        return np.frombuffer(hashlib.sha256(text.encode()).digest()[:DIMENSION], dtype=np.int8)


def recipe(*, runtime: str = HashEncoder.runtime, dimension: int = DIMENSION) -> Recipe:
    return Recipe(
        encoder="hash",
        model_digest=HashEncoder.model_digest,
        query_prompt="",
        document_prompt="",
        pooling="none",
        normalize=False,
        scale="0.2",
        dimension=dimension,
        window=256,
        runtime=runtime,
        precision="int8",
        chunker="by hand",
        chunk_target=220,
        contextual=True,
        analyzer=ANALYZER.name,
        stop_words=ANALYZER.stop_words,
        bm25="lucene",
        k1="1.2",
        b="0.75",
    )


def revision(
    source_id: str,
    *texts: str,
    revision: str = "1",
    namespace: Namespace = PUBLIC,
    roles: Sequence[str] = (),
    purposes: Sequence[str] = (),
    status: Status = Status.CURRENT,
    was_draft: bool = False,
    title: str = "",
    effective_from: str | None = None,
    effective_to: str | None = None,
    supersedes: Sequence[RevisionKey] = (),
) -> NewRevision:
    """A revision whose units are `texts`."""
    key = RevisionKey(namespace, source_id, revision)
    whole = "".join(texts)
    facts = RevisionFacts(
        key=key,
        label=Label(namespace=namespace, roles=tuple(sorted(roles)), purposes=tuple(sorted(purposes))),
        title=title,
        status=status,
        was_draft=was_draft,
        effective_from=None if effective_from is None else parse_instant(effective_from),
        effective_to=None if effective_to is None else parse_instant(effective_to),
        supersedes=tuple(supersedes),
        text_digest=digest_text(whole),
    )
    return NewRevision(facts=facts, text=whole, units=list(_units(key, title, texts)))


def catalog(directory: Path, revisions: Iterable[NewRevision] = ()) -> Catalog:
    """A new catalog that holds `revisions`. Close it, or use it in a `with`."""
    made = Catalog.create(directory, recipe())
    made.add(revisions, relabel=False)
    return made


def build_index(made: Catalog) -> ReindexReport:
    return reindex(made, encoder=HashEncoder(), analyzer=ANALYZER, progress=lambda progress: None)


def arrive(made: Catalog, *revisions: NewRevision, relabel: bool = False) -> IngestReport:
    """Take revisions in together with their codes."""
    encode = HashEncoder().encode_documents
    return take_in(made, revisions, relabel=relabel, encode=encode, progress=lambda done, total: None)


def scope(
    *,
    tenant: Namespace | None = None,
    roles: Sequence[str] = (),
    purposes: Sequence[str] = (),
    purpose: str | None = None,
    scopes: Sequence[str] = ("search",),
) -> Scope:
    principal = Principal(
        sub="ada", tenant=tenant, roles=tuple(roles), purposes=tuple(purposes), scope=tuple(sorted(scopes))
    )
    return Scope(principal=principal, purpose=purpose)


def eligibility(who: Scope, *, use: Use = Use.CURRENT, at: Instant = NOW, as_of: Instant | None = None) -> Eligibility:
    return Eligibility(
        scope=who, use=use, at=at if as_of is None else as_of, as_of=as_of, subject=None, filter=Filter()
    )


def _units(key: RevisionKey, title: str, texts: Sequence[str]) -> Iterable[Unit]:
    start = 0
    for ordinal, text in enumerate(texts):
        yield Unit(
            key=UnitKey(key.namespace, key.source_id, key.revision, ordinal),
            start=start,
            end=start + len(text),
            heading=(title,) if title else (),
            text=text,
            digest=digest_text(text),
            prefix=title,
            prefix_tokens=len(title.split()),
            prefix_tokens_cut=0,
            tokens=len(title.split()) + len(text.split()) + 2,
        )
        start += len(text)
