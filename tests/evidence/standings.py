"""How does a test ask how revisions stand?"""

from collections.abc import Iterable

from evidence.eligibility import Eligibility, Standing, judge
from evidence.revision import RevisionFacts
from tests.builders import eligibility


def standing(facts: RevisionFacts, *others: RevisionFacts, asked: Eligibility | None = None) -> Standing:
    """How `facts` stands in a catalog of it and the others, all of them visible."""
    return judge([facts, *others], asked or eligibility())[facts.key]


def usable(visible: Iterable[RevisionFacts], asked: Eligibility | None = None) -> list[str]:
    """The usable revisions as `source@revision`, in order."""
    standings = judge(visible, asked or eligibility())
    return sorted(f"{key.source_id}@{key.revision}" for key in standings if standings[key] is Standing.USABLE)
