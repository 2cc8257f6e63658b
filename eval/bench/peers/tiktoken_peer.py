"""How fast does tiktoken count tokens, and how fast does it pack when it counts again at each append?

Run as a program, by any Python that has tiktoken: `python tiktoken_peer.py FOLDER`. FOLDER holds `work.json` and the
published vocabulary, which tiktoken checks. Every line on standard input names a kind of work; the line that answers
says what was found. Needs the standard library and tiktoken alone.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

WORK_FILE = "work.json"
VOCABULARY_FILE = "vocabulary.tiktoken"

Count = Callable[[str], int]


def counted(texts: Sequence[str], count: Count) -> list[int]:
    """The tokens of each text."""
    return [count(text) for text in texts]


def packed(pieces: Sequence[str], limit: int, count: Count) -> list[int]:
    """How many pieces fit, in order, and their tokens as one text: appended one by one, and counted whole each time."""
    body, kept, tokens = "", 0, 0
    for piece in pieces:
        total = count(body + piece)
        if total > limit:
            break
        body, kept, tokens = body + piece, kept + 1, total
    return [kept, tokens]


def works(work: Mapping[str, Any], count: Count) -> dict[str, Callable[[], list[int]]]:
    """Every kind of work by its name: texts to count, or pieces to pack."""
    counting = {name: partial(counted, texts, count) for name, texts in work["texts"].items()}
    packing = {name: partial(packed, pieces, work["limit"], count) for name, pieces in work["packs"].items()}
    return {**counting, **packing}


def _counter(name: str, vocabulary: Path) -> Count:
    """tiktoken's own count of ordinary text, from the file at hand instead of the network. Imported only here: our side
    imports this module too, and has no tiktoken."""
    os.environ["TIKTOKEN_CACHE_DIR"] = ""  # no copy of the file is wanted
    tiktoken, loading = import_module("tiktoken"), import_module("tiktoken.load")
    public: Any = import_module("tiktoken_ext.openai_public")
    read = loading.load_tiktoken_bpe
    public.load_tiktoken_bpe = lambda _, expected_hash: read(str(vocabulary), expected_hash)
    encode = tiktoken.Encoding(**public.ENCODING_CONSTRUCTORS[name]()).encode_ordinary
    return lambda text: len(encode(text))


def main(folder: Path) -> None:
    """Answer until standard input ends."""
    work = json.loads((folder / WORK_FILE).read_text("utf-8"))
    asked = works(work, _counter(work["encoding"], folder / VOCABULARY_FILE))
    _answer({"version": metadata.version("tiktoken")})
    for line in sys.stdin:
        _answer(asked[line.strip()]())


def _answer(found: object) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
