"""A host in miniature: one session that drives an engine the way hosts do, and what strict providers refuse."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.weird import Row, call, calls, result
from vecctx.engine import VecctxEngine

SYSTEM: Row = {"role": "system", "content": "You are a careful assistant. Answer shortly."}
WINDOW_TOKENS = 100_000


class Session:
    """A conversation, its durable rows, and the engine that it asks."""

    def __init__(
        self,
        engine: VecctxEngine,
        home: Path,
        session_id: str = "s1",
        *,
        rows: Sequence[Row] = (),
        prefill: Sequence[Row] = (),
        has_uids: bool = True,
    ) -> None:
        self.engine = engine
        self.home = home
        self.session_id = session_id
        self.prefill = list(prefill)
        self.rows: list[Row] = []
        self._has_uids = has_uids
        self._incoming: Row | None = None
        self._count = 0
        for row in rows:
            self.add(row)

    def start(self, **details: Any) -> "Session":
        """Tell the engine that this session starts, as a host does when it builds an agent."""
        self.engine.on_session_start(self.session_id, hermes_home=str(self.home), platform="cli", **details)
        return self

    def add(self, row: Row) -> Row:
        """Write a durable row."""
        self._count += 1
        uid = {"message_uid": f"{self.session_id}-{self._count}", "_row_id": self._count} if self._has_uids else {}
        self.rows.append(copy.deepcopy(row) | uid)
        return self.rows[-1]

    def request(self) -> list[Row]:
        """The request as it is handed over: no uids, system and prefill in front."""
        durable_only = {"message_uid", "_row_id", "timestamp"}
        sent = [{key: value for key, value in row.items() if key not in durable_only} for row in self.rows]
        return copy.deepcopy([SYSTEM, *self.prefill, *sent])

    def select(self, budget_tokens: int = WINDOW_TOKENS) -> list[Row] | None:
        """Ask for the next request of the turn."""
        return self.engine.select_context(
            self.request(),
            conversation_messages=copy.deepcopy(self.rows),
            incoming_message=copy.deepcopy(self._incoming),
            budget_tokens=budget_tokens,
        )

    def ask(self, text: object, **more: Any) -> list[Row] | None:
        """Begin a turn, and ask for its first request."""
        self._incoming = self.add({"role": "user", "content": text, **more})
        return self.select()

    def asked(self, text: object) -> list[Row]:
        """The same, where the engine must choose."""
        sent = self.ask(text)
        assert sent is not None, "the request was left as it was"
        return sent

    def use_tools(self, *outputs: str, prefix: str = "call") -> None:
        """One batch of calls, with a result each."""
        names = [f"{prefix}_{self._count}_{number}" for number in range(len(outputs))]
        self.add(calls(*map(call, names)))
        for name, output in zip(names, outputs, strict=True):
            self.add(result(name, output))

    def complete(self, answer: str | None = "Noted.") -> None:
        """End the turn and tell the engine."""
        if answer is not None:
            self.add({"role": "assistant", "content": answer})
        self.engine.on_turn_complete(copy.deepcopy(self.rows), usage=None, turn_id=f"{self.session_id}:1:a")

    def turn(self, text: str, answer: str = "Noted.") -> list[Row] | None:
        """A whole turn without tools."""
        sent = self.ask(text)
        self.complete(answer)
        return sent

    def tool(self, name: str, **arguments: Any) -> Any:
        """What an engine's tool answers."""
        return json.loads(self.engine.handle_tool_call(name, arguments, messages=self.rows))

    def found(self, query: str) -> list[str]:
        """The texts that the search tool finds."""
        return [message["text"] for message in self.tool("vecctx_search", query=query, limit=20)["results"]]


def block_of(sent: Sequence[Row]) -> str:
    """The recalled block of a request; empty if it has none."""
    found = [str(row["content"]) for row in sent if str(row["content"]).startswith("<recalled>\nEarlier messages")]
    assert len(found) <= 1
    return found[0] if found else ""


def said(sent: Sequence[Row] | None) -> str:
    """All that a request says."""
    return json.dumps(sent, ensure_ascii=False, default=str)


def extends(longer: Sequence[Row], shorter: Sequence[Row]) -> bool:
    """Whether a request begins with all of an earlier one, byte for byte."""
    return as_bytes(longer[: len(shorter)]) == as_bytes(shorter)


def as_bytes(rows: Sequence[Row]) -> bytes:
    """A request as it goes out, in the order of its keys."""
    return json.dumps(rows, ensure_ascii=True, default=repr).encode()


def refusals(rows: Sequence[Row], head_length: int = 1) -> list[str]:
    """Why strict providers would refuse a message list; empty for a valid one."""
    found = [f"row {n} is a late {row['role']}" for n, row in enumerate(rows) if n and row.get("role") in _SYSTEM]
    body = rows[head_length:]
    if not body or body[0].get("role") != "user":
        found.append("the first row behind the head is not from the user")
    if rows[-1].get("role") not in ("user", "tool"):
        found.append("the last row is neither from the user nor from a tool")
    found += [f"row {n} is empty" for n, row in enumerate(rows) if _is_empty(row)]
    return found + _broken_batches(rows)


_SYSTEM = ("system", "developer")


def _is_empty(row: Row) -> bool:
    content = row.get("content")
    if isinstance(content, list):
        texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        is_blank = any(not str(part.get("text") or "").strip() for part in texts)
        return not content or is_blank or not all(isinstance(part, dict) for part in content)
    if row.get("role") == "tool":
        return not isinstance(content, str)
    is_text = isinstance(content, str) and bool(content.strip())
    return not is_text and not (content in (None, "") and row.get("tool_calls"))


def _broken_batches(rows: Sequence[Row]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for number, row in enumerate(rows):
        if row.get("role") == "tool":
            name = row.get("tool_call_id")
            found += [] if name in waiting else [f"row {number} answers no call"]
            waiting = [other for other in waiting if other != name]
            continue
        found += [f"row {number} stands between calls and results"] if waiting else []
        waiting = [str(one.get("id")) for one in _calls(row)]
        found += [f"row {number} uses an id again"] if seen & set(waiting) or len(set(waiting)) < len(waiting) else []
        seen |= set(waiting)
    return found + (["calls are not answered"] if waiting else [])


def _calls(row: Row) -> list[Mapping[str, Any]]:
    return list(row.get("tool_calls") or ())
