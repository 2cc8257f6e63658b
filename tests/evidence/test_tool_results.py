"""How tables of tools are cut or aggregated, and never sampled (R24)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.canonical import Json
from evidence.query_class import ToolOverflow
from evidence.render import render_json
from evidence.tool_results import FittedTools, ToolResult, fit


def table(rows: int, *, tool: str = "orders") -> ToolResult:
    """A name and a price a row: 1.50, 2.50, 3.50, ..."""
    return ToolResult(
        tool=tool,
        columns=("name", "price"),
        rows=tuple((f"row-{row}", Decimal(f"{row}.50")) for row in range(1, rows + 1)),
    )


def length(content: Mapping[str, Json]) -> int:
    return len(render_json(content))


def fitted(
    results: Sequence[ToolResult], *, budget: int | None = None, overflow: ToolOverflow = ToolOverflow.CUT
) -> FittedTools:
    return fit(results, budget_tokens=budget, measure=None if budget is None else length, overflow=overflow)


def rows_written(rows: int) -> int:
    """How many rows are written in all to fit a table of so many into a budget that holds a few of them."""
    written = []

    def measure(content: Mapping[str, Json]) -> int:
        written.append(sum(len(found["rows"]) for found in cast("list[dict[str, Any]]", content["results"])))
        return length(content)

    tools = fit([table(rows)], budget_tokens=600, measure=measure, overflow=ToolOverflow.CUT)
    assert 0 < tools.tables[0].shown < 40
    return sum(written)


def tables(tools: FittedTools) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", tools.content()["results"])


def test_a_table_that_fits_stands_whole_without_aggregates() -> None:
    assert tables(fitted([table(2)])) == [
        {
            "tool": "orders",
            "columns": ["name", "price"],
            "rows": [["row-1", "1.50"], ["row-2", "2.50"]],
            "rows_shown": 2,
            "rows_total": 2,
            "aggregates": None,
        }
    ]


def test_at_exactly_its_budget_every_row_stands_and_one_token_less_cuts_from_the_end_with_a_count() -> None:
    tokens = length(fitted([table(40)]).content())

    exact, less = fitted([table(40)], budget=tokens), fitted([table(40)], budget=tokens - 1)
    assert (exact.tables[0].shown, exact.notice) == (40, None)
    (cut,) = tables(less)
    assert cut["rows_shown"] < cut["rows_total"] == 40
    assert cut["rows"] == [[f"row-{row}", f"{row}.50"] for row in range(1, cut["rows_shown"] + 1)]
    assert less.notice == f"{cut['rows_shown']} of 40 rows of 1 of 1 tables are shown; aggregates are over all rows"


def test_a_cut_shows_as_many_rows_as_fit() -> None:
    tools = fitted([table(40)], budget=600)
    shown = tools.tables[0].shown

    assert 0 < shown < 40
    assert length(tools.content()) <= 600
    assert fitted([table(40)], budget=length(tools.content())) == tools
    assert fitted([table(40)], budget=length(tools.content()) - 1).tables[0].shown == shown - 1


def test_a_cut_comes_with_aggregates_over_all_rows() -> None:
    """By hand: 1.50 + ... + 40.50 = 820 + 40 x 0.50."""
    (cut,) = tables(fitted([table(40)], budget=600))

    assert cut["aggregates"] == [{"column": "price", "count": 40, "sum": "840.00", "min": "1.50", "max": "40.50"}]


def test_a_class_may_aggregate_instead_and_then_no_row_is_shown() -> None:
    tokens = length(fitted([table(40)]).content())

    whole = fitted([table(40)], budget=tokens, overflow=ToolOverflow.AGGREGATE)
    (aggregated,) = tables(fitted([table(40)], budget=tokens - 1, overflow=ToolOverflow.AGGREGATE))
    assert whole.tables[0].shown == 40
    assert (aggregated["rows"], aggregated["rows_shown"], aggregated["rows_total"]) == ([], 0, 40)
    assert aggregated["aggregates"][0]["count"] == 40


def test_tables_are_cut_to_the_same_number_of_rows_and_a_short_one_stays_whole() -> None:
    tools = fitted([table(30, tool="long"), table(1, tool="short"), table(30, tool="other")], budget=900)

    long, short, other = (found.shown for found in tools.tables)
    assert (short, long) == (1, other)
    assert 1 < long < 30
    assert [found["aggregates"] is None for found in tables(tools)] == [False, True, False]


def test_the_lowest_form_has_no_rows_and_is_given_even_where_it_does_not_fit() -> None:
    tools = fitted([table(40)], budget=1)

    assert tools.tables[0].shown == 0
    assert tables(tools)[0]["aggregates"]


def test_a_table_without_rows_stands_whole() -> None:
    assert tables(fitted([table(0)], budget=1))[0]["rows_total"] == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.integers(1, 2500), st.sampled_from(list(ToolOverflow)))
def test_rows_are_never_sampled(sizes: list[int], budget: int, overflow: ToolOverflow) -> None:
    """What is shown is always a beginning of the table."""
    results = [table(size) for size in sizes]

    tools = fitted(results, budget=budget, overflow=overflow)
    for result, found in zip(results, tables(tools), strict=True):
        shown = found["rows_shown"]
        assert found["rows"] == [[name, str(price)] for name, price in result.rows[:shown]]
        assert (found["aggregates"] is None) is (shown == len(result.rows))
    assert length(tools.content()) <= budget or all(not found["rows"] for found in tables(tools))


def test_the_record_keeps_a_decimal_apart_from_a_text() -> None:
    result = ToolResult(tool="t", columns=("a", "b"), rows=((Decimal("2.50"), "2.50"),))

    assert result.record()["rows"] == [[{"decimal": "2.50"}, "2.50"]]


def test_a_table_ten_times_as_long_is_not_written_any_longer_where_it_is_cut() -> None:
    assert rows_written(10_000) == rows_written(1_000) < 1_000


def test_a_table_that_fits_is_measured_in_few_growing_beginnings_before_it_stands_whole() -> None:
    written: list[int] = []

    def measure(content: Mapping[str, Json]) -> int:
        written.append(len(cast("list[dict[str, Any]]", content["results"])[0]["rows"]))
        return length(content)

    tools = fit([table(65)], budget_tokens=10**9, measure=measure, overflow=ToolOverflow.CUT)
    assert (tools.tables[0].shown, written) == (65, [1, 4, 16, 64, 65])
