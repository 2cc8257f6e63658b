"""What time is it?

The one place that reads the wall clock for deciding what is effective; everything else takes the moment as an
argument, so that tests and replays can say it.
"""

import time

from evidence.instant import Instant


def now() -> Instant:
    """Microseconds since 1970-01-01T00:00:00Z."""
    return Instant(time.time_ns() // 1000)
