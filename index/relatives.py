"""On which revisions does it depend whether one may be used? (pure)

On all of its own source, and on whatever supersedes one of those (R4).
"""

from bisect import bisect_left
from collections.abc import Iterable

from evidence.identity import RevisionKey, SourceKey
from evidence.revision import RevisionFacts
from index.catalog_read import Holdings


def relatives(sources: Iterable[SourceKey], holdings: Holdings) -> list[RevisionFacts]:
    """Every revision of these sources, and every one that supersedes one of them; each once, visible or not.

    Found in what is kept of this state, without a statement; costs a binary search a source.
    """
    found: dict[RevisionKey, RevisionFacts] = {}
    for source in dict.fromkeys(sources):
        for place in range(bisect_left(holdings.keys, (*source, "")), len(holdings.keys)):
            key = holdings.keys[place]
            if key[:2] != source:
                break
            found[key] = holdings.facts[key]
        found.update((facts.key, facts) for facts in holdings.superseding.get(source, ()))
    return list(found.values())
