"""How do the documents show the faults? (pure)"""

from tests.noninterference.mutants.every import MUTANTS
from tests.noninterference.relations import Relation


def table() -> str:
    """The Markdown table of docs/non-interference.md: number, fault, what finds it. Ends with a newline."""
    rows = [f"| {mutant.number} | {mutant.name}: {mutant.what} | {_short(mutant.killer)} |" for mutant in MUTANTS]
    return "".join(f"{line}\n" for line in ("| number | fault | killed by |", "|---|---|---|", *rows))


def _short(killer: Relation | str) -> str:
    return killer.name if isinstance(killer, Relation) else killer
