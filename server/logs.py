"""What does the server write down about itself, and what never?

One JSON object a line on standard error. Never the text of a query, of a source or of an unexpected error, never a
local variable: any of them may hold content (reliability over convenience).
"""

import logging
import sys
import traceback

import structlog


def set_up_logs(level: str) -> None:
    """Send structured logs, of our own and of libraries, to standard error from `level` on."""
    least = getattr(logging, level.upper())
    logging.basicConfig(
        stream=sys.stderr, level=max(least, logging.WARNING), format="%(levelname)s %(name)s", force=True
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def frames(error: BaseException) -> list[str]:
    """Where an error came from, innermost last: file, line and function, and nothing else of it."""
    return [
        f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
