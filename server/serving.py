"""How does the application run as a process, and when does it say that it is ready?"""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog
import uvicorn

from server.admin import admin_listener
from server.app import create_app
from server.errors import StartError
from server.keys import load_key
from server.logs import set_up_logs
from server.opening import open_pipeline, open_recorder
from server.settings import Settings

DRAIN_S = 20


def serve(directory: Path, *, settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve the catalog in `directory` until a signal. `on_ready` gets the URL once queries are answered.

    Raises StartError when a port is taken or the catalog cannot be opened; then nothing was served.
    """
    set_up_logs(settings.log_level)
    listener = _listen(settings.host, settings.port)
    try:
        key = load_key(directory)
        with (
            open_pipeline(directory, settings=settings) as pipeline,
            open_recorder(pipeline.catalog, settings=settings) as recorder,
        ):
            pipeline.warm_up()  # what keeps it from answering is told before anything is served
            app = create_app(settings, pipeline=pipeline, recorder=recorder, key=key)
            config = uvicorn.Config(
                app,
                log_config=None,
                log_level="warning",  # its own notes on starting and stopping say nothing that ours do not
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=DRAIN_S,
                timeout_keep_alive=10,
                h11_max_incomplete_event_size=65536,
            )
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            server = _Announcing(config, url=f"http://{host}:{listener.getsockname()[1]}", on_ready=on_ready)
            with admin_listener(app.state.metrics, port=settings.admin_port) as metrics_url:
                structlog.get_logger("muniment.serving").info(
                    "starting", device=str(pipeline.device), metrics=metrics_url
                )
                with suppress(KeyboardInterrupt):  # Ctrl-C is how one stops it, and no failure
                    server.run(sockets=[listener])
    finally:
        listener.close()


class _Announcing(uvicorn.Server):
    """Tells when start-up is over: uvicorn itself only logs it."""

    def __init__(self, config: uvicorn.Config, *, url: str, on_ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._url = url
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready(self._url)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: only then asyncio sends what is written at once, where the kernel else waits for up to 40 ms
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StartError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from None
    return listener
