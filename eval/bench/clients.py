"""What do many clients at once get from one server?

A real server, in a process of its own on a loopback address; each client sends its next request when the last one is
answered, until the time is up. Useful for throughput, waiting and memory. The clients cost little: they read no more of
an answer than its length and its `run` block.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from eval.bench.errors import BenchError
from eval.bench.machine import resident_bytes
from eval.bench.measured import OUTSIDE, Load

STOP_S = 30
QUARTERS = 4
REST = "the rest"  # of the pipeline, between its stages
_RUN = b'"run":'


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that answers. port: on 127.0.0.1."""

    port: int
    process_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Who asks: a bearer token, and the bodies to send, as many as are wanted."""

    token: str
    bodies: Iterator[bytes]


@contextmanager
def serving(directory: Path, *, settings: Mapping[str, str]) -> Iterator[Server]:
    """A server over the catalog in `directory`, warm; it ends with the context. settings: of the environment.

    Raises BenchError when it does not start.
    """
    command = [sys.executable, "-m", "muniment", "serve", str(directory), "--port", "0"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **settings}, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                assert process.stderr is not None
                raise BenchError(f"the server does not start: {process.stderr.read().strip()}")
            yield Server(port=int(line.split("127.0.0.1:")[1].split()[0]), process_id=process.pid)
        finally:
            process.terminate()
            try:
                process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def load(server: Server, clients: Sequence[Client], *, path: str, seconds: float, work: str) -> Load:
    """Let all clients ask for so long. Requests under way at the end are waited for, and count."""
    heard = _Heard(resident=[resident_bytes(server.process_id)])
    begun = time.perf_counter()
    asyncio.run(_all(server, clients, path, begun + seconds, heard))
    took = time.perf_counter() - begun
    answered = max(len(heard.latencies_s), 1)
    return Load(
        work=work,
        clients=len(clients),
        seconds=took,
        latencies_s=tuple(sorted(heard.latencies_s)),
        failed=heard.failed,
        stages={name: total / answered for name, total in heard.stages.items()},
        resident_bytes=tuple(heard.resident),
    )


@dataclass(slots=True, kw_only=True)
class _Heard:
    """What all clients heard so far."""

    latencies_s: list[float] = field(default_factory=list)
    resident: list[int]
    failed: int = 0
    stages: Counter[str] = field(default_factory=Counter)  # seconds, over all answers


async def _all(server: Server, clients: Sequence[Client], path: str, deadline: float, heard: _Heard) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_weigh_until(server, deadline, heard))
        for client in clients:
            group.create_task(_ask_until(server, client, path, deadline, heard))


async def _weigh_until(server: Server, deadline: float, heard: _Heard) -> None:
    """So that memory that goes on growing can be told from caches that fill."""
    quarter = (deadline - time.perf_counter()) / QUARTERS
    for _ in range(QUARTERS):
        await asyncio.sleep(quarter)
        heard.resident.append(resident_bytes(server.process_id))


async def _ask_until(server: Server, client: Client, path: str, deadline: float, heard: _Heard) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    while time.perf_counter() < deadline:
        body = next(client.bodies)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {client.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        begun = time.perf_counter()
        writer.write(head.encode() + body)
        status, answer = await _response(reader)
        latency = time.perf_counter() - begun
        if status != 200:
            heard.failed += 1
            continue
        heard.latencies_s.append(latency)
        _count(heard.stages, answer, latency)
    writer.close()
    await writer.wait_closed()


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    named = (line.partition(":") for line in lines[1:])
    length = next(int(value) for name, _, value in named if name.lower() == "content-length")
    return int(lines[0].split()[1]), await reader.readexactly(length)


def _count(stages: Counter[str], answer: bytes, latency: float) -> None:
    """Add an answer's seconds by stage. Its `run` block is the last of its fields."""
    run = json.loads(answer[answer.rindex(_RUN) + len(_RUN) : -1])
    took = {name: value / 1000 for name, value in run["milliseconds"].items()}
    total = took.pop("total")
    for name, seconds in took.items():
        stages[name] += seconds
    stages[REST] += max(total - sum(took.values()), 0.0)
    stages[OUTSIDE] += max(latency - total, 0.0)
