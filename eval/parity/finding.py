"""What did one check find in one place? (pure)"""

from collections.abc import Mapping
from dataclasses import dataclass

Figure = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check, run once.

    name: what must hold, as a sentence. place: what computed, as `torch on cuda`. figures: what was counted; a
    `digest` is of every answer, and equal on every machine.
    """

    name: str
    place: str
    passed: bool
    figures: Mapping[str, Figure]

    def record(self) -> dict[str, object]:
        """The finding as JSON."""
        return {"name": self.name, "place": self.place, "passed": self.passed, "figures": dict(self.figures)}

    def line(self) -> str:
        """The finding as a line of a table; digests are cut to eight characters of their hex.

        >>> Finding(name="sums are exact", place="numpy", passed=True, figures={"sums": 3}).line()
        'ok    numpy                   sums are exact: 3 sums'
        """
        said = ", ".join(
            f"{name} {str(value).partition(':')[2][:8]}" if name == "digest" else f"{value} {name.replace('_', ' ')}"
            for name, value in self.figures.items()
        )
        return f"{'ok' if self.passed else 'FAIL':4}  {self.place:22}  {self.name}: {said}"
