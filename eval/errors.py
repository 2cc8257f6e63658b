"""What can keep an evaluation or a proof from an end? (pure)

EvalError
├── InvalidMeasure   a measure that is not among those offered, or its cutoff
└── Unproved         a proof came to no verdict

A data set that cannot be read raises `server.source_place.SourceFileError`, as any file does.
"""


class EvalError(ValueError):
    """Something a caller gave cannot be evaluated."""


class InvalidMeasure(EvalError):
    """The text names no measure that is offered."""


class Unproved(EvalError):
    """A proof came to no verdict: the catalog was written to meanwhile, or the server failed on both sides."""
