"""Engines that break points about making an engine, its tools and its copies."""

import copy
import json
import os
import threading
from pathlib import Path
from typing import Any, Self

from agent.context_engine import Message
from tests.agent.engines import GoodEngine, Selecting, breaks


@breaks("construction")
class WritesAtOnce(GoodEngine):
    def __init__(self) -> None:
        super().__init__()
        (Path(os.environ["HERMES_HOME"]) / "engine.log").write_text("hello")


@breaks("members")
class NoCount(GoodEngine):
    compression_count = None  # type: ignore[assignment]


@breaks("own-attributes")
class Inventive(GoodEngine):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return True


@breaks("defaults")
class NoAnswer(GoodEngine):
    def should_compress_preflight(self, messages: list[Message]) -> bool:
        return None  # type: ignore[return-value]


@breaks("defer")
class Defers(GoodEngine):
    def should_defer_preflight_to_real_usage(self, prompt_tokens: int) -> bool:
        return True


@breaks("window")
class FixedWindow(GoodEngine):
    def update_model(self, *args: Any, **details: Any) -> None:
        super().update_model("m", 8000)


@breaks("odd-window")
class NeedsWindow(GoodEngine):
    def update_model(self, model: str, context_length: int, *args: Any, **details: Any) -> None:
        super().update_model(model, context_length * context_length // context_length)


@breaks("model-thresholds")
class OwnThreshold(GoodEngine):
    def update_model(self, model: str, context_length: int, *args: Any, **details: Any) -> None:
        self.context_length, self.threshold_tokens = context_length, context_length // 2


@breaks("status")
class OddStatus(GoodEngine):
    def get_status(self) -> dict[str, Any]:
        return {"engine": self}


@breaks("tools.schemas")
class OneNameTwice(GoodEngine):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return super().get_tool_schemas() * 2


@breaks("tools.answers")
class AnswersInText(GoodEngine):
    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
        return "nothing was found"


@breaks("tools.wrong-arguments")
class TrustsArguments(GoodEngine):
    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
        return json.dumps(args["query"].lower())


@breaks("tools.unknown")
class KnowsItsNames(GoodEngine):
    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
        return {"recall": "{}"}[name]


@breaks("tools.inputs")
class TakesMessages(GoodEngine):
    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
        context["messages"].pop()
        return "{}"


@breaks("copy.clone")
class OneForAll(GoodEngine):
    def clone_for_agent(self) -> Self:
        return self


@breaks("copy.deepcopy")
class NotCopied(GoodEngine):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@breaks("copy.while-in-use")
class LocksLate(Selecting):
    def clone_for_agent(self) -> Self:
        return copy.deepcopy(self)

    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        self.lock = threading.Lock()
        return rows


@breaks("copy.lock")
class CopiesAll(GoodEngine):
    def clone_for_agent(self) -> Self:
        return copy.deepcopy(self)


@breaks("copy.rollback")
class StateInADict(GoodEngine):
    def __init__(self) -> None:
        self.state = {"window": 0}
        super().__init__()

    @property
    def context_length(self) -> int:
        return self.state["window"]

    @context_length.setter
    def context_length(self, tokens: int) -> None:
        self.state["window"] = tokens
