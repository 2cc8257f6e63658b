"""Which files make a generation, and what do they hold? (pure)

    codes.int8                  (rows, dimension) int8
    lengths.int32               (rows,) terms of each row's text, repeats counted
    order.int32                 (rows,) rank of each row by namespace, source_id, revision, ordinal
    posting_offsets.int64       (terms + 1,)
    posting_rows.int32          (postings,)
    posting_frequencies.int32   (postings,)
    term_offsets.int64          (terms + 1,) into the next
    terms.utf8                  (bytes,) all terms in code-point order
    runs.jsonl                  one line a revision: namespace, source_id, revision, digests, first row, end
    MANIFEST.json               size, digest and shape of each of them

Numbers are little-endian. A generation is named by the digest of its manifest, hence of every byte in it: equal
content has an equal name, and nothing can change without the name giving it away.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evidence.canonical import Json, canonical
from evidence.identity import RevisionKey
from index.errors import NewerFormat

FORMAT = 1
MANIFEST = "MANIFEST.json"
RUNS = "runs.jsonl"

ARRAYS = {
    "codes.int8": "<i1",
    "lengths.int32": "<i4",
    "order.int32": "<i4",
    "posting_offsets.int64": "<i8",
    "posting_rows.int32": "<i4",
    "posting_frequencies.int32": "<i4",
    "term_offsets.int64": "<i8",
    "terms.utf8": "<u1",
}

_NAME = re.compile(r"g-[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRun:
    """The rows `[start, end)` of one revision.

    facts_digest: of its facts without the label, when it was indexed: rows count only while the catalog says the same.
    label_digest: where its compartment lay then. It decides the layout and nothing else: labels are judged live.
    """

    key: RevisionKey
    facts_digest: str
    label_digest: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file. shape: of its array; empty for a file that holds none."""

    size_bytes: int
    sha256: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a finished generation consists of."""

    recipe_digest: str
    parts: Mapping[str, Part]

    def write(self) -> bytes:
        """The bytes of MANIFEST.json: canonical, so that equal content has equal bytes."""
        parts: dict[str, Json] = {
            name: {"bytes": part.size_bytes, "sha256": part.sha256, "shape": list(part.shape)}
            for name, part in self.parts.items()
        }
        return canonical({"format": FORMAT, "recipe": self.recipe_digest, "parts": parts})


def read_manifest(data: bytes) -> Manifest:
    """What `write` wrote. Raises NewerFormat, or ValueError for anything else."""
    try:
        record = json.loads(data)
        found = record["format"]
        if found != FORMAT:
            raise NewerFormat(found=f"generation {found}", known=f"generation {FORMAT}")
        parts = {
            name: Part(size_bytes=part["bytes"], sha256=part["sha256"], shape=tuple(part["shape"]))
            for name, part in record["parts"].items()
        }
        manifest = Manifest(recipe_digest=record["recipe"], parts=parts)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a manifest") from error
    if manifest.write() != data or set(parts) != {*ARRAYS, RUNS}:
        raise ValueError("not a manifest of the files a generation has")
    return manifest


def name_of(manifest: bytes) -> str:
    """The name of the generation with this manifest."""
    return f"g-{hashlib.sha256(manifest).hexdigest()[:32]}"


def is_name(text: str) -> bool:
    """Whether a generation can have this name."""
    return _NAME.fullmatch(text) is not None


def write_runs(runs: Iterable[RevisionRun]) -> bytes:
    """The bytes of `runs.jsonl`."""
    lines = (
        json.dumps([*run.key, run.facts_digest, run.label_digest, run.start, run.end], ensure_ascii=False)
        for run in runs
    )
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def read_runs(data: bytes) -> tuple[RevisionRun, ...]:
    """What `write_runs` wrote. Raises ValueError for anything else."""
    return tuple(_run(json.loads(line)) for line in data.split(b"\n")[:-1])


def identity_order(runs: Sequence[RevisionRun], rows: int) -> npt.NDArray[np.int32]:
    """(rows,) int32: the rank of each row under namespace, source_id, revision and ordinal (R11).

    Ranks follow from keys alone: no layout, and no row that is left out, changes which of two rows comes first.
    """
    order = np.empty(rows, dtype=np.int32)
    rank = 0
    for run in sorted(runs, key=lambda run: run.key):
        length = run.end - run.start
        order[run.start : run.end] = np.arange(rank, rank + length, dtype=np.int32)
        rank += length
    return order


def _run(line: list[Any]) -> RevisionRun:
    namespace, source_id, revision, facts_digest, label_digest, start, end = line
    return RevisionRun(
        key=RevisionKey(namespace, source_id, revision),
        facts_digest=facts_digest,
        label_digest=label_digest,
        start=start,
        end=end,
    )
