"""How are many searches of one caller answered in one call, each as if alone?

Their queries are encoded together, each as if alone. Then one search goes after the other, each with a state, an
attempt, gates and a look through its answer of its own, so that none can tell that it has neighbours. What they share
is the last look: all answers leave together, so all are held against the authority once more when the last one stands
(R5). The first request that cannot be answered refuses all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from evidence.access import Principal
from evidence.canonical import Json
from server.attempts import ATTEMPTS, Authority
from server.errors import Invalid, RequestError
from server.schemas import Channel, SearchRequest
from server.searching import Found, Searcher

AHEAD_AT_ONCE = 8  # queries encoded together before another request has its turn


class SearchBatch:
    """Answers the searches of one call: `prepare` its parts, `make` each of them, in any order, then `finish`. For one
    thread at a time.

    ahead: makes what the searches can make together, the codes of their queries. searcher: makes what answers one
    request. run: the `run` block of one answer, once it is made.
    """

    def __init__(
        self,
        requests: Sequence[SearchRequest],
        principal: Principal,
        *,
        authority: Authority,
        ahead: Callable[[Sequence[str]], None],
        searcher: Callable[[SearchRequest], Searcher],
        run: Callable[[Searcher], Json],
    ) -> None:
        self._requests = requests
        self._principal = principal
        self._authority = authority
        self._ahead = ahead
        self._searcher = searcher
        self._run = run
        self._made: dict[int, tuple[Searcher, Found]] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def parts(self) -> list[list[str]]:
        """The queries that `prepare` is to be called with, some at a time, so that others have their turn between."""
        queries = [request.query for request in self._requests if request.channel is not Channel.LEXICAL]
        return [queries[first : first + AHEAD_AT_ONCE] for first in range(0, len(queries), AHEAD_AT_ONCE)]

    def prepare(self, part: Sequence[str]) -> None:
        """What `make` is faster after. An answer is the same without."""
        self._ahead(part)

    def make(self, place: int) -> None:
        """Answer the request at `place`. Raises what a search alone raises, its path below that place."""
        with refusing_all(place):
            searcher = self._searcher(self._requests[place])
            self._made[place] = searcher, searcher.find()

    def finish(self) -> list[dict[str, Json]]:
        """The bodies, in the order of the requests, as they may leave now: what moved meanwhile is made again, as often
        as for a search alone, and then given up."""
        for _ in range(ATTEMPTS):
            moved = self._moved()
            if not moved:
                break
            for place in moved:
                self.make(place)
        else:
            for place in self._moved():
                searcher, _ = self._made[place]
                with refusing_all(place):
                    self._made[place] = searcher, searcher.give_up()
        made = (self._made[place] for place in range(len(self)))
        return [{**found.body, "run": self._run(searcher)} for searcher, found in made]

    def _moved(self) -> list[int]:
        resting = [(place, found.basis) for place, (_, found) in sorted(self._made.items())]
        asked = [(place, self._requests[place], basis) for place, basis in resting if basis is not None]
        moved = self._authority.moved([(request, basis) for _, request, basis in asked], self._principal)
        return [asked[at][0] for at in moved]


def require_few_hits(requests: Sequence[SearchRequest], *, most: int) -> None:
    """Raise Invalid when the requests of one call want more hits than `most`, all together."""
    wanted = sum(request.k for request in requests)
    if wanted > most:
        raise Invalid(f"want {wanted} hits all together, at most {most} are allowed", path="$.requests")


@contextmanager
def refusing_all(place: int) -> Iterator[None]:
    """Turn the refusal of one request into that of the call, naming its place."""
    try:
        yield
    except RequestError as error:
        raise error.within(f"$.requests[{place}]") from None
