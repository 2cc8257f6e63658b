"""What does the server write down about itself, and what never?

One JSON object a line on standard error, with the id of the request that it was written for (R31). Never the text of a
query, of a source or of an unexpected error, never a local variable: any of them may hold content (reliability over
convenience).
"""

import logging
import sys
import traceback
from contextlib import AbstractContextManager

import structlog


def set_up_logs(level: str) -> None:
    """Send structured logs, of our own and of libraries, to standard error from `level` on."""
    least = getattr(logging, level.upper())
    logging.basicConfig(
        stream=sys.stderr, level=max(least, logging.WARNING), format="%(levelname)s %(name)s", force=True
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,  # what `for_request` binds
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def for_request(request_id: str) -> AbstractContextManager[None]:
    """Put the id of a request on every line written meanwhile, by this task and by the threads that work for it."""
    return structlog.contextvars.bound_contextvars(request_id=request_id)


def frames(error: BaseException) -> list[str]:
    """Where an error came from, innermost last: file, line and function, and nothing else of it."""
    return [
        f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
