"""The last point: a conversation in the reference host itself, with tools and compaction."""

import logging
from typing import Any

from .bench import WINDOW_TOKENS, Bench, expect
from .host import Agent, HostConfig, Message, Reply, ScriptedModel, Tool, call
from .point import required
from .rules import list_problems

_TURNS = 40
_LOGGER = logging.getLogger(__name__.rpartition(".conformance")[0])


@required("chat")
def chat(bench: Bench) -> None:
    """In a chat with tools, twice the window long, each request is valid, no turn fails, and no hook does."""
    engine, model, heard = bench.make(), ScriptedModel(_answer), _Listener()
    _LOGGER.addHandler(heard)
    try:
        agent = _agent(bench, engine, model)
        replies = [agent.run_turn(f"question {n}: " + "what about it? " * 40) for n in range(_TURNS)]
        agent.close()
    finally:
        _LOGGER.removeHandler(heard)
    wrong = [problem for request in model.requests for problem in list_problems(request)]
    expect(not wrong, f"a request is not valid: {'; '.join(wrong[:2])}")
    expect(all(reply == "done" for reply in replies), f"a turn failed: {next(iter(set(replies) - {'done'}), '')}")
    expect(not heard.said, f"the host says: {heard.said[0] if heard.said else ''}")


class _Listener(logging.Handler):
    """Keeps what the host warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _agent(bench: Bench, engine: Any, model: ScriptedModel) -> Agent:  # noqa: ANN401 - engines of any kind
    return Agent(
        model,
        engine=engine,
        config=HostConfig(),
        home=bench.home,
        context_length=WINDOW_TOKENS,
        tools=[Tool("read", "reads", lambda path="": f"content of {path}: " + "a line of it\n" * 60)],
        wait=lambda _seconds: None,
    )


def _answer(body: dict[str, Any]) -> Reply:
    """Two calls in the first round of each turn, then an answer."""
    last: Message = body["messages"][-1]
    number = len(body["messages"])
    if last.get("role") == "user":
        return Reply(calls=[call(f"call_{n}", "read", path=f"{number}.{n}") for n in range(2)])
    return Reply("done")


POINTS = (chat,)
