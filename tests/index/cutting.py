"""How do the tests cut a text into units, and what must hold for any cut?"""

from collections.abc import Sequence

from evidence.canonical import digest_text
from evidence.identity import PUBLIC, RevisionKey
from evidence.unit import Unit
from index.chunking import TokenCounter, chunk
from tests.index.counters import Words

KEY = RevisionKey(PUBLIC, "manual", "3")
WINDOW = 256  # MiniLM's


def cut(
    text: str,
    *,
    title: str = "",
    quotes: Sequence[str] = (),
    counter: TokenCounter | None = None,
    window: int = 50,
    target: int = 10,
    contextual: bool = True,
) -> list[Unit]:
    return chunk(
        KEY,
        title=title,
        text=text,
        quotes=quotes,
        counter=counter or Words(),
        window=window,
        target=target,
        contextual=contextual,
    )


def cut_texts(text: str, *, window: int = 50, target: int = 10, quotes: Sequence[str] = ()) -> list[str]:
    return [unit.text for unit in cut(text, window=window, target=target, quotes=quotes)]


def numbered(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count))


def assert_sound(units: Sequence[Unit], text: str, *, counter: TokenCounter, window: int) -> None:
    """What holds for every revision: units tile the text, say the truth about it, and fit the window."""
    assert "".join(unit.text for unit in units) == text
    assert units[0].start == 0
    for ordinal, unit in enumerate(units):
        assert unit.key == (*KEY, ordinal)
        assert unit.text == text[unit.start : unit.end]
        assert unit.digest == digest_text(unit.text)
        assert unit.tokens == counter.special_tokens + counter.count(unit.input_text) <= window
        assert unit.text or not text
