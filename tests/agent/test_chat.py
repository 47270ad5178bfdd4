import io
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from agent.chat import home_folder, run_command
from agent.streaming import StreamingClient
from agent.transcripts import Transcripts
from tests.fakes.provider import FakeEndpoint, streamed

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = """\
from tests.agent.support import PlainEngine

class Mine(PlainEngine):
    name = "mine"

def leave(text):
    raise SystemExit(text)

def register(ctx):
    ctx.register_context_engine(Mine())
    ctx.register_command("shout", lambda text: text.upper(), description="says it louder")
    ctx.register_command("leave", leave)
    ctx.register_command("broken", lambda text: 1 / 0)
    ctx.register_command("new", lambda text: "the plugin's")
"""


HANGING = """\
import logging, threading
from tests.agent.support import PlainEngine

class Mine(PlainEngine):
    name = "mine"

    def select_context(self, request_messages, **details):
        logging.getLogger("mine").warning("hanging")
        threading.Event().wait(60)
"""


def talk(home: Path, text: str, *arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    """The exit status, the answers and the remarks of a chat in this process."""
    out, err = io.StringIO(), io.StringIO()
    options = ["--home", str(home), *arguments]
    status = run_command(options, environment=environment or {}, lines=io.StringIO(text), out=out, err=err)
    return status, out.getvalue(), err.getvalue()


def run(home: Path, text: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "agent", "chat", "--home", str(home), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


def configured(home: Path, config: str, plugin: str = PLUGIN) -> Path:
    directory = home / "plugins" / "mine"
    directory.mkdir(parents=True)
    (directory / "__init__.py").write_text(plugin)
    (home / "config.yaml").write_text(config)
    return home


def test_a_chat_through_a_pipe_answers_line_by_line_and_ends_with_its_input(tmp_path: Path) -> None:
    done = run(tmp_path, "The key lies in vault 7.\n\nWhere is the key?\nwhat is 6*7?", "--offline")

    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "[offline] Nothing in the 2 messages that I was sent is about that.",
        '[offline] Message 2 of 4 (user) says: "The key lies in vault 7."',
        "[offline] The tool says: 42",
    ]
    opening, tool = done.stderr.splitlines()
    assert opening.startswith("Model offline, engine compressor, session ")
    assert tool == '-> calculator {"expression": "6*7"}'


def test_a_chat_is_taken_up_again(tmp_path: Path) -> None:
    run(tmp_path, "The key lies in vault 7.\n", "--offline")

    done = run(tmp_path, "Where is the key?\n/quit\nnever read\n", "--offline", "--resume")

    assert "vault 7" in done.stdout
    assert "2 messages so far" in done.stderr
    (path,) = (tmp_path / "chat-sessions").iterdir()
    assert [json.loads(line)["turns"] for line in path.read_text().splitlines()] == [1, 2]


def test_a_session_is_taken_up_by_its_id(tmp_path: Path) -> None:
    talk(tmp_path, "The key lies in vault 7.\n/new\nThe cat sleeps.\n", "--offline")
    oldest = min(path.stem for path in (tmp_path / "chat-sessions").iterdir() if "vault" in path.read_text())

    _, out, _ = talk(tmp_path, "Where is the key?\n", "--offline", "--resume", oldest)

    assert "vault 7" in out


def test_a_session_that_another_chat_holds_is_refused_in_a_line_and_stays_as_it_is(tmp_path: Path) -> None:
    other = Transcripts(tmp_path)
    talk(tmp_path, "The key lies in vault 7.\n", "--offline")
    session_id = other.load().session_id
    other.hold(session_id)

    status, out, err = talk(tmp_path, "hi\n", "--offline", "--resume")

    assert (status, out) == (1, "")
    assert err == (
        f"chat: session {session_id} is held by process {os.getpid()}; "
        "end the chat there, or start one without --resume\n"
    )
    other.release()
    assert talk(tmp_path, "Where is the key?\n", "--offline", "--resume")[0] == 0
    assert len(other.load().rows) == 4


@pytest.mark.parametrize("leave", ["/new", "/reset"])
def test_a_chat_holds_its_session_from_the_first_turn_until_it_leaves_it(tmp_path: Path, leave: str) -> None:
    told: list[str] = []

    class Lines(io.StringIO):
        def readline(self, *_size: Any) -> Any:
            told.append(" ".join(sorted(path.suffix for path in (tmp_path / "chat-sessions").glob("*"))))
            return super().readline()

    run_command(
        ["--home", str(tmp_path), "--offline"],
        environment={},
        lines=Lines(f"one\ntwo\n{leave}\n"),
        out=io.StringIO(),
        err=io.StringIO(),
    )

    assert told == ["", ".jsonl .lock", ".jsonl .lock", ".jsonl"]


def test_a_session_that_is_not_there_is_told(tmp_path: Path) -> None:
    status, out, err = talk(tmp_path, "hi\n", "--offline", "--resume", "nothing")

    assert (status, out) == (1, "")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--offline"),
        (["--base-url", "http://127.0.0.1:9"], "--model"),
        (["--base-url", "ftp://x", "--model", "m"], "http://"),
        (["--base-url", "http://127.0.0.1:9", "--model", "m", "--key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY"),
    ],
)
def test_what_is_missing_is_told_in_a_line(tmp_path: Path, arguments: list[str], told: str) -> None:
    status, _, err = talk(tmp_path, "hi\n", *arguments)

    assert status == 1
    assert told in err
    assert len(err.splitlines()) == 1


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(tmp_path: Path) -> None:
    pieces = streamed({"content": "hel"}, {"content": "lo"}, usage={"prompt_tokens": 8})
    environment = {"MY_KEY": "s3cret"}
    with FakeEndpoint(lambda _body: (200, pieces)).serving() as endpoint:
        arguments = ["--base-url", endpoint.base_url, "--model", "m", "--key-env", "MY_KEY"]
        status, out, err = talk(tmp_path, "hi\n", *arguments, environment=environment)

    assert (status, out) == (0, "hello\n")
    assert endpoint.headers[0]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in err + "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))


