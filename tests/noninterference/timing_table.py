"""How are the findings on time told to people, and kept? (pure)"""

from collections.abc import Sequence

from eval.distinguishing import AUC_LIMIT, T_LIMIT
from tests.noninterference.timing import REPEATED, Finding, Kind, Told

GOAL_N = 100_000
NOT_CLAIMED = (
    "Latency is a declared exception: nothing here is promised. A row that is within the limits says that this many"
    " measurements on this machine did not tell the worlds apart, and no more."
)
_HEADER = ("differs", "what was timed", "n", "t", "difference", "AUC", f"AUC of {REPEATED}", "")


def table(findings: Sequence[Finding]) -> str:
    """The findings as a Markdown table, a row for each kind of time, and what is not claimed."""
    lines = [_line(_HEADER), _line(["---"] * len(_HEADER)), *(row for finding in findings for row in rows(finding))]
    limits = f"The limits: |t| below {T_LIMIT}, and an AUC of at most {AUC_LIMIT}. The goal is n = {GOAL_N:,}."
    return "\n".join([*lines, "", limits, NOT_CLAIMED, ""])


def rows(finding: Finding) -> list[str]:
    """A row of the table for each kind of time."""
    return [_line(_row(finding, kind, told)) for kind, told in finding.told.items()]


def record(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """The findings as JSON. Times are in microseconds."""
    return [
        {
            "differs": finding.scenario.name,
            "what": finding.scenario.what,
            "claimed": finding.scenario.is_claimed,
            "n": finding.n,
            "times": {
                kind.name.lower(): {
                    "what": kind.value,
                    "t": round(told.t, 2),
                    "crop": told.crop,
                    "difference_us": round(told.difference, 1),
                    "auc": round(told.auc, 4),
                    f"auc_of_{REPEATED}": None if told.repeated is None else round(told.repeated, 4),
                    "medians_us": [round(median, 1) for median in told.medians],
                    "auc_error": round(told.auc_error, 4),
                    "verdict": told.verdict.value,
                }
                for kind, told in finding.told.items()
            },
        }
        for finding in findings
    ]


def _row(finding: Finding, kind: Kind, told: Told) -> list[str]:
    return [
        finding.scenario.name,
        kind.name.lower(),
        f"{finding.n:,}",
        f"{told.t:+.1f}",
        f"{told.difference:+,.0f} of {told.medians[0]:,.0f} µs",
        f"{told.auc:.3f}",
        "" if told.repeated is None else f"{told.repeated:.3f}",
        told.verdict.value,
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
