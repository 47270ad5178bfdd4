"""What the host's tests share: a validator for requests, engines, builders and strategies."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from agent.config import HostConfig
from agent.context_engine import ContextEngine, Message
from agent.loop import Agent
from agent.messages import assistant_row, calls_of, tool_call, tool_row, units, user_row
from agent.testing import ScriptedModel


def problems(rows: Sequence[Message], *, has_system: bool = True) -> list[str]:
    """What a strict provider would refuse in a request; empty for a valid one."""
    found = [] if not has_system or (rows and rows[0]["role"] == "system") else ["no system row first"]
    found += [f"system row at {i}" for i, row in enumerate(rows) if i and row["role"] == "system"]
    if has_system and rows and rows[-1]["role"] not in {"user", "tool"}:
        found.append("the last row is neither the user's nor a tool's")
    return found + pair_problems(rows) + [f"private key {key}" for row in rows for key in row if key.startswith("_")]


def pair_problems(rows: Sequence[Message]) -> list[str]:
    """Batches that are not whole, orphans, and ids that come twice."""
    found: list[str] = []
    taken: list[str] = []
    for unit in units(rows):
        called = [call["id"] for call in calls_of(unit[0])]
        answered = [row.get("tool_call_id") for row in unit[1:]]
        if unit[0]["role"] == "tool":
            found.append(f"orphan {unit[0].get('tool_call_id')}")
        if sorted(called) != sorted(map(str, answered)):
            found.append(f"calls {called} are answered by {answered}")
        taken += called
    return found + (["an id comes twice"] if len(taken) != len(set(taken)) else [])


class PlainEngine(ContextEngine):
    """Does nothing, and records what it is told; hooks named in `raising` raise."""

    def __init__(self, *raising: str) -> None:
        self.raising = raising
        self.log: list[tuple[str, Any]] = []

    def tell(self, hook: str, detail: Any = None) -> None:
        self.log.append((hook, detail))
        if hook in self.raising:
            raise RuntimeError(f"{hook} is broken")

    def told(self, hook: str) -> list[Any]:
        return [detail for name, detail in self.log if name == hook]

    @property
    def name(self) -> str:
        return "plain"

    def update_from_response(self, usage: dict[str, Any]) -> None:
        self.awaiting_real_usage_after_compression = False
        self.tell("update_from_response", usage)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        self.tell("should_compress", prompt_tokens)
        return False

    def compress(
        self, messages: list[Message], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[Message]:
        self.tell("compress", (current_tokens, focus_topic))
        return messages


class ListeningEngine(PlainEngine):
    """Records every hook of the contract."""

    def update_model(self, model: str, context_length: int, *args: Any, **details: Any) -> None:
        super().update_model(model, context_length, *args, **details)
        self.tell("update_model", (model, context_length))

    def bind_session_state(self, session_db: object, session_id: str) -> None:
        self._session_id = session_id
        self.tell("bind_session_state", session_id)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        self.tell("get_tool_schemas")
        return []

    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message] | None:
        self.tell("select_context", {"request": request_messages, **details})
        return None

    def on_turn_complete(self, messages: list[Message], usage: dict[str, Any] | None = None, **meta: Any) -> None:
        self.tell("on_turn_complete", {"messages": messages, "usage": usage, **meta})

    def on_session_start(self, session_id: str, **details: Any) -> None:
        self.tell("on_session_start", {"session_id": session_id, **details})

    def on_session_end(self, session_id: str, messages: list[Message]) -> None:
        self.tell("on_session_end", (session_id, messages))

    def on_session_reset(self) -> None:
        super().on_session_reset()
        self.tell("on_session_reset")


def make_agent(engine: ContextEngine, script: Any = lambda _body: "ok", **options: Any) -> tuple[Agent, ScriptedModel]:
    """An agent around a scripted model; nothing waits and nothing is random."""
    model = ScriptedModel(script)
    defaults: dict[str, Any] = {
        "session_id": "s1",
        "uid_seed": 1,
        "config": HostConfig(),
        "clock": lambda: 0.0,
        "wait": lambda _seconds: None,
    }
    return Agent(model, engine=engine, **{**defaults, **options}), model


def chat(turns: int, *, length: int = 20, tools: bool = False) -> list[Message]:
    """A history of so many turns, each with a batch of two calls if `tools` is set."""
    rows: list[Message] = []
    for n in range(turns):
        rows.append(user_row(f"question {n}. " + "detail " * length))
        if tools:
            rows.append(assistant_row(None, [tool_call(f"a{n}", "read"), tool_call(f"b{n}", "read")]))
            rows += [tool_row(f"a{n}", "output " * length * 5), tool_row(f"b{n}", "output " * length * 5)]
        rows.append(assistant_row(f"answer {n}. " + "reason " * length))
    return rows


relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For properties: time on a shared machine is no promise of ours."""

_texts = st.one_of(
    st.text(max_size=40), st.sampled_from(["Deploy the API. It failed!", "日本語のテキスト。", "x" * 3000])
)
_contents = st.one_of(
    st.none(), _texts, st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": _texts}), max_size=2)
)
_ids = st.sampled_from(["c1", "c2", "c3", ""])
_calls = st.lists(_ids.map(lambda call_id: tool_call(call_id, "read", json.dumps({}))), max_size=3)

any_row: st.SearchStrategy[Message] = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "developer"]), "content": _contents},
        optional={"message_uid": st.just("f" * 32), "_row_id": st.just(1), "unknown": st.just({"kept": [1]})},
    ),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": _contents, "tool_calls": _calls}),
    st.fixed_dictionaries({"role": st.just("tool"), "content": _contents}, optional={"tool_call_id": _ids}),
)
any_rows = st.lists(any_row, max_size=14)
"""Any rows a host could be handed: orphans, dangling calls, ids that come twice, empty content, strange roles."""


@st.composite
def valid_histories(draw: st.DrawFn) -> list[Message]:
    """Whole turns, each user row followed by batches and an answer."""
    rows: list[Message] = []
    for n in range(draw(st.integers(1, 12))):
        rows.append(user_row(draw(_texts) + f" question {n}"))
        for m in range(draw(st.integers(0, 3))):
            ids = [f"c{n}_{m}_{i}" for i in range(draw(st.integers(1, 3)))]
            rows.append(assistant_row(None, [tool_call(call_id, "read") for call_id in ids]))
            rows += [tool_row(call_id, draw(_texts) + "output") for call_id in ids]
        rows.append(assistant_row(draw(_texts) + f" answer {n}"))
    return rows
