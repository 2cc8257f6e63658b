"""How do the documents show the faults? (pure)"""

from tests.noninterference.mutants.every import MUTANTS
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.relations import Relation


def table() -> str:
    """The Markdown table of docs/non-interference.md: number, fault, what finds it. Ends with a newline."""
    rows = [f"| {mutant.number} | {mutant.name}: {mutant.what} | {_killer(mutant)} |" for mutant in MUTANTS]
    return "".join(f"{line}\n" for line in ("| number | fault | killed by |", "|---|---|---|", *rows))


def _killer(mutant: Mutant) -> str:
    return mutant.killer.name if isinstance(mutant.killer, Relation) else mutant.killer.value
