"""Tests of eval/bench/clients.py: answers, failures and stages are counted as they came."""

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from eval.bench.clients import REST, Client, Server, load
from eval.bench.measured import OUTSIDE

ANSWER = b'{"packet":{"run":"no block"},"run":{"device":"cpu","milliseconds":{"encode":2.0,"search":1.0,"total":4.0}}}'


class Handler(BaseHTTPRequestHandler):
    """Answers every third request with 503."""

    protocol_version = "HTTP/1.1"
    numbers = itertools.count(1)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        assert self.headers["authorization"] == "Bearer secret"
        self.send_response(503 if next(self.numbers) % 3 == 0 else 200)
        self.send_header("content-length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_every_answer_counts_with_its_stages_and_every_failure_as_one() -> None:
    clients = [Client(token="secret", bodies=itertools.repeat(b"{}")) for _ in range(3)]

    with answering() as port:
        told = load(Server(port=port, process_id=os.getpid()), clients, path="/", seconds=0.2, work="clients ask")
    answers = len(told.latencies_s)
    assert answers >= 3
    assert abs(2 * told.failed - answers) <= 2  # one in three
    assert (told.clients, told.latencies_s) == (3, tuple(sorted(told.latencies_s)))
    assert told.stages["encode"] == pytest.approx(0.002)
    assert told.stages["search"] == pytest.approx(0.001)
    assert told.stages[REST] == pytest.approx(0.001)  # of the 4 ms in all
    mean = sum(told.latencies_s) / answers
    assert told.stages[OUTSIDE] == pytest.approx(max(mean - 0.004, 0), abs=0.002)
    assert told.resident_bytes[0] > 0