FAULTS: list[tuple[int, Any, str]] = [
    (429, b'{"error": {"message": "too\\nfast"}}', "HTTP 429 Too Many Requests: too fast"),
    (500, b"<html>\n<b>oops</b>", "HTTP 500 Internal Server Error: <html> <b>oops</b>"),
    (200, b'{"choices": [', "malformed JSON"),
    (200, b'{"choices": []}', "closed the stream half way"),
    (200, streamed({"content": "half"}, is_cut=True), "closed the stream half way"),
    (200, [], "closed the stream half way"),
    (401, b"no", "HTTP 401 Unauthorized: no"),
]


@pytest.mark.parametrize(("status", "content", "told"), FAULTS)
def test_a_fault_is_one_clear_line_and_the_next_turn_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, content: Any, told: str
) -> None:
    monkeypatch.setattr(StreamingClient, "wait", lambda _client, _seconds: None)

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return (200, streamed({"content": "fine"})) if "again" in str(body["messages"][-1]) else (status, content)

    with FakeEndpoint(answer).serving() as endpoint:
        ended, out, err = talk(tmp_path, "hi\nagain\n", "--base-url", endpoint.base_url, "--model", "m")

    assert (ended, out.splitlines()[-1]) == (0, "fine")
    _, *tries, last = err.splitlines()
    assert told in last
    assert last.startswith("No reply: ")
    assert all(told in line and line.startswith("Asking again in ") for line in tries)
    assert len(tries) == (0 if status == 401 else 2)


def test_an_endpoint_that_does_not_answer_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamingClient, "wait", lambda _client, _seconds: None)
    with silent_endpoint() as endpoint:
        arguments = ["--base-url", endpoint.base_url, "--model", "m", "--timeout", "0.1"]
        status, _, err = talk(tmp_path, "hi\n", *arguments)

    assert status == 0
    assert err.splitlines()[-1:] == [f"No reply: no answer within 0.1 s ({endpoint.base_url}/chat/completions)"]


@pytest.mark.parametrize(
    ("config", "plugin", "told"),
    [
        ("context: [", PLUGIN, "cannot be read"),
        ("context: {engine: [1]}", PLUGIN, "expected a name"),
        ("context: {engine: ../mine}", PLUGIN, "only letters"),
        ("context: {engine: mine}", "raise SystemExit(3)  # ContextEngine", "SystemExit(3)"),
        ("context: {engine: mine}", "raise KeyboardInterrupt  # ContextEngine", "KeyboardInterrupt"),
        ("context: {engine: mine}", "class Odd(BaseException): pass\nraise Odd  # ContextEngine", "Odd()"),
        ("context: {engine: mine}", "import no_such_module", "no_such_module"),
    ],
)
def test_a_bad_config_or_plugin_is_one_line_and_the_built_in_engine_serves(
    tmp_path: Path, config: str, plugin: str, told: str
) -> None:
    status, out, err = talk(configured(tmp_path, config, plugin), "2+3\n", "--offline")

    assert (status, out) == (0, "[offline] The tool says: 5\n")
    warning, opening, _tool = err.splitlines()
    assert warning.startswith("warning: ")
    assert told in warning
    assert "engine compressor" in opening


