"""Which mistakes in an evaluation can a caller correct? (pure)

EvalError
└── InvalidMeasure   a measure that is not among those offered, or its cutoff

A data set that cannot be read raises `server.source_place.SourceFileError`, as any file does.
"""


class EvalError(ValueError):
    """Something a caller gave cannot be evaluated."""


class InvalidMeasure(EvalError):
    """The text names no measure that is offered."""
