"""Which faults are there? All of them, in order of their numbers."""

from tests.noninterference.mutants.caches import CACHES
from tests.noninterference.mutants.company import COMPANY
from tests.noninterference.mutants.counters import COUNTERS
from tests.noninterference.mutants.cuts import CUTS
from tests.noninterference.mutants.mutant import Mutant
from tests.noninterference.mutants.names import NAMES
from tests.noninterference.mutants.relations_of_documents import RELATIONS_OF_DOCUMENTS
from tests.noninterference.mutants.sealed import SEALED
from tests.noninterference.mutants.statistics import STATISTICS
from tests.noninterference.mutants.telemetry import TELEMETRY
from tests.noninterference.mutants.ties import TIES

_BY_QUESTION = (
    *(*STATISTICS, *CUTS, *TIES, *COUNTERS),
    *(*NAMES, *CACHES, *RELATIONS_OF_DOCUMENTS, *SEALED, *COMPANY, *TELEMETRY),
)
MUTANTS: tuple[Mutant, ...] = tuple(sorted(_BY_QUESTION, key=lambda mutant: mutant.number))
