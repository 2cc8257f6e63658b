"""What did a proof compare, and what came of it? (pure)"""

from collections.abc import Mapping
from dataclasses import dataclass

from eval.proof.comparing import Difference
from eval.proof.requests import Asked
from eval.proof.visible_part import View
from evidence.canonical import Json
from evidence.counted import counted

LEFT_OUT = (
    "how long an answer takes",
    "the milliseconds of `run` (the stopwatch stands still on both sides)",
    "answers to an overload (429, 503)",
    "the headers `date` and `x-request-id`",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """How much a catalog holds."""

    sources: int
    units: int

    def record(self) -> dict[str, Json]:
        return {"sources": self.sources, "units": self.units}


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """How much is visible from one view, and how many queries were asked there."""

    view: View
    visible: Holding
    queries: int

    def record(self) -> dict[str, Json]:
        return {
            "purpose": self.view.purpose,
            "drafts": self.view.drafts,
            "visible": self.visible.record(),
            "queries": self.queries,
        }

    def line(self, of: Holding) -> str:
        """The view for people."""
        return (
            f"{_named(self.view)}: {self.visible.sources} of"
            f" {counted(of.sources, 'source')} visible, {self.visible.units} of {counted(of.units, 'unit')};"
            f" {self.queries} {'query' if self.queries == 1 else 'queries'}"
        )


def _named(view: View) -> str:
    purpose = "no purpose" if view.purpose is None else f"purpose {view.purpose}"
    return f"{purpose}, drafts too" if view.drafts else purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The first answer that differs, and where."""

    asked: Asked
    difference: Difference

    def record(self) -> dict[str, Json]:
        return {
            "query": self.asked.question.query,
            "route": self.asked.route,
            "request": self.asked.what,
            "field": self.difference.path,
            "whole_catalog": self.difference.one,
            "visible_only": self.difference.other,
        }

    def lines(self) -> list[str]:
        """The difference for people."""
        return [
            f"first: {self.asked.route} ({self.asked.what}) for {self.asked.question.shown}: {self.difference.path}",
            f"  over the whole catalog: {self.difference.one}",
            f"  over what is visible:   {self.difference.other}",
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of it. of: what the whole catalog holds. statuses: HTTP status -> answers over the whole catalog.

    not_asked: views from which the principal sees something else, and that no question took.
    size_bytes: of the bodies compared, counted once. differing: answers that are not the same on both sides.
    """

    sub: str
    tenant: str | None
    of: Holding
    views: tuple[Viewed, ...]
    not_asked: tuple[View, ...]
    statuses: Mapping[int, int]
    size_bytes: int
    differing: int
    first: Found | None

    @property
    def answers(self) -> int:
        """How many were compared."""
        return sum(self.statuses.values())

    def record(self) -> dict[str, Json]:
        """The report as JSON."""
        return {
            "verdict": "identical" if self.first is None else "differs",
            "principal": {"sub": self.sub, "tenant": self.tenant},
            "catalog": self.of.record(),
            "views": [viewed.record() for viewed in self.views],
            "views_not_asked": [{"purpose": view.purpose, "drafts": view.drafts} for view in self.not_asked],
            "answers": self.answers,
            "bytes": self.size_bytes,
            "statuses": {str(status): number for status, number in self.statuses.items()},
            "differing": self.differing,
            "first": None if self.first is None else self.first.record(),
            "not_compared": LEFT_OUT,
        }

    def lines(self) -> list[str]:
        """The report for people; the verdict is the last line but what was not compared."""
        statuses = ", ".join(f"{number} with status {status}" for status, number in self.statuses.items())
        verdict = (
            ["identical"]
            if self.first is None
            else [f"{self.differing} of {counted(self.answers, 'answer')} differ", *self.first.lines()]
        )
        return [
            f"{self.sub} of {'no tenant' if self.tenant is None else self.tenant}",
            *(f"  {viewed.line(self.of)}" for viewed in self.views),
            f"compared {counted(self.answers, 'answer')}, {counted(self.size_bytes, 'byte')} of bodies: {statuses}",
            *verdict,
            *(f"not asked: {_named(view)}, where something else is visible" for view in self.not_asked),
            f"not compared: {'; '.join(LEFT_OUT)}",
        ]
