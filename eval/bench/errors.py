"""What ends a benchmark without figures? (pure)

BenchError
└── AnswersDiffer   ours and the peer's answers are not the same work
"""


class BenchError(Exception):
    """A benchmark that cannot give figures."""


class AnswersDiffer(BenchError):
    """What is timed would not be equal work. `work` names it."""

    def __init__(self, work: str, problem: str) -> None:
        super().__init__(f"{work}: ours and the peer's answers differ: {problem}")
        self.work = work
