"""What ends a benchmark without figures? (pure)

BenchError
├── AnswersDiffer     ours and the peer's answers are not the same work
└── PeerUnavailable   a peer cannot be installed or does not run; told as a row that was left out
"""


class BenchError(Exception):
    """A benchmark that cannot give figures."""


class AnswersDiffer(BenchError):
    """What is timed would not be equal work. `work` names it."""

    def __init__(self, work: str, problem: str) -> None:
        super().__init__(f"{work}: ours and the peer's answers differ: {problem}")
        self.work = work


class PeerUnavailable(BenchError):
    """A peer that cannot take part, and why."""

    def __init__(self, peer: str, reason: str) -> None:
        super().__init__(f"{peer}: {reason}")
        self.reason = reason
