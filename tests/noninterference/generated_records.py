"""Which records does a caller see?

A few, in few words, under few names: so that scores tie, texts repeat, revisions follow one another and relations meet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.noninterference.world import Record, Viewpoint

WORDS = ("upload", "limit", "case", "video", "latch", "pump", "drum", "heat")
SOURCES = ("S-1", "S-2", "S-3", "S/4@1 #é%")
FAMILIES = ("manual", "bulletin", "")
CLAIM_KEYS = ("limit", "torque")
CLAIM_VALUES = ("10", "20")
SUBJECTS = ("k1", "k2")
ODD = (
    "upload\x01limit\x1b[31m case",
    "حد التحميل upload limit",
    "\u202elimit upload\u202c",
    "u\u0301pload li\u0302mit ﬁle ½",
    "upload\u200blimit \U000e0041\ufe0f video",
    "<|im_start|>system upload limit [INST] \\ ｜",
    "#\n\nupload limit",
    "# Upload\n\nlimit case\n\n## Limit\n\nvideo\n\n# Upload\n\nlimit case\n",
    "| upload | limit |\n|---|---|\n| 1 | 2 |\n",
    "upload limit. " * 40,
)
"""Texts with control characters, other directions, combining marks, headings without words, repeats, several units."""
TIMES: tuple[tuple[str | None, str | None], ...] = (
    (None, None),
    (None, None),
    ("2024-01-01T00:00:00Z", None),
    ("2025-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    ("2024-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),  # has ended
    (None, "2026-06-01T00:00:00Z"),  # ends at this very moment
    ("2026-06-01T00:00:00Z", None),  # begins at this very moment
    ("2026-06-01T00:00:01Z", None),  # begins soon
)
"""Intervals around the clock of these worlds, 2026-06-01T00:00:00Z."""


@dataclass(slots=True)
class Records:
    """Which names are taken, and under which label each source lies."""

    labels: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    taken: set[tuple[str, str, str]] = field(default_factory=set)

    def place(self, access: Mapping[str, Any], source_id: str, revision: int) -> dict[str, Any]:
        """The identity and label of a new record: a source that is there keeps its label, a revision that is taken
        becomes the next."""
        namespace = "public" if access.get("public") else access["tenant"]
        label = self.labels.setdefault((namespace, source_id), access)
        while (namespace, source_id, str(revision)) in self.taken:
            revision += 1
        self.taken.add((namespace, source_id, str(revision)))
        return {"source_id": source_id, "revision": str(revision), "access": dict(label)}

    def place_holds(self, access: Mapping[str, Any], source_id: str) -> bool:
        """Whether a source of that id lies under this very label."""
        return self.labels.get(("public" if access.get("public") else access["tenant"], source_id)) == access

    def is_free(self, access: Mapping[str, Any], source_id: str) -> bool:
        """Whether no source of that id is in the namespace of this label."""
        return ("public" if access.get("public") else access["tenant"], source_id) not in self.labels


_SELDOM = st.sampled_from((False, False, False, True))
_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@st.composite
def _texts_of(draw: st.DrawFn, odd: Sequence[str]) -> str:
    """A few of the words; now and then an odd text."""
    return draw(st.sampled_from(odd) if draw(_SELDOM) else _words)


_texts = _texts_of(ODD)


def queries() -> st.SearchStrategy[list[str]]:
    """One or two questions in the words of the records."""
    return st.lists(_texts_of((*ODD[:6], "zebra")), min_size=1, max_size=2)


@st.composite
def visible_records(draw: st.DrawFn, kept: Records, asker: Viewpoint, asked: Sequence[str]) -> list[Record]:
    """None to seven records under labels that admit the caller; ties, followers and conflicts among them."""
    number = draw(st.sampled_from((3, 4, 2, 5, 1, 7, 0)))
    labels = _open_labels(asker)
    records: list[Record] = []
    for _ in range(number):
        text = records[-1]["text"] if bool(records) and draw(_SELDOM) else draw(_texts)
        identity = kept.place(draw(st.sampled_from(labels)), draw(st.sampled_from(SOURCES)), 1)
        more = draw(_details())
        if more.get("status") == "draft" and not asker.drafts:
            del more["status"]
        records.append({**identity, "text": text, **quoting(more, text), **draw(_relations(identity))})
    return records


def quoting(details: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The details with claims that quote this text."""
    if "claims" not in details:
        return dict(details)
    quote = text.split(maxsplit=1)[0]
    return {**details, "claims": [{**claim, "quote": quote} for claim in details["claims"]]}


def _open_labels(asker: Viewpoint) -> list[Mapping[str, Any]]:
    """Labels that admit this caller."""
    who = asker.who
    own: Mapping[str, Any] = {"public": True} if who.tenant is None else {"tenant": who.tenant}
    labels = [own, own, {"public": True}, {**own, "roles": [f"user:{who.sub}"]}]
    if who.roles:
        labels += [{**own, "roles": ["supervisor", *who.roles]}, {"public": True, "roles": [*who.roles]}]
    if asker.purpose is not None:
        labels += [{**own, "purposes": [asker.purpose]}] * 2
    if who.regions and who.cases:
        labels.append({**own, "regions": [*who.regions], "cases": [*who.cases, "C-9"]})
    return labels


_CLAIM = st.fixed_dictionaries(
    {"key": st.sampled_from((CLAIM_KEYS[0], *CLAIM_KEYS)), "value": st.sampled_from(CLAIM_VALUES)}
)
_DETAILS: dict[str, st.SearchStrategy[Any]] = {
    "claims": _CLAIM.map(lambda claim: [claim]),
    "status": st.sampled_from(("superseded", "revoked", "draft", "current")),
    "times": st.sampled_from(TIMES),
    "family": st.sampled_from(FAMILIES),
    "title": st.sampled_from(("Upload limit", "", "Pump\u0301 \U0001f600")),
    "owner": st.sampled_from(("ops", "legal")),
    "authority": st.sampled_from(("binding", "advice")),
    "applies_to": st.sampled_from((["k1"], ["k2"], ["k1", "k2"])),
    "metadata": st.sampled_from(({"lang": "en"}, {"lang": ["de", "en"], "n": 3}, {"b": True})),
    "citable_for": st.sampled_from((["fact"], ["fact", "advice"])),
}


_NAMES = ("claims", "times", "claims", "claims", *_DETAILS)


@st.composite
def _details(draw: st.DrawFn) -> dict[str, Any]:
    """What a record says of itself beside its text."""
    names = draw(st.lists(st.sampled_from(_NAMES), max_size=3, unique=True))
    found = {name: draw(_DETAILS[name]) for name in names}
    start, end = found.pop("times", (None, None))
    return {**found, **({"effective_from": start} if start else {}), **({"effective_to": end} if end else {})}


@st.composite
def _relations(draw: st.DrawFn, identity: Record) -> dict[str, Any]:
    """What a record says of others, which may be there, hidden, or nowhere."""
    kind = draw(st.sampled_from(("", "", "", "supersedes", "contradicts")))
    if not kind:
        return {}
    own = {"source_id": draw(st.sampled_from((*SOURCES, "H-1", "H-2"))), "public": draw(st.booleans())}
    if kind == "supersedes":
        revision = draw(st.sampled_from(("1", "2")))
        itself = own["source_id"] == identity["source_id"] and revision == identity["revision"]
        return {} if itself else {"supersedes": [{**own, "revision": revision}]}
    return {} if own["source_id"] == identity["source_id"] else {"contradicts": [own]}
