"""How does a look at one thing end: well, with a warning, or with a failure?"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from muniment.failures import explain_failure


class Status(StrEnum):
    """How much it matters."""

    OK = "ok"
    WARN = "warn"  # works, but less well, or not for long
    FAIL = "fail"  # something does not work


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was seen, and what to do about it; `advice` is None where there is nothing to do."""

    status: Status
    found: str
    advice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A finding, and what was looked at."""

    name: str
    finding: Finding

    @property
    def status(self) -> Status:
        return self.finding.status

    def record(self) -> dict[str, str | None]:
        """The finding as JSON."""
        finding = self.finding
        return {"check": self.name, "status": finding.status, "found": finding.found, "advice": finding.advice}

    def line(self) -> str:
        """The finding for people."""
        finding = self.finding
        advice = "" if finding.advice is None else f" -> {finding.advice}"
        return f"{finding.status:<4}  {self.name:<18} {finding.found}{advice}"


Check = tuple[str, Callable[[], Finding]]


def ok(found: str) -> Finding:
    """All is well."""
    return Finding(status=Status.OK, found=found)


def warn(found: str, *, advice: str) -> Finding:
    """It works, but."""
    return Finding(status=Status.WARN, found=found, advice=advice)


def fail(found: str, *, advice: str | None = None) -> Finding:
    """It does not work. Without `advice`, what was found says what to do."""
    return Finding(status=Status.FAIL, found=found, advice=advice)


def examine(checks: Iterable[Check]) -> Iterator[Named]:
    """Look at one thing after the other. A look that breaks is a failure, and the rest goes on."""
    for name, check in checks:
        try:
            finding = check()
        except Exception as error:  # noqa: BLE001 - a broken installation breaks in any way: it is what is looked for
            finding = fail(explain_failure(error)[0].removeprefix("muniment: "))
        yield Named(name=name, finding=finding)
