"""How does a failure read, in one line, and with which exit status?"""

import sqlite3


class Failure(Exception):
    """Ends a command with one line and an exit status."""

    status = 2


class UsageFailure(Failure):
    """Bad usage or input."""


class Negative(Failure):
    """The command worked and its answer is no."""

    status = 1


def explain_failure(error: Exception) -> tuple[str, int]:
    """The line for standard error and the exit status of `error`.

    Errors of our own packages speak for themselves; anything else is named by its type: its text may hold content.
    """
    if isinstance(error, Failure):
        return f"muniment: {_one_line(error)}", error.status
    if type(error).__module__.split(".")[0] in {"evidence", "index", "models", "server", "eval"}:
        return f"muniment: {_one_line(error)}", 2
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"muniment: {where}{error.strerror}", 2
    if isinstance(error, sqlite3.Error) or type(error).__module__.startswith("sqlalchemy"):
        return "muniment: the catalog's database failed; run `muniment verify` on it", 2
    return f"muniment: unexpected {type(error).__name__}; set MUNIMENT_DEBUG=1 to see where", 2


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
