"""A provider that follows a script: as a client, and as an OpenAI-compatible endpoint on the loopback."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agent.testing import Line, Reply, ScriptedModel, call, run_conversation

__all__ = ["FakeEndpoint", "Line", "Reply", "ScriptedModel", "call", "run_conversation"]


class FakeEndpoint:
    """An endpoint at `base_url`: `answer` gets a body and gives an HTTP status and the bytes to send."""

    def __init__(self, answer: Callable[[dict[str, Any]], tuple[int, bytes]]) -> None:
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
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

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
