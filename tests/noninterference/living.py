"""How does a catalog live through a history, and does it do what the rules say?

As an operator does it, who opens it beside the server, and where a step says so over HTTP, as a curator of that
namespace.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, assert_never
from urllib.parse import quote

from evidence.grants import Grant, Subject, Token
from evidence.identity import PUBLIC, Namespace, RevisionKey, SourceKey
from evidence.label_record import parse_label
from index.catalog import Catalog
from index.errors import IngestRefused
from index.intake import take_in
from server.in_process import HttpResponse
from tests.noninterference.application import Application
from tests.noninterference.bench import Difference
from tests.noninterference.building import publish
from tests.noninterference.encoder import FastEncoder
from tests.noninterference.histories import Delete, Pass, Reindex, Relabel, Revoke, RollBack, Step, TakeIn
from tests.noninterference.what_is_left import Left, Refused
from tests.noninterference.world import Asked, Record, Revocation, key_of
from tests.worlds import NOW, cut, principal

CURATORS_SCOPE = ("ingest", "ingest-public", "revoke")
REFUSED, NOT_FOUND = 422, 404
SOURCES = "/v1/sources"


class Life:
    """A running application whose catalog lives, and beside it what must be left of it by the rules.

    catalog: the same one opened once more, as commands do it, which run in processes of their own. An index is
    published from the first moment on: without one there is nothing to compare.
    """

    def __init__(self, application: Application, catalog: Catalog) -> None:
        self.application = application
        self.left = Left()
        self.now = NOW
        self._catalog = catalog
        self._steps = 0
        self._ingests: dict[str, str] = {}  # what was offered -> its ingest id
        publish(catalog)

    def live(self, step: Step) -> None:
        """One step. Raises Difference where the catalog does what the rules refuse, or the other way round."""
        self._steps += 1
        expected, done = self._by_rule(step), self._in_catalog(step)
        if done != expected:
            raise Difference(f"{step}: done by the catalog: {done}, by the rules: {expected}")

    def _by_rule(self, step: Step) -> bool:
        left = self.left
        match step:
            case TakeIn():
                try:
                    left.take_in(step.records, step=self._steps, coded=step.coded, relabel=step.relabel)
                except Refused:
                    return False
                return True
            case Reindex():
                left.reindex()
                return True
            case Delete():
                return left.delete(step.source)
            case Relabel():
                return left.relabel(step.source, step.access, step=self._steps)
            case Revoke():
                return left.revoke(step.what)
            case RollBack():
                return left.roll_back(step.records)
            case Pass():
                return True
            case _:
                assert_never(step)

    def _in_catalog(self, step: Step) -> bool:
        catalog = self._catalog
        match step:
            case TakeIn():
                return self._taken_in(step)
            case Reindex():
                publish(catalog)
                return True
            case Delete(source=source):
                if step.over_http:
                    return self._asked("DELETE", source.namespace, _place(source)) is not None
                return catalog.delete(source) is not None
            case Relabel(source=source, access=access):
                if step.over_http:
                    target = f"{_place(source)}/access"
                    return self._asked("PUT", source.namespace, target, _json(access)) is not None
                return catalog.relabel(source, parse_label(dict(access), path="$")) is not None
            case Revoke(what=what):
                namespace = what.namespace
                if step.over_http and namespace is not None:
                    return self._asked("POST", namespace, "/v1/revocations", _json(_body_of(what))) is not None
                return catalog.revoke(what).value != "absent"
            case RollBack():
                name = self._ingests.get(_offered(step.records))
                return name is not None and catalog.roll_back(name) is not None
            case Pass(now=now):
                self.now = now
                self.application.pipeline._authority.now = lambda: now  # its clock, which stands still otherwise
                return True
            case _:
                assert_never(step)

    def _taken_in(self, step: TakeIn) -> bool:
        ingest_id = self._posted(step) if step.over_http else self._offered(step)
        if ingest_id is not None:
            self._ingests[_offered(step.records)] = ingest_id
        return ingest_id is not None

    def _posted(self, step: TakeIn) -> str | None:
        lines = b"".join(_json(record) + b"\n" for record in step.records)
        answer = self._asked("POST", key_of(step.records[0]).namespace, SOURCES, lines)
        return None if answer is None else json.loads(answer.body)["ingest_id"]

    def _offered(self, step: TakeIn) -> str | None:
        catalog, revisions = self._catalog, cut([dict(record) for record in step.records])
        try:
            if not step.coded:
                return catalog.add(revisions, relabel=step.relabel).ingest_id
            encode = FastEncoder().encode_documents
            return take_in(catalog, revisions, relabel=step.relabel, encode=encode, progress=lambda *_: None).ingest_id
        except IngestRefused:
            return None

    def _asked(self, method: str, namespace: Namespace, target: str, body: bytes | None = None) -> HttpResponse | None:
        """The answer to a curator of `namespace`; None where the call is refused or finds nothing."""
        public = namespace == PUBLIC
        who = principal(None if public else namespace, sub="curator", scope=CURATORS_SCOPE)
        target += "?public=true" if public else ""
        response = self.application.ask(Asked(who=who, method=method, target=target, body=body))
        if response.status in (REFUSED, NOT_FOUND):
            return None
        if response.status != 200:
            raise Difference(f"{method} {target}: {response}")
        return response


def _body_of(what: Revocation) -> Mapping[str, Any]:
    """A revocation as `POST /v1/revocations` takes it."""
    match what:
        case RevisionKey():
            return {"source_id": what.source_id, "revision": what.revision}
        case Subject():
            return {"subject": what.sub}
        case Token():
            return {"token_id": what.token_id}
        case Grant():
            return {"grant": {"subject": what.subject, what.dimension.value: what.value}}


def _place(source: SourceKey) -> str:
    return f"{SOURCES}/{quote(source.source_id, safe='')}"


def _offered(records: Sequence[Record]) -> str:
    return json.dumps([dict(record) for record in records])


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode("utf-8")
