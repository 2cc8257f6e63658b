"""Tests of `server/selecting.py`: what a unit gets of its revision."""

from dataclasses import replace
from typing import cast

from evidence.envelope import RetrievalTrace
from evidence.identity import RevisionKey
from evidence.revision import Claim
from index.catalog_read import Reading
from server.selecting import with_claims
from tests.builders import SearchedText, revision, unit

NOT_RANKED = RetrievalTrace(ranks={}, scores={})


class OneText:
    """A reading of a catalog whose every revision has this text."""

    def __init__(self, text: str) -> None:
        self.text = SearchedText(text)

    def revision_text(self, _: RevisionKey) -> str:
        return self.text


def searches(units: int) -> int:
    """How often the text of one revision with three claims is searched for so many of its units."""
    claims = tuple(Claim(key=quote, value="v", quote=quote) for quote in ("first", "second", "third"))
    facts = replace(revision("LONG"), claims=claims)
    reading = OneText("first second third")
    passages = [unit(facts.key, "first", ordinal=ordinal) for ordinal in range(units)]
    found = with_claims(passages, [NOT_RANKED] * units, cast("Reading", reading), {facts.key: facts})
    assert [[claim.key for claim in one.claims] for one in found] == [["first"]] * units
    return reading.text.searches


def test_a_revision_s_quotes_are_searched_once_for_all_of_its_units() -> None:
    assert searches(100) == searches(10) == searches(1) == 3