def test_the_commands_of_a_plugin_are_there_and_cannot_break_the_chat(tmp_path: Path) -> None:
    text = "/shout hello\n/leave now\n/broken\n/new\n/help\n"
    status, out, err = talk(configured(tmp_path, "context: {engine: mine}"), text, "--offline")

    assert status == 0
    assert out.splitlines()[0] == "HELLO"
    assert out.splitlines()[1].startswith("Session ")
    assert "says it louder" in out
    assert err.splitlines()[1:] == [
        "warning: command /new of the engine's plugin is left out: the chat has one",
        "/leave failed: SystemExit('now')",
        "/broken failed: ZeroDivisionError('division by zero')",
    ]


def test_home_is_what_is_said_then_the_environment_then_the_default() -> None:
    assert home_folder({"HERMES_HOME": "/a"}, "/b") == Path("/b")
    assert home_folder({"HERMES_HOME": "/a"}) == Path("/a")
    assert home_folder({}) == Path.home() / ".hermes"


@contextmanager
def silent_endpoint() -> Iterator[FakeEndpoint]:
    """An endpoint that says a word and then nothing, but answers a message with "again" at once."""
    ended = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield streamed({"content": "half"})[0]
        ended.wait(60)

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        is_quick = "again" in str(body["messages"][-1])
        return 200, streamed({"content": "fine\n"}) if is_quick else pieces()

    with FakeEndpoint(answer).serving() as endpoint:
        yield endpoint
        ended.set()


@contextmanager
def child(arguments: Sequence[str], *, terminal: int = subprocess.PIPE) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "agent", "chat", *arguments],
        stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, cwd=ROOT, bufsize=0,
    ) as process:  # fmt: skip
        if terminal != subprocess.PIPE:
            os.close(terminal)
        try:
            yield process
        finally:
            process.kill()


def until(stream: Any, words: bytes) -> bytes:
    """What a stream brings, up to some words."""
    seen = b""
    while words not in seen:
        assert select.select([stream], [], [], 60)[0], f"nothing follows {seen!r}"
        piece = os.read(stream.fileno(), 4096)
        assert piece, f"the stream ended with {seen!r}"
        seen += piece
    return seen


def interrupt(process: "subprocess.Popen[bytes]", words: bytes) -> None:
    """Press Ctrl-C until it is answered: one that comes right before a wait begins is noticed with the next."""
    seen, remarks = b"", cast("BinaryIO", process.stderr)
    while words not in seen:
        process.send_signal(signal.SIGINT)
        while words not in seen and select.select([remarks], [], [], 5)[0]:
            seen += until(remarks, b"\n")  # earlier remarks are no answer


def interrupted_until_it_ends(process: "subprocess.Popen[bytes]", seconds: float) -> int:
    """The exit status after as many Ctrl-C as it takes, so long apart."""
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    return process.returncode


def write(stream: Any, text: bytes) -> None:
    stream.write(text)
    stream.flush()


def test_ctrl_c_ends_the_turn_and_not_the_program(tmp_path: Path) -> None:
    with (
        silent_endpoint() as endpoint,
        child(["--home", str(tmp_path), "--base-url", endpoint.base_url, "--model", "m"]) as process,
    ):
        write(process.stdin, b"hi\n")
        until(process.stdout, b"half")
        interrupt(process, b"(interrupted)\n")
        write(process.stdin, b"again\n")
        until(process.stdout, b"fine\n")
        write(process.stdin, b"/quit\n")

        assert process.wait(60) == 0

    said = [(row["role"], row["content"]) for row in endpoint.bodies[1]["messages"][1:]]
    assert said == [("user", "hi"), ("assistant", "half"), ("user", "again")]


def test_ctrl_c_twice_at_the_prompt_ends_the_program(tmp_path: Path) -> None:
    host, guest = os.openpty()
    arguments = ["--home", str(tmp_path), "--offline"]
    with os.fdopen(host, "r+b", buffering=0) as terminal, child(arguments, terminal=guest) as process:
        until(terminal, b"> ")
        until(process.stderr, b"\n")
        interrupt(process, b"Ctrl-C again ends the chat")
        terminal.write(b"1+2\n")  # a message in between: the count starts anew
        until(terminal, b"says: 3")
        interrupt(process, b"Ctrl-C again ends the chat")

        assert interrupted_until_it_ends(process, 2) == 0


def test_a_third_ctrl_c_leaves_a_turn_that_does_not_end(tmp_path: Path) -> None:
    with child(["--home", str(configured(tmp_path, "context: {engine: mine}", HANGING)), "--offline"]) as process:
        write(process.stdin, b"hi\n")
        until(process.stderr, b"hanging")

        assert interrupted_until_it_ends(process, 0.1) == 130
        until(process.stderr, b"Ctrl-C once more ends the program")
