"""What can go wrong in a request or a start, and which HTTP status does each carry?

ServerError
├── StartError        the server or a command cannot begin: bad settings, key, catalog
├── InvalidPrincipal  claims or a file that name no principal (scope)
├── SourceFileError   a source file that cannot be read as it must be (source_place)
├── UnknownUnit       an operator asked about a unit that the catalog does not hold
└── RequestError      one request cannot be read, authenticated or admitted
    ├── Malformed         400  the body is no strict JSON
    ├── Unauthenticated   401
    ├── Forbidden         403
    ├── NotFound          404  absent and unauthorized look alike (R7)
    ├── TooLarge          413
    ├── UnsupportedMedia  415
    ├── Invalid           422  readable, but outside what is allowed; names the place
    ├── TooMany           429  your own share is used up
    └── Unavailable       503  the server is full, or its authority cannot be read

Three stand apart, since nobody is ever told of them and nothing that handles a ServerError may take them for one:
`gate.AuthorityMoved` ends one attempt at an answer, so that `attempts` begins the next; `containment.NotContained` ends
an answer for good; `profiles._Wrong` names a place in a profile, until the same module puts the file's name in front
and raises StartError.
"""

from typing import ClassVar


class ServerError(Exception):
    """Something the caller or the operator can act on. The text is one line and holds no content."""


class StartError(ServerError):
    """The server or a command cannot begin."""


class UnknownUnit(ServerError):
    """No unit of the catalog has that handle or id."""


class RequestError(ServerError):
    """One request cannot be answered."""

    kind: ClassVar[str] = "request"

    def __init__(self, detail: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(detail if path is None else f"{path}: {detail}")
        self.detail = detail
        self.path = path
        self.line = line  # of a body of lines, counted from 1

    def within(self, place: str) -> "RequestError":
        """The same error of a request that stands at `place` of a larger body, as `$.requests[3]`."""
        path = None if self.path is None else place + self.path.removeprefix("$")
        return type(self)(self.detail, path=path, line=self.line)


class Malformed(RequestError):
    kind = "malformed"


class Unauthenticated(RequestError):
    kind = "unauthenticated"


class Forbidden(RequestError):
    kind = "forbidden"


class NotFound(RequestError):
    kind = "not-found"


class TooLarge(RequestError):
    kind = "too-large"


class UnsupportedMedia(RequestError):
    kind = "unsupported-media"


class Invalid(RequestError):
    kind = "invalid"


class TooMany(RequestError):
    kind = "too-many"


class Unavailable(RequestError):
    kind = "unavailable"


STATUS: dict[type[RequestError], tuple[int, str]] = {
    Malformed: (400, "The body could not be read"),
    Unauthenticated: (401, "No valid credentials"),
    Forbidden: (403, "Not granted"),
    NotFound: (404, "Not found"),
    TooLarge: (413, "Too large"),
    UnsupportedMedia: (415, "Unsupported media"),
    Invalid: (422, "Not allowed as asked"),
    TooMany: (429, "Too many requests"),
    Unavailable: (503, "Not available now"),
}


def problem(error: RequestError) -> tuple[int, dict[str, str | int]]:
    """The status and the RFC 9457 problem document of `error`."""
    status, title = STATUS[type(error)]
    document: dict[str, str | int] = {
        "type": f"urn:muniment:problem:{error.kind}",
        "title": title,
        "status": status,
        "detail": error.detail,
    }
    if error.path is not None:
        document["path"] = error.path
    if error.line is not None:
        document["line"] = error.line
    return status, document
