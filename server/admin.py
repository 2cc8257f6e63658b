"""Where does an operator read the counters?

On a listener of its own, bound to this machine alone: the public one never serves them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog

from server.errors import StartError
from server.metrics import Metrics

HOST = "127.0.0.1"
PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus text exposition format
READ_TIMEOUT_S = 10


@contextmanager
def admin_listener(metrics: Metrics, *, port: int | None) -> Iterator[str | None]:
    """Serve the counters until the end; gives their URL. Port 0 takes a free one; None serves nothing, and gives None.

    Raises StartError where the port is taken.
    """
    if port is None:
        yield None
        return
    try:
        server = _Server(metrics, port)
    except OSError as error:
        raise StartError(f"cannot listen on {HOST}:{port}: {error.strerror}; choose another admin_port") from None
    thread = threading.Thread(target=server.serve_forever, name="admin", daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}{PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self, metrics: Metrics, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.metrics = metrics

    def handle_error(self, *_: object) -> None:
        """A reader that went away is no failure of ours; the standard library would print a traceback."""
        structlog.get_logger("muniment.admin").debug("a reading of the counters broke off")


class _Handler(BaseHTTPRequestHandler):
    """Answers `GET /metrics`, and nothing else. Writes no log."""

    server: _Server
    timeout = READ_TIMEOUT_S
    server_version = "muniment"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path != PATH:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        body = self.server.metrics.text()
        self.send_response(HTTPStatus.OK)
        self.send_header("content-type", CONTENT_TYPE)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: a reading every few seconds is no news."""
