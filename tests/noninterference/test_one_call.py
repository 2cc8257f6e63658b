"""Does a search get among others in one call, byte for byte, what it gets alone? (R6, R10)

And do texts that are embedded or reranked get what they get alone, whoever asks, whatever the catalog holds?
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from server.in_process import HttpResponse
from server.searching import Searcher
from tests.noninterference.application import Application
from tests.noninterference.bench import Bench, Difference, require_equal
from tests.noninterference.generators import Case
from tests.noninterference.names import together
from tests.noninterference.trying import over_cases
from tests.noninterference.world import Asked, Viewpoint, World, visible_part
from tests.worlds import principal, record

WORLDS = 20
ANN = Viewpoint(who=principal("blue"))
WORLD = World(
    records=(
        record("A", "The upload limit is 25 MB for each file.", tenant="blue"),
        record("A", "The upload limit is 99 MB for each file.", tenant="red"),
        record("B", "Whoever uploads a video has a limit."),
    )
)
TEXTS = ["upload limit", "a", "What is the upload limit?", "upload limit"]


def held_together(bench: Bench, case: Case) -> None:
    """Raise Difference unless the searches of a case are answered in one call as alone, over the whole world and over
    its visible part, and the first that is refused refuses the call in the same words."""
    searches = [one for one in case.requests if one.target == "/v1/search"]
    with bench.application(case.world) as full, bench.application(visible_part(case.world, case.view)) as part:
        alone = [part.ask(search) for search in searches]
        asked = together(case.asker, searches)
        answer = full.ask(asked)
        require_equal(asked, answer, part.ask(asked))
        _require_joined(asked, alone, answer)
        answered = [search for search, one in zip(searches, alone, strict=True) if one.status == 200]
        if len(answered) < len(searches):
            again = together(case.asker, answered)
            _require_joined(again, [one for one in alone if one.status == 200], full.ask(again))


def _require_joined(asked: Asked, alone: Sequence[HttpResponse], answer: HttpResponse) -> None:
    if all(one.status == 200 for one in alone):
        joined = b'{"responses":[' + b",".join(one.body for one in alone) + b"]}"
        if (answer.status, answer.body) != (200, joined):
            raise Difference(f"{asked}\n{answer.body!r}\n{joined!r}")
        return
    refused = [json.loads(one.body) for one in alone if one.status != 200]
    told = json.loads(answer.body)
    if _words(told) not in [_words(one) for one in refused]:
        raise Difference(f"{asked}\n{told}\n{refused}")


def _words(problem: dict[str, Any]) -> dict[str, Any]:
    """A refusal less the place, which lies deeper in a call of many."""
    return {name: value for name, value in problem.items() if name != "path"}


def test_searches_of_one_call_are_answered_as_alone(bench: Bench) -> None:
    over_cases(lambda case: held_together(bench, case), WORLDS, shrink=bench.shrink)


def test_a_neighbour_that_shows_in_an_answer_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a server that takes the statistics of the last search for the next one."""
    search = Searcher._attempt
    last: list[object] = []

    def with_a_trace(self: Searcher) -> Any:
        found = search(self)
        last.append(self.request)
        if len(last) > 4 and last[-2] is not self.request:
            found.body["recipe"] = "of another search"
        return found

    monkeypatch.setattr(Searcher, "_attempt", with_a_trace)
    case = Case(world=WORLD, asker=ANN, requests=(ANN.search("upload limit"), ANN.search("video")))

    with pytest.raises(Difference):
        held_together(bench, case)


def test_the_first_search_that_is_refused_names_its_place(bench: Bench) -> None:
    searches = [ANN.search("upload limit"), ANN.search("upload limit", k=0)]

    with bench.application(WORLD) as opened:
        answer = opened.ask(together(ANN, searches))
    assert (answer.status, json.loads(answer.body)["path"]) == (422, "$.requests[1].k")


# Texts of the request alone


def embedded(texts: Sequence[str], who: Viewpoint = ANN) -> Asked:
    body = {"model": "words", "input": texts, "encoding_format": "base64"}
    return Asked(who=who.who, method="POST", target="/v1/embeddings", body=body)


def reranked(documents: Sequence[str], who: Viewpoint = ANN) -> Asked:
    body = {"model": "shared-words", "query": "upload limit", "documents": documents}
    return Asked(who=who.who, method="POST", target="/v1/rerank", body=body)


def vectors(opened: Application, texts: Sequence[str]) -> list[str]:
    return [one["embedding"] for one in json.loads(opened.ask(embedded(texts)).body)["data"]]


def test_a_text_is_embedded_in_company_as_alone(bench: Bench) -> None:
    with bench.application(WORLD) as opened:
        assert vectors(opened, TEXTS) == [vectors(opened, [text])[0] for text in TEXTS]


def test_neither_the_catalog_nor_who_asks_has_a_part_in_embeddings_and_reranking(bench: Bench) -> None:
    asked = [(make, who) for make in (embedded, reranked) for who in (ANN, Viewpoint(who=principal("red", sub="bob")))]

    with bench.application(WORLD) as full, bench.application(World(records=())) as empty:
        for make, who in asked:
            require_equal(make(TEXTS), full.ask(make(TEXTS, who)), empty.ask(make(TEXTS)))
        crowd = full.ask_together([make(TEXTS, who) for make, who in asked * 4])
        for (make, _), one in zip(asked * 4, crowd, strict=True):
            require_equal(make(TEXTS), one, empty.ask(make(TEXTS)))
