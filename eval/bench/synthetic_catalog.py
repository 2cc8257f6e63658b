"""How does a bench get a catalog of many units without encoding them?

A real catalog with the packaged encoder's recipe, so that queries are encoded as ever. The units are words drawn by
Zipf's law, the same number for each tenant; their codes are drawn too, from the text alone, because what a search costs
does not hang on what they mean.
"""

import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eval.bench.drawn_texts import single_words
from evidence.access import Label, Principal
from evidence.canonical import digest, digest_text
from evidence.identity import Namespace, RevisionKey, UnitKey
from evidence.revision import RevisionFacts
from evidence.unit import Unit
from index.analysis import Analyzer
from index.bm25 import formula
from index.catalog import Catalog
from index.catalog_write import NewRevision
from index.chunking import TARGET_TOKENS, chunker_name
from index.recipe import Recipe
from index.reindex import Progress, ReindexReport, reindex
from models.encoder import Encoder
from server.keys import create_key

UNITS_PER_SOURCE = 20
FORMULA = "lucene"
_MADE = 1  # raised whenever what is drawn, or how a catalog keeps it, becomes another
_SEED = 41
_SPREAD = 32.0  # of a code: normalized vectors of 384 numbers at scale 0.2
_REVISIONS_AT_ONCE = 500  # taken in by one transaction
_DRAWN_AT_ONCE = 2000  # codes kept in one transaction
_QUERY_WORDS = 6

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """units: of the catalog, shared equally by the tenants. words: of a unit."""

    units: int
    tenants: int
    words: int


class DrawnCodes:
    """Stands in for an encoder where codes are made. Says the runtime and the model of the one that is stood in for."""

    def __init__(self, encoder: Encoder) -> None:
        self.runtime = encoder.runtime
        self.model_digest = encoder.model_digest
        self._dimension = encoder.dimension

    def encode_documents(self, texts: Sequence[str]) -> Codes:
        """(len(texts), d) int8, each of its text alone."""
        return np.stack([self.encode_query(text) for text in texts]).reshape(-1, self._dimension)

    def encode_query(self, text: str) -> Codes:
        """(d,) int8."""
        drawn = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self._dimension) * _SPREAD
        code: Codes = np.clip(np.rint(drawn), -127, 127).astype(np.int8)
        return code


class Questions:
    """Queries of different texts, as many as are asked for: no cache of codes ever holds the next one."""

    def __init__(self, encoder: Encoder, *, seed: int) -> None:
        self._words = _single_words(encoder)
        self._rng = np.random.default_rng((_SEED, seed))

    def __next__(self) -> str:
        places = self._rng.integers(20, max(len(self._words) // 20, 40), _QUERY_WORDS)
        return " ".join(self._words[place] for place in places)

    def __iter__(self) -> Iterator[str]:
        return self


def kept_catalog(cache: Path, encoder: Encoder, sizes: Sizes, *, progress: Callable[[str, int, int], None]) -> Path:
    """The catalog's folder under `cache`, made now if there is none: a million units take minutes. To be copied, not
    served: what a server writes would stay for the next run."""
    recipe = _recipe(encoder, Analyzer())
    name = digest({"made": _MADE, "recipe": recipe.digest, "sizes": asdict(sizes)}).partition(":")[2][:12]
    kept = cache / "bench" / f"catalog-{name}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as unfinished:
            made = Path(unfinished) / "catalog"
            make_catalog(made, encoder, sizes, progress=progress)
            with suppress(OSError):  # another run has put one there meanwhile
                made.rename(kept)
    return kept


def make_catalog(
    directory: Path,
    encoder: Encoder,
    sizes: Sizes,
    *,
    progress: Callable[[str, int, int], None],
    draws_codes: bool = True,
) -> ReindexReport:
    """The catalog, published, in `directory`, which must not be there; and what its reindex did.

    draws_codes: else the units are encoded, as a catalog of a user's is.
    """
    analyzer = Analyzer()
    with Catalog.create(directory, _recipe(encoder, analyzer), prepare=create_key) as catalog:
        taken: list[NewRevision] = []
        sources = sizes.units // UNITS_PER_SOURCE
        for done, new in enumerate(_revisions(encoder, sizes), start=1):
            taken.append(new)
            if len(taken) == _REVISIONS_AT_ONCE or done == sources:
                catalog.add(taken, relabel=False)
                taken = []
                progress("take units in", done * UNITS_PER_SOURCE, sizes.units)

        def report(step: Progress) -> None:
            progress(step.stage.value, step.done, step.total)

        if draws_codes:
            return reindex(
                catalog, encoder=DrawnCodes(encoder), analyzer=analyzer, progress=report, batch_texts=_DRAWN_AT_ONCE
            )
        return reindex(catalog, encoder=encoder, analyzer=analyzer, progress=report)


def principal_of(tenant: int) -> Principal:
    """Someone of that tenant who may search."""
    return Principal(sub="bench", tenant=_namespace(tenant), scope=("search",))


def _revisions(encoder: Encoder, sizes: Sizes) -> Iterator[NewRevision]:
    rng = np.random.default_rng(_SEED)
    words = _single_words(encoder)
    odds = 1 / np.arange(1, len(words) + 1)
    odds /= odds.sum()
    for number in range(sizes.units // UNITS_PER_SOURCE):
        drawn = rng.choice(len(words), (UNITS_PER_SOURCE, sizes.words), p=odds)
        texts = [" ".join(words[place] for place in row) + "\n\n" for row in drawn.tolist()]
        yield _revision(number % sizes.tenants, number, texts, tokens=sizes.words + encoder.counter.special_tokens)


def _revision(tenant: int, number: int, texts: Sequence[str], *, tokens: int) -> NewRevision:
    key = RevisionKey(_namespace(tenant), f"source-{number:07}", "1")
    text = "".join(texts)
    facts = RevisionFacts(key=key, label=Label(namespace=key.namespace), text_digest=digest_text(text))
    units, end = [], 0
    for ordinal, part in enumerate(texts):
        units.append(
            Unit(
                key=UnitKey(*key, ordinal),
                start=end,
                end=end + len(part),
                heading=(),
                text=part,
                digest=digest_text(part),
                prefix="",
                prefix_tokens=0,
                prefix_tokens_cut=0,
                tokens=tokens,
            )
        )
        end += len(part)
    return NewRevision(facts=facts, text=text, units=units)


def _namespace(tenant: int) -> Namespace:
    return Namespace(f"tenant-{tenant:03}")


def _single_words(encoder: Encoder) -> list[str]:
    """Words that are one token each, in an order without meaning."""
    words = single_words(encoder.counter)
    np.random.default_rng(_SEED).shuffle(words)
    return words


def _recipe(encoder: Encoder, analyzer: Analyzer) -> Recipe:
    chosen, entry = formula(FORMULA), encoder.entry
    return Recipe(
        encoder=encoder.name,
        model_digest=encoder.model_digest,
        query_prompt=entry.query_prompt,
        document_prompt=entry.document_prompt,
        pooling=entry.pooling.value,
        normalize=entry.normalize,
        scale=entry.scale,
        dimension=encoder.dimension,
        window=encoder.window,
        runtime=encoder.runtime,
        precision="int8",
        chunker=chunker_name(),
        chunk_target=TARGET_TOKENS,
        contextual=True,
        analyzer=analyzer.name,
        language=analyzer.language or "",
        stop_words=analyzer.stop_words,
        bm25=chosen.variant.value,
        k1=repr(chosen.k1),
        b=repr(chosen.b),
    )
