"""What if a document's name came into what a server says of itself? (R2)"""

import structlog

from evidence.access import Scope, admits
from evidence.sealed import Finding
from index.catalog_read import Reading
from server import recording
from server.unauthorized import NamedExactly, _matching, find_unauthorized
from tests.noninterference.mutants.mutant import Mutant, Oracle
from tests.noninterference.mutants.replacing import replacing


def _find_and_tell(named: NamedExactly, *, scope: Scope, reading: Reading) -> tuple[Finding, ...]:
    """A line for whoever has to find out why a role stayed empty."""
    log = structlog.get_logger("muniment.unauthorized")
    for requirement in named.requirements:
        for facts in _matching(requirement.match, reading):
            if not admits(facts.label, scope):
                log.info("not for this caller", role=requirement.role, source_id=facts.key.source_id)
    return find_unauthorized(named, scope=scope, reading=reading)


NAMED_IN_LOG = Mutant(
    number=24,
    name="a foreign document's id in the log",
    what="a line at the default level names the source that would have filled a role",
    killer=Oracle.CANARY,
    switched_on=replacing(recording, "find_unauthorized", _find_and_tell),
)
TELEMETRY = (NAMED_IN_LOG,)
