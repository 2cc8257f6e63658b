"""Which documents are followed in one folder, and what do their commands print there now?

The folder looks like the checkout after `make serve`. `tests/shown_commands.py` says how a line is run.

The digests that are shown stand on the codes that the encoder gave to the texts of a course, and another processor or
runtime may give others. `tests/shown_codes.json` holds, for each course, a digest of its texts and one of its codes:
where both are the same here, so is every digest that is printed.
"""

import functools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from starlette.testclient import TestClient

import models.loading
from evidence.canonical import digest
from models.encoder import Encoder
from muniment.ingest import NO_LABEL, ingest
from muniment.initialize import initialize
from muniment.reindex import reindex
from muniment.shipped import SOURCES
from server.app import create_app
from server.keys import load_key
from server.opening import open_pipeline, open_recorder, settings_for
from tests.models.chat_families import CHATML, save_family
from tests.shown_commands import Command, Printed, Shell, blocks, commands

HOW_TO = tuple(
    f"docs/how-to/{page}.md" for page in ("catalogs", "packets", "serving", "models")
)  # one goes on in the next
COURSES = (
    ("README.md",),
    ("docs/concepts.md",),
    ("docs/evidence.md",),
    HOW_TO,
)  # each in one folder, from start to end
CODES_FILE = Path("tests/shown_codes.json")
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that was run, and whether `echo $?` shows its exit status."""

    command: Command
    printed: Printed
    status_is_shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the digests of a course stand on: digests of the texts that were encoded, and of these with their codes."""

    texts: str
    codes: str


class Course:
    """Follows documents. Each encoder is opened once; every command opens the rest anew."""

    def __init__(self, *, root: Path) -> None:
        self._root = root
        self._open_encoder: Callable[..., Any] = functools.cache(models.loading.open_encoder)
        self._sample: dict[str, str] = {}  # by text, runtime and code
        self._seen: dict[str, str] = {}

    @property
    def basis(self) -> Basis:
        """That of the sample catalog and of everything run in the latest shell."""
        seen = {**self._sample, **self._seen}
        return Basis(texts=digest(sorted(seen)), codes=digest(dict(seen)))

    def make_sample(self, directory: Path) -> None:
        """The sample catalog, built as `make serve` builds it."""
        self._seen = {}
        with self._watched():
            initialize(directory, device="cpu")
            ingest(directory, [SOURCES], label=NO_LABEL)
            reindex(directory, device="cpu")
        self._sample = self._seen

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Opens encoders once, and keeps what they make of each text."""
        of_documents, of_queries = Encoder.encode_documents, Encoder.encode_queries

        def encode_documents(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.int8]:
            codes = of_documents(encoder, texts)
            for text, code in zip(texts, codes, strict=True):
                self._seen[f"document {text}"] = f"{encoder.runtime} {code.tobytes().hex()}"
            return codes

        def encode_queries(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.int8]:
            codes = of_queries(encoder, texts)
            for text, code in zip(texts, codes, strict=True):
                self._seen[f"query {text}"] = f"{encoder.runtime} {code.tobytes().hex()}"
            return codes

        with (
            mock.patch.object(Encoder, "encode_documents", encode_documents),
            mock.patch.object(Encoder, "encode_queries", encode_queries),
            mock.patch("server.opening.open_on", self._open_encoder),
            mock.patch("server.making.open_encoder", self._open_encoder),
            # `init` is shown, not what it measures
            mock.patch("models.qualification.SHORT_TEXTS_PER_BUCKET", 1),
        ):
            yield

    @contextmanager
    def shell(self, folder: Path, *, sample: Path) -> Iterator[Shell]:
        """`folder`, which is empty, with a copy of the sample catalog, and files where the documents put models."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        shutil.copytree(sample, folder / ".muniment" / "sample")  # packets are put on record beside it
        (folder / "muniment").mkdir()
        (folder / "muniment" / "sample").symlink_to(self._root / "muniment" / "sample")
        for model in ("e5-small-v2", "ms-marco-MiniLM-L6-v2"):
            (folder / "models" / model).mkdir(parents=True)
            for file in MODEL_FILES:
                (folder / "models" / model / file).write_text("{}")
        (folder / "chat" / "local-8b").mkdir(parents=True)
        save_family(CHATML, folder / "chat" / "local-8b")
        self._seen = {}
        with mock.patch.dict(os.environ, kept, clear=True), self._watched():
            yield Shell(folder=folder, request=answered)

    def run(self, document: str, shell: Shell) -> Iterator[Ran]:
        """Save a document's files and run its commands, in order.

        Raises AssertionError where output is shown of what is not run.
        """
        for block in blocks((self._root / document).read_text("utf-8")):
            if block.saved_as is not None:
                path = shell.folder / block.saved_as
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            if block.language != "console":
                continue
            following = [*(one.text for one in commands(block)), ""][1:]
            for command, after in zip(commands(block), following, strict=True):
                printed = shell.run(command.text)
                if printed is None:
                    assert command.shown == "", f"{document}:{command.line}: shows output of what is not run"
                    continue
                shell.status = printed.status
                yield Ran(command=command, printed=printed, status_is_shown=after == "echo $?")


def answered(catalog: Path, method: str, path: str, headers: Mapping[str, str], body: bytes) -> str:
    """What a server of `catalog` answers, as text."""
    with client_of(catalog) as client:
        return client.request(method, path, headers=dict(headers), content=body).text


@contextmanager
def client_of(catalog: Path) -> Iterator[TestClient]:
    """A client of a server of `catalog`, with the default settings."""
    settings = settings_for("cpu")
    with (
        open_pipeline(catalog, settings=settings) as pipeline,
        open_recorder(pipeline.catalog, settings=settings) as recorder,
        TestClient(create_app(settings, pipeline=pipeline, recorder=recorder, key=load_key(catalog))) as client,
    ):
        yield client
