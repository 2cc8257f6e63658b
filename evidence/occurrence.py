"""Where does an answer cite evidence? (pure)

One record of a citation, whatever the provider: `native_citations` makes it from what a model gave back,
`validation` judges it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One place of an answer that cites evidence. All of it was written by a model: nothing in it is trusted.

    handle: what was named, as it stands there; it need not be a handle.
    quote: the words said to stand in the passage, in the stored text's own spelling; None where none are quoted.
    span: where they are said to stand, `[start, end)` in code points of the stored revision text, None where the
    provider gives no offsets (R34).
    claim: what the answer says on this ground. claim_type: which kind of statement that is.
    """

    handle: str
    quote: str | None = None
    span: tuple[int, int] | None = None
    claim: str | None = None
    claim_type: str | None = None
