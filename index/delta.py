"""What came into the catalog after the last reindex, and can be searched already?

A delta is a small generation in memory. It holds the revisions that were taken in together with their codes and that
the published generation lacks, so any process makes the same one from the catalog alone. What others took in without
codes waits for a reindex: whether a text was encoded for somebody else must not show (R6).

A revision is read and analyzed once; each change lays the pieces beside each other anew, which costs about as much as
sorting their postings.
"""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evidence.identity import Namespace, RevisionKey
from index.analysis import Analyzer, analyzer_for
from index.catalog_codes import codes_of
from index.catalog_read import Holdings, Reading
from index.generation import Generation
from index.generation_format import RevisionRun, identity_order, write_runs
from index.postings import Postings
from index.recent import Recent
from index.recipe import Recipe
from index.segments import Places, Segments, joined_name

STATES_KEPT = 4  # the latest, and those that requests under way may still read
TEXTS_REMEMBERED = 4096  # terms of texts, since a new revision repeats most of the one before

SmallInts = npt.NDArray[np.int32]


class Deltas:
    """The deltas of one catalog in one process. Shared by its threads; takes its own lock."""

    def __init__(self, recipe: Recipe) -> None:
        analyzer = analyzer_for(recipe)
        self._reads_as_indexed = analyzer.name == recipe.analyzer  # else its terms are not those of the generation
        self._dimension = recipe.dimension
        self._vocabulary = _Vocabulary(analyzer)
        self._lock = threading.Lock()
        self._kept = _Kept()
        self._pieces: dict[RevisionKey, _Piece] = {}
        self._change = 0  # of the state that the pieces belong to

    def over(self, base: Generation, reading: Reading) -> Segments:
        """`base` with the delta of the state that `reading` sees. Raises DamagedCatalog.

        Costs a look-up where nothing was written; for a new state the scan of what was taken in with codes, the
        analysis of what is new among it, and the layout.
        """
        state = (base.name, reading.change)
        found = self._kept.states.get(state)
        if found is None:
            with self._lock:
                found = self._kept.states.get(state) or self._make(base, reading)
                if self._kept.base != base.name:  # what is kept of another generation would keep its files mapped
                    self._kept = _Kept(base=base.name)
                self._kept.states.put(state, found)
                if found.delta is not None:
                    self._kept.joined.put(found.name, found)
        return found

    def _make(self, base: Generation, reading: Reading) -> Segments:
        keys = list(_lacking(base, reading.holdings)) if self._reads_as_indexed else []
        if not keys:
            self._keep({}, change=reading.change)
            return Segments.alone(base)
        runs = _runs(keys, reading.holdings)
        name = f"d-{hashlib.sha256(write_runs(runs)).hexdigest()[:32]}"
        found = self._kept.joined.get(joined_name(base.name, name))
        if found is not None:
            return found
        pieces = [self._piece(run, reading) for run in runs]
        self._keep(dict(zip((run.key for run in runs), pieces, strict=True)), change=reading.change)
        places = self._kept.places.get_or_make(base.name, lambda: Places(base))
        return Segments.joined(base, self._lay_out(name, runs, pieces, base.recipe_digest), places=places)

    def _keep(self, pieces: "dict[RevisionKey, _Piece]", *, change: int) -> None:
        """Let go of what the latest state does not have."""
        if change < self._change:
            return
        self._pieces, self._change = pieces, change
        if not pieces:
            self._vocabulary.forget()

    def _piece(self, run: RevisionRun, reading: Reading) -> "_Piece":
        held = self._pieces.get(run.key)
        if held is not None and held.facts_digest == run.facts_digest:
            return held
        texts = [unit.input_text for unit in reading.units_of(run.key)]
        codes = codes_of(reading.connection, run.key, units=len(texts), dimension=self._dimension)
        return self._vocabulary.read(run.key.namespace, texts, codes=codes, facts_digest=run.facts_digest)

    def _lay_out(
        self, name: str, runs: Sequence[RevisionRun], pieces: "Sequence[_Piece]", recipe_digest: str
    ) -> Generation:
        lengths = np.concatenate([piece.lengths for piece in pieces])
        return Generation(
            name=name,
            recipe_digest=recipe_digest,
            rows=len(lengths),
            dimension=self._dimension,
            codes=np.concatenate([piece.codes for piece in pieces]),
            lengths=lengths,
            order=identity_order(runs, len(lengths)),
            postings=self._vocabulary.postings(pieces, starts=[run.start for run in runs]),
            runs=tuple(runs),
            run_starts=np.array([run.start for run in runs], dtype=np.int64),
            run_of={run.key: place for place, run in enumerate(runs)},
        )


