"""A provider that follows a script: as a client, and as an OpenAI-compatible endpoint on the loopback."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agent.testing import Line, Reply, ScriptedModel, call, run_conversation

__all__ = ["FakeEndpoint", "Line", "Reply", "ScriptedModel", "call", "run_conversation", "streamed"]


def streamed(*deltas: dict[str, Any], usage: dict[str, int] | None = None, is_cut: bool = False) -> list[bytes]:
    """The pieces of a streamed answer; with `is_cut` the end is missing."""
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if not is_cut:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks += [{"choices": [], "usage": usage}] if usage else []
    lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return lines if is_cut else [*lines, b"data: [DONE]\n\n"]


class FakeEndpoint:
    """An endpoint at `base_url`: `answer` gets a body and gives an HTTP status and the bytes to send.

    Bytes go out with their length; an iterable goes out piece by piece, and the connection closes at its end.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], tuple[int, bytes | Iterable[bytes]]]) -> None:
        self._answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.base_url = ""

    @classmethod
    def scripted(cls, model: ScriptedModel) -> "FakeEndpoint":
        return cls(lambda body: (200, json.dumps(model.complete(body)).encode()))

    @contextmanager
    def serving(self) -> Iterator["FakeEndpoint"]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.bodies.append(body)
                endpoint.headers.append(dict(self.headers))
                status, content = endpoint._answer(body)
                self.send_response(status)
                if isinstance(content, bytes):
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with suppress(ConnectionError):  # who asked has left
                    for piece in (content,) if isinstance(content, bytes) else content:
                        self.wfile.write(piece)
                        self.wfile.flush()

            def log_message(self, *_args: Any) -> None:
                """A test's output is for what failed."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        self.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
