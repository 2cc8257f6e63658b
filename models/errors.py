"""What can go wrong between text and tensors? (pure)

ModelError
├── UnknownModel         no registry entry has that name
├── InvalidEntry         a registry entry, or a model folder that contradicts its entry
├── ModelMissing         the files are not on this machine
├── UnsafeModel          a file or setting that could run code; refused before anything is imported
├── UnpinnedModel        a file that decides the outputs has no digest in the entry
├── DigestMismatch       a file is not what its pinned digest says
├── UnknownTokenizer     no counter has that name
├── UnsafeTokenizer      a tokenizer that could read a control token out of rendered content
├── InvalidTokenizer     a tokenizer's files that cannot be read, or contradict each other
├── InvalidTemplate      a chat template that cannot be read, or does not write what it is given
├── DeviceUnavailable    the device asked for is not here
├── RuntimeUnavailable   the runtime asked for is not here
├── NoneQualifies        no runtime gives the same codes for a text alone and among others
├── ExportDiffers        an exported network does not give what the original gives
├── DeviceOutOfMemory    the device cannot hold even the smallest batch allowed
├── TextTooLong          a document is longer than the encoder's window
├── NotText              a string with lone surrogates, which no tokenizer reads
└── InvalidOutput        a vector or score that is not finite, or a vector of length zero

Messages name files, names, positions and numbers; never the text that was encoded.
"""

from collections.abc import Sequence


class ModelError(Exception):
    """Something between text and tensors cannot be done."""


class UnknownModel(ModelError):
    """No registry entry has that name."""

    def __init__(self, name: str, allowed: Sequence[str]) -> None:
        super().__init__(f"no model entry named {name!r}; there are: {', '.join(allowed) or 'none'}")
        self.name = name
        self.allowed = tuple(allowed)


class InvalidEntry(ModelError):
    """A registry entry breaks its schema, or its model folder contradicts it. `entry` names the entry or its file."""

    def __init__(self, entry: str, problem: str) -> None:
        super().__init__(f"model entry {entry}: {problem}")
        self.entry = entry
        self.problem = problem


class ModelMissing(ModelError):
    """The files of a model are not on this machine; nothing is ever fetched."""


class UnsafeModel(ModelError):
    """A model folder holds a file or a setting that could run code. `file` is relative to the folder."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"model folder refused: {file}: {problem}")
        self.file = file


class UnpinnedModel(ModelError):
    """Files that decide a model's outputs have no digest in the entry. `found` holds the digests to pin."""

    def __init__(self, entry: str, found: Sequence[tuple[str, str]]) -> None:
        pins = ", ".join(f'"{file}": "{digest}"' for file, digest in found)
        super().__init__(f"model entry {entry} pins no SHA-256 for these files; check them, then add: {pins}")
        self.entry = entry
        self.found = tuple(found)


class DigestMismatch(ModelError):
    """A file is not what its pinned digest says. Digests are hex SHA-256; `got` is `missing` when there is no file."""

    def __init__(self, file: str, *, expected: str, got: str) -> None:
        super().__init__(f"{file}: expected SHA-256 {expected}, got {got}")
        self.file = file
        self.expected = expected
        self.got = got


class UnknownTokenizer(ModelError):
    """No token counter has that name."""

    def __init__(self, name: str, allowed: Sequence[str]) -> None:
        super().__init__(f"no tokenizer named {name!r}; there are: {', '.join(allowed)}")
        self.name = name
        self.allowed = tuple(allowed)


class UnsafeTokenizer(ModelError):
    """A tokenizer could read a control token out of rendered content. `token` is that token, as its file has it."""

    def __init__(self, folder: str, token: str) -> None:
        super().__init__(
            f"tokenizer {folder} refused: its added token {token!r} holds no character that rendering escapes, so that "
            "retrieved text could become it"
        )
        self.folder = folder
        self.token = token


class InvalidTokenizer(ModelError):
    """A tokenizer's files cannot be read, or contradict each other. `folder` is as the operator named it."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(f"tokenizer {folder}: {problem}")
        self.folder = folder
        self.problem = problem


class InvalidTemplate(ModelError):
    """A chat template cannot be read, or does not write what it is given. `folder` is as the operator named it."""

    def __init__(self, folder: str, problem: str) -> None:
        super().__init__(f"chat template of {folder}: {problem}")
        self.folder = folder
        self.problem = problem


class DeviceUnavailable(ModelError):
    """The device that was asked for is not on this machine."""


class RuntimeUnavailable(ModelError):
    """The runtime that was asked for is not on this machine. `allowed` holds those that are, best first."""

    def __init__(self, name: str, allowed: Sequence[str]) -> None:
        super().__init__(f"runtime {name} is not on this machine, which has: {', '.join(allowed)}")
        self.name = name
        self.allowed = tuple(allowed)


class NoneQualifies(ModelError):
    """No runtime gives the same codes for a text alone and among others (R10)."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"no runtime gives a text the same codes each time; tried: {', '.join(names)}")
        self.names = tuple(names)


class ExportDiffers(ModelError):
    """An exported network does not give what the original gives."""


class DeviceOutOfMemory(ModelError):
    """A batch did not fit into the device's memory, and no smaller one is allowed or fits."""

    def __init__(self, *, rows: int, length: int) -> None:
        super().__init__(f"out of device memory with {rows} rows of {length} tokens")
        self.rows = rows
        self.length = length


class TextTooLong(ModelError):
    """A document is longer than the encoder's window. `position` is its place in the call, from 0."""

    def __init__(self, *, position: int, tokens: int, window: int) -> None:
        super().__init__(f"text {position} has {tokens} tokens with prompt and special tokens, the window is {window}")
        self.position = position
        self.tokens = tokens
        self.window = window


class NotText(ModelError):
    """A string holds lone surrogates, which no tokenizer reads."""

    def __init__(self) -> None:
        super().__init__("the string holds a lone surrogate, so it is not text and has no tokens")


class InvalidOutput(ModelError):
    """A model's output cannot be ranked. `position` is its place in the call, from 0."""

    def __init__(self, *, position: int, problem: str) -> None:
        super().__init__(f"output {position} refused: {problem}")
        self.position = position
        self.problem = problem
