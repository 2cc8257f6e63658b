"""What happens to sources that arrive over HTTP?

They are checked whole, must lie in the namespace that the caller may write to, are encoded, and can be searched when
that is acknowledged. The first fault refuses all of it, naming line and path.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from evidence.canonical import Json
from evidence.grants import Revocations
from evidence.identity import PUBLIC, Namespace, RevisionKey
from index.analysis import analyzer_for
from index.catalog import Catalog
from index.chunking import TokenCounter
from index.errors import IngestRefused, LabelChanged, RevisionChanged, SupersedesCycle
from models.errors import ModelError
from server.compatible.embedding import VectorEncoder
from server.errors import Invalid, Unavailable
from server.ingest import Chunker, ingest_searchable
from server.queries import QueryEncoder
from server.retrieval import Codes
from server.source_place import SourceFileError
from server.sources import CheckedSources, check_body

_PATHS: dict[type[IngestRefused], str] = {
    LabelChanged: "$.access",
    RevisionChanged: "$.revision",
    SupersedesCycle: "$.supersedes",
}


class DocumentEncoder(Protocol):
    """What makes codes of units: an encoder of `models/`, or a test's own."""

    @property
    def runtime(self) -> str:
        """What computes, as a recipe states it."""

    @property
    def model_digest(self) -> str:
        """Of the weights, as a recipe states it."""

    @property
    def counter(self) -> TokenCounter:
        """Counts its tokens."""

    @property
    def document_window(self) -> int:
        """Tokens that the document prompt leaves."""

    def encode_documents(self, texts: Sequence[str]) -> Codes:
        """(len(texts), dimension) int8, in the order given. Raises ModelError."""


class TextEncoder(QueryEncoder, DocumentEncoder, VectorEncoder, Protocol):
    """An encoder for both sides, in codes and in vectors."""


class Intake:
    """Takes sources into one catalog. Shared by the threads of a process; one body is encoded at a time.

    encoder: None where it cannot be had; then nothing is taken in, since nothing could be searched.
    """

    def __init__(self, catalog: Catalog, *, encoder: DocumentEncoder | None) -> None:
        self._catalog = catalog
        self._encoder = encoder
        self._encoding = threading.Lock()

    def take(self, body: bytes, *, namespace: Namespace, allow: Callable[[Revocations], object]) -> dict[str, Json]:
        """The body of `POST /v1/sources` for JSON lines that must all lie in `namespace`.

        allow: as of `Catalog.while_allowed`; encoding takes long, and what allowed it may be gone when it is done.

        Raises Invalid, with line and path where there are some, Unavailable, and what `allow` raises.
        """
        encoder = self._usable_encoder()
        try:
            sources = check_body(body, default_label=None)
            _require_namespace(sources, namespace)
            chunker = Chunker.of(self._catalog.recipe, encoder.counter, document_window=encoder.document_window)
            with self._encoding:
                outcome = ingest_searchable(
                    self._catalog.while_allowed(allow),
                    sources,
                    chunker=chunker,
                    encode=encoder.encode_documents,
                    progress=lambda *_: None,
                )
        except SourceFileError as error:
            raise Invalid(error.problem, path=error.path, line=error.line) from None
        except IngestRefused as error:
            raise _refusal(error, sources) from None
        except ModelError as error:
            raise Unavailable("a source could not be encoded now") from error
        report = outcome.report
        return {
            "ingest_id": report.ingest_id,
            "accepted": report.accepted,
            "unchanged": report.unchanged,
            "units": report.units,
        }

    def _usable_encoder(self) -> DocumentEncoder:
        """The encoder, when what it and the analyzer give are rows of this catalog's recipe (R10)."""
        recipe, encoder = self._catalog.recipe, self._encoder
        if encoder is None or (encoder.runtime, encoder.model_digest) != (recipe.runtime, recipe.model_digest):
            raise Unavailable("this server has not the encoder of the catalog's recipe: sources cannot be taken in")
        if analyzer_for(recipe).name != recipe.analyzer:
            raise Unavailable("this server has not the analyzer of the catalog's recipe: sources cannot be taken in")
        return encoder


def _require_namespace(sources: CheckedSources, namespace: Namespace) -> None:
    for place, source in sources.read():
        if source.facts.key.namespace != namespace:
            if namespace == PUBLIC:
                problem = "must be public, as the call said"
            elif source.facts.key.namespace == PUBLIC:
                problem = "must be the caller's own tenant; public needs `?public=true` and the scope ingest-public"
            else:
                problem = "must be the caller's own tenant"
            raise SourceFileError(place, path="$.access", problem=problem)


def _refusal(error: IngestRefused, sources: CheckedSources) -> Invalid:
    """What the catalog refused, in words that name nothing but the record itself: a circle may run through revisions
    that the caller does not know."""
    if isinstance(error, SupersedesCycle):
        problem = "supersedes itself through others"
    else:
        problem = str(error) if isinstance(error, RevisionChanged) else error.problem
    return Invalid(problem, path=_PATHS.get(type(error), "$"), line=_line_of(error.key, sources))


def _line_of(key: RevisionKey, sources: CheckedSources) -> int | None:
    return next((place.line for place, source in sources.read() if source.facts.key == key), None)
