"""The demo's questions, played through the reference host with a model that has its answers ready."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecctx.cli.host import host_module
from vecctx.cli.sample import Question
from vecctx.cli.window import sliding_window
from vecctx.engine import VecctxEngine
from vecctx.errors import VecctxError
from vecctx.values import Row, Selection
from vecctx.wiring import Opened

_SYSTEM_PROMPT = "You are a helpful assistant."
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Played:
    """One question as it went: what was sent, and what a sliding window would have sent."""

    question: Question
    selection: Selection
    sent: Sequence[Row]
    window: Sequence[Row]


class Player:
    """A host with a long conversation behind it, vecctx in it, and a scripted model at the other end. Close it."""

    def __init__(self, home: Path, session_id: str, history: Sequence[Mapping[str, Any]], opened: Opened) -> None:
        """`home` holds a config that chooses vecctx; `opened` are the parts that the engine will use."""
        self._opened = opened
        self._answer = ""
        self._now = float(history[-1]["timestamp"]) + _SECONDS_PER_DAY
        self._model = host_module("testing").ScriptedModel(self._reply)
        self._agent = self._agent_with_vecctx(home, session_id, history)
        self._engine = self._agent.engine
        if self._engine.problem:
            raise VecctxError(self._engine.problem)

    def hand_over(self) -> None:
        """Tell the engine of the conversation, as a host does after each turn."""
        self._engine.on_turn_complete(self._agent.history)

    def ask(self, question: Question) -> Played:
        """Play one question as a turn of the host.

        Raises:
            VecctxError: vecctx chose nothing; a warning has said why.
        """
        head = [row for row in self._agent.session.request() if row["role"] == "system"]
        history = self._agent.session.request()[len(head) :]
        before = self._engine.get_status()["last_selection_id"]
        self._answer = question.answer
        self._agent.run_turn(question.text)
        self._now += _SECONDS_PER_DAY
        number = self._engine.get_status()["last_selection_id"]
        selection = self._opened.parts.store.selection(number)
        if selection is None or number == before:
            raise VecctxError("vecctx chose nothing for this question; the warning before says why")
        asked = [{"role": "user", "content": question.text}]
        budget, counter = selection.budget.total_tokens, self._opened.parts.counter
        return Played(
            question, selection, self._model.requests[-1], sliding_window(head, history, asked, budget, counter)
        )

    def tokens(self, rows: Sequence[Row]) -> int:
        """The tokens of some messages, as the budget counts them."""
        return sum(map(self._opened.parts.counter.count_message, rows))

    def close(self) -> None:
        """End the session."""
        self._agent.close()
        self._engine.close()

    def _agent_with_vecctx(self, home: Path, session_id: str, history: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 - the host is found when it runs
        details: dict[str, Any] = {
            "home": home,
            "session_id": session_id,
            "system_prompt": _SYSTEM_PROMPT,
            "history": history,
            # The same names and times in every run, so that a second one on the same store finds everything there.
            "uid_seed": 1,
            "clock": lambda: self._now,
        }
        agent = host_module("loop").Agent(self._model, **details)
        if agent.engine.name == "vecctx":
            return agent
        # The host has warned why its config did not lead to the plugin, as in a folder that is no installation.
        return host_module("loop").Agent(self._model, engine=VecctxEngine(), **details)

    def _reply(self, body: dict[str, Any]) -> Any:  # noqa: ANN401 - the host's own type
        answer_tokens = self._opened.parts.counter.count_text(self._answer)
        usage = {"prompt_tokens": self.tokens(body["messages"]), "completion_tokens": answer_tokens}
        return host_module("testing").Reply(self._answer, usage=usage)