class _Kept:
    """What was made over the generation `base`: by state of the catalog, and by the name of the row space, since most
    states have the rows of the one before."""

    def __init__(self, base: str = "") -> None:
        self.base = base
        self.states: Recent[tuple[str, int], Segments] = Recent(STATES_KEPT)
        self.joined: Recent[str, Segments] = Recent(STATES_KEPT)
        self.places: Recent[str, Places] = Recent(1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Piece:
    """The rows of one revision, counted from 0, ready to be laid beside those of others.

    codes: (rows, dimension) int8. lengths: (rows,) int32. terms, rows, frequencies: (postings,) int32 each, ascending
    by row; terms are numbered as `_Vocabulary` does.
    """

    facts_digest: str
    codes: npt.NDArray[np.int8]
    lengths: SmallInts
    terms: SmallInts
    rows: SmallInts
    frequencies: SmallInts


_Text = tuple[Namespace, bytes]  # that another tenant has a text must not save the time of reading it (R35)


class _Vocabulary:
    """The terms of all pieces, numbered by first appearance: numbers stay while pieces come and go."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._numbers: dict[str, int] = {}
        self._by_code_point: list[str] = []
        self._counted: Recent[_Text, tuple[SmallInts, SmallInts, int]] = Recent(TEXTS_REMEMBERED)

    def forget(self) -> None:
        """Start over. No piece that was read may be used any more."""
        self._numbers, self._by_code_point = {}, []
        self._counted = Recent(TEXTS_REMEMBERED)

    def read(
        self, namespace: Namespace, texts: Sequence[str], *, codes: npt.NDArray[np.int8], facts_digest: str
    ) -> _Piece:
        """The piece of a revision of `namespace` whose units are `texts`."""
        counted = [self._remembered(namespace, text) for text in texts]
        sizes = [len(terms) for terms, _, _ in counted]
        empty = np.empty(0, dtype=np.int32)
        return _Piece(
            facts_digest=facts_digest,
            codes=codes,
            lengths=np.array([length for _, _, length in counted], dtype=np.int32),
            terms=np.concatenate([empty, *(terms for terms, _, _ in counted)]),
            rows=np.repeat(np.arange(len(texts), dtype=np.int32), sizes),
            frequencies=np.concatenate([empty, *(frequencies for _, frequencies, _ in counted)]),
        )

    def postings(self, pieces: Sequence[_Piece], *, starts: Sequence[int]) -> Postings:
        """The postings of pieces that begin at these rows, ascending."""
        if len(self._by_code_point) < len(self._numbers):
            self._by_code_point = sorted(self._numbers)
        numbers = np.concatenate([piece.terms for piece in pieces])
        occurs = np.bincount(numbers, minlength=len(self._numbers)) > 0  # terms of pieces that are gone are no terms
        spelled = {
            term: place
            for place, term in enumerate(term for term in self._by_code_point if occurs[self._numbers[term]])
        }
        renumbered = np.zeros(len(self._numbers), dtype=np.int64)
        renumbered[[self._numbers[term] for term in spelled]] = np.arange(len(spelled))
        terms = renumbered[numbers]
        rows = np.concatenate([piece.rows + np.int32(start) for piece, start in zip(pieces, starts, strict=True)])
        by_term = _stable_order(terms)  # rows ascend already
        offsets = np.zeros(len(spelled) + 1, dtype=np.int64)
        np.cumsum(np.bincount(terms, minlength=len(spelled)), out=offsets[1:])
        return Postings(
            terms=spelled,
            offsets=offsets,
            posting_rows=rows[by_term],
            frequencies=np.concatenate([piece.frequencies for piece in pieces])[by_term],
        )

    def _remembered(self, namespace: Namespace, text: str) -> tuple[SmallInts, SmallInts, int]:
        return self._counted.get_or_make((namespace, _digest(text)), lambda: self._count(text))

    def _count(self, text: str) -> tuple[SmallInts, SmallInts, int]:
        """Distinct terms, how often each occurs, and how many there are with repeats."""
        terms = self._analyzer.terms(text)
        numbers = np.array([self._numbers.setdefault(term, len(self._numbers)) for term in terms], dtype=np.int32)
        distinct, frequencies = np.unique(numbers, return_counts=True)
        return distinct, frequencies.astype(np.int32), len(terms)


def _stable_order(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """The stable order of numbers below 2^32, half by half: numpy sorts 16 bits by radix."""
    order = np.argsort((numbers & 0xFFFF).astype(np.uint16), kind="stable")
    high = (numbers >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8")).digest()


def _lacking(base: Generation, holdings: Holdings) -> Iterator[RevisionKey]:
    """What was taken in with codes and has no rows, or rows of other content, in `base`; by label, then key."""
    lacking = []
    for key in holdings.coded:
        place = base.run_of.get(key)
        if place is None or base.runs[place].facts_digest != holdings.content_digests[key]:
            lacking.append((holdings.label_digests[holdings.facts[key].label], key))
    return (key for _, key in sorted(lacking))


def _runs(keys: Sequence[RevisionKey], holdings: Holdings) -> list[RevisionRun]:
    runs, start = [], 0
    for key in keys:
        end = start + holdings.unit_counts[key]
        runs.append(
            RevisionRun(
                key=key,
                facts_digest=holdings.content_digests[key],
                label_digest=holdings.label_digests[holdings.facts[key].label],
                start=start,
                end=end,
            )
        )
        start = end
    return runs
