"""What is one passage, and where in its revision does it stand? (pure)"""

from dataclasses import dataclass

from evidence.identity import UnitKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The smallest retrievable passage.

    `text` is `revision_text[start:end]` exactly (code points); the units of a revision tile its text in order.
    `heading` is the heading path, outermost first. `prefix` is what both channels read in front of the text
    (title and heading path), already cut from its front when it was too long for the encoder: then
    `prefix_tokens_cut` of `prefix_tokens` encoder tokens are missing from it (R14). `tokens` are the encoder's
    tokens of prefix and text with its special tokens.
    """

    key: UnitKey
    start: int
    end: int
    heading: tuple[str, ...]
    text: str
    digest: str  # of text
    prefix: str
    prefix_tokens: int
    prefix_tokens_cut: int
    tokens: int

    @property
    def input_text(self) -> str:
        """What both channels read (R9), before any encoder prompt."""
        return f"{self.prefix}\n{self.text}" if self.prefix else self.text
