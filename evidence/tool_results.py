"""How do tables that tools gave stand in the model's input? (pure)

Whole, or cut from the end with a stated count and aggregates over all rows, or as aggregates alone. Never a sample: a
sample that is read as the whole is a wrong answer that nobody can find (R24).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from evidence.aggregates import aggregate, plain
from evidence.canonical import Json
from evidence.fitting import largest_below
from evidence.query_class import ToolOverflow
from evidence.slots import Slot

_STEP = 4  # how much longer each beginning is that is tried, and how far over the budget one settles it

Cell: TypeAlias = str | int | bool | Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One table that a tool gave. Each row has a cell for each column; decimals are finite."""

    tool: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def record(self) -> dict[str, Json]:
        """The whole table; a decimal cell as `{"decimal": "1.50"}`, so that it reads back as what it was."""
        return {
            "tool": self.tool,
            "columns": list(self.columns),
            "rows": [
                [{"decimal": plain(cell)} if isinstance(cell, Decimal) else cell for cell in row] for row in self.rows
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTable:
    """One table in its slot: its first `shown` rows, and where rows are missing the aggregates over all of them."""

    result: ToolResult
    shown: int
    aggregates: Sequence[Json] | None

    @property
    def is_cut(self) -> bool:
        return self.shown < len(self.result.rows)

    def content(self) -> dict[str, Json]:
        """As the model reads it."""
        result = self.result
        return {
            "tool": result.tool,
            "columns": list(result.columns),
            "rows": [
                [plain(cell) if isinstance(cell, Decimal) else cell for cell in row]
                for row in result.rows[: self.shown]
            ],
            "rows_shown": self.shown,
            "rows_total": len(result.rows),
            "aggregates": self.aggregates,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTools:
    """The tool results as they stand in their slot, in the order given."""

    tables: tuple[FittedTable, ...]

    @property
    def notice(self) -> str | None:
        """What was cut, in numbers; None where every row is there."""
        cut = [table for table in self.tables if table.is_cut]
        if not cut:
            return None
        shown, total = sum(table.shown for table in cut), sum(len(table.result.rows) for table in cut)
        tables = f"{len(cut)} of {len(self.tables)} tables"
        return f"{shown} of {total} rows of {tables} are shown; aggregates are over all rows"

    def content(self) -> dict[str, Json]:
        """What the slot holds."""
        return {
            "slot": Slot.TOOL_RESULTS.value,
            "trust": Slot.TOOL_RESULTS.trust.value,
            "notice": self.notice,
            "results": [table.content() for table in self.tables],
        }

    def record(self) -> dict[str, Json]:
        """For the manifest: how many rows of each table the model reads."""
        return {
            "tables": [{"rows_shown": table.shown, "rows_total": len(table.result.rows)} for table in self.tables],
            "notice": self.notice,
        }


def fit(
    results: Sequence[ToolResult],
    *,
    budget_tokens: int | None,
    measure: Callable[[Mapping[str, Json]], int] | None,
    overflow: ToolOverflow,
) -> FittedTools:
    """The tables whole where they fit, else by `overflow`.

    measure: tokens of the segment that this content gets, None where no tokenizer counts; then nothing is too long.
    A cut leaves every table the same number of first rows, or all it has: as many as fit, where one row more of each
    would not. What does not fit in its lowest form, no rows and all aggregates, is given in that form. Measures tables
    in proportion to the budget where they are over it, however long they are.
    """
    whole = FittedTools(
        tables=tuple(FittedTable(result=result, shown=len(result.rows), aggregates=None) for result in results)
    )
    if budget_tokens is None or measure is None or _fits(whole, budget_tokens=budget_tokens, measure=measure):
        return whole
    aggregates = [aggregate(result.columns, result.rows) for result in results]

    def first(rows: int) -> FittedTools:
        return FittedTools(
            tables=tuple(
                table if rows >= table.shown else FittedTable(result=table.result, shown=rows, aggregates=totals)
                for table, totals in zip(whole.tables, aggregates, strict=True)
            )
        )

    if overflow is ToolOverflow.AGGREGATE:
        return first(0)
    most = max((table.shown for table in whole.tables), default=0)
    return first(largest_below(most, lambda rows: measure(first(rows).content()) <= budget_tokens))


def _fits(whole: FittedTools, *, budget_tokens: int, measure: Callable[[Mapping[str, Json]], int]) -> bool:
    """Whether whole tables keep their budget. Beginnings of them are measured first: one that is several times over
    the budget settles it, for a longer text does not take a fraction of its beginning's tokens."""
    most = max((table.shown for table in whole.tables), default=0)
    rows = 1
    while rows < most:
        beginning = FittedTools(tables=tuple(replace(table, shown=min(rows, table.shown)) for table in whole.tables))
        if measure(beginning.content()) > _STEP * budget_tokens:
            return False
        rows *= _STEP
    return measure(whole.content()) <= budget_tokens
