"""The engines that are run in both hosts, and what a plugin calls to get one."""

from contextlib import ExitStack
from typing import Any
from unittest import mock

from agent.context_engine import ContextEngine
from tests.hermes.probe.recording import HOOKS, recorded

Rows = list[dict[str, Any]]
_chosen: list[str] = []
_breakage = ExitStack()


def choose(name: str) -> None:
    """The next agents get this engine, whatever their host's config calls it.

    `vecctx`, `broken-<what of vecctx fails>`, `trivial`, `inheriting`, `raising-<hook>` or `malformed-<answer>`.
    """
    _chosen[:] = [name]
    _breakage.close()
    kind, _, variant = name.partition("-")
    if kind == "broken":
        _breakage.enter_context(mock.patch(f"vecctx.engine.{variant}", _fail))


def make_chosen() -> ContextEngine:
    """A recorded engine of the kind that was chosen."""
    (name,) = _chosen
    kind, _, variant = name.partition("-")
    if kind in {"vecctx", "broken"}:
        from vecctx.engine import VecctxEngine

        return recorded(VecctxEngine, ContextEngine)()
    if kind == "raising":
        return recorded(raising(variant.replace("-", "_")), ContextEngine)(name)
    if kind == "malformed":
        return recorded(malformed(variant), ContextEngine)(name)
    return recorded({"trivial": TrivialEngine, "inheriting": InheritingEngine}[kind], ContextEngine)(name)


class InheritingEngine(ContextEngine):
    """Only what must be written: every optional hook is the contract's own."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def update_from_response(self, usage: dict[str, Any]) -> None:
        self.awaiting_real_usage_after_compression = False
        self.last_prompt_tokens = int(usage.get("prompt_tokens") or 0)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        return bool(self.threshold_tokens) and (prompt_tokens or 0) >= self.threshold_tokens

    def compress(
        self, messages: Rows, current_tokens: int | None = None, focus_topic: str | None = None, **_: Any
    ) -> Rows:
        """The last exchange, with a note in front of it."""
        starts = [index for index, row in enumerate(messages) if row["role"] == "user"]
        if len(starts) < 3:
            return messages
        self.compression_count += 1
        note = [{"role": "user", "content": f"Before: {starts[-2]} rows."}, {"role": "assistant", "content": "I see."}]
        return note + messages[starts[-2] :]


class TrivialEngine(InheritingEngine):
    """Every hook is there and changes nothing; one tool."""

    def select_context(self, request_messages: Rows, **_: Any) -> Rows | None:
        return [dict(row) for row in request_messages]

    def on_turn_complete(self, messages: Rows, usage: dict[str, Any] | None = None, **_: Any) -> None:
        """Hear of it."""

    def prune_tool_results_only(self, messages: Rows, current_tokens: int | None = None) -> tuple[Rows, int]:
        return messages, 0

    def bind_session_state(self, session_db: object = None, session_id: str = "") -> None:
        self._session_id = session_id

    def get_tool_schemas(self) -> Rows:
        schema = {"type": "object", "properties": {"word": {"type": "string"}}}
        return [{"name": "trivial_echo", "description": "Say a word again.", "parameters": schema}]

    def handle_tool_call(self, name: str, args: dict[str, Any], **_: Any) -> str:
        return f'{{"word": "{args.get("word")}"}}'


def raising(hook: str) -> type[TrivialEngine]:
    """An engine that raises in one hook."""
    if hook not in HOOKS:
        raise ValueError(hook)

    def fail(self: object, *args: object, **kwargs: object) -> None:
        raise RuntimeError(f"{hook} fails")

    return type("RaisingEngine", (TrivialEngine,), {hook: fail})


def _fail(*_args: object, **_kwargs: object) -> None:
    raise RuntimeError("broken for a test")


def malformed(answer: str) -> type[TrivialEngine]:
    """An engine whose selection is not what the contract asks for."""
    return type("MalformedEngine", (TrivialEngine,), {"select_context": _MALFORMED[answer]})


def _without_system(self: object, request_messages: Rows, **_: Any) -> Rows:
    return request_messages[1:]


def _with_system_in_between(self: object, request_messages: Rows, **_: Any) -> Rows:
    return [*request_messages[:-1], {"role": "system", "content": "And one more."}, request_messages[-1]]


def _with_nameless_result(self: object, request_messages: Rows, **_: Any) -> Rows:
    return [*request_messages[:-1], {"role": "tool", "content": "42"}, request_messages[-1]]


def _edited_and_none(self: object, request_messages: Rows, **_: Any) -> None:
    request_messages[-1]["content"] = "edited in place"


_MALFORMED = {
    "empty": lambda self, request_messages, **_: [],
    "text": lambda self, request_messages, **_: "a text",
    "tuple": lambda self, request_messages, **_: tuple(request_messages),
    "mixed": lambda self, request_messages, **_: [*request_messages, 1],
    "no_system": _without_system,
    "more_system": _with_system_in_between,
    "nameless_result": _with_nameless_result,
    "edited": _edited_and_none,
}
