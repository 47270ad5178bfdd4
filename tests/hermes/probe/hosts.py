"""The two hosts, driven by the same steps."""

import importlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Reply = dict[str, Any]
_PARAMETERS = {"type": "object", "properties": {}}


class HermesHost:
    """The real one, without its command line."""

    def __init__(self, home: Path, plan: dict[str, Any], tools: dict[str, Callable[..., str]]) -> None:
        self._plan, self.rows = plan, list(plan["history"])
        _register(tools)
        state = importlib.import_module("hermes_state").SessionDB()
        if plan["resumes"]:
            self.rows = state.get_messages_as_conversation(plan["session_id"], repair_alternation=True)
        agent_class = importlib.import_module("run_agent").AIAgent
        started = time.perf_counter()
        self.agent = agent_class(
            base_url=plan["base_url"],
            api_key="none",
            model="scripted-model",
            provider="custom",
            quiet_mode=True,
            skip_context_files=True,
            skip_memory=True,
            skip_background_review=True,
            session_db=state,
            session_id=plan["session_id"],
            user_id=plan["user_id"],
            enabled_toolsets=["probe", "context_engine"],
            platform="cli",
        )
        self.construction_seconds = time.perf_counter() - started
        self.engine = self.agent.context_compressor

    @property
    def session_id(self) -> str:
        return str(self.agent.session_id)

    def turn(self, text: str) -> Reply:
        answer = self.agent.run_conversation(text, conversation_history=self.rows)
        self.rows = answer["messages"]
        return {
            "reply": answer["final_response"],
            "failed": bool(answer.get("failed")),
            "interrupted": bool(answer.get("interrupted")),
        }

    def compress(self) -> Reply:
        manual = importlib.import_module("agent.conversation_compression_manual")
        result = manual.compress_now(self.agent, self.rows, manual.CompressRequest())
        self.rows = list(result.after_messages)
        importlib.import_module("agent.conversation_compression").finalize_context_engine_compression_notification(
            self.agent, committed=True
        )
        return {"reply": result.status}

    def reset(self) -> Reply:
        with suppress(Exception):  # all as the command /new does it
            self.engine.on_session_end(self.agent.session_id, self.rows)
        self.agent.session_id, self.rows = f"{self.agent.session_id}-new", []
        self.agent.reset_session_state()
        return {"reply": self.agent.session_id}

    def switch(self, model: str) -> Reply:
        helpers = importlib.import_module("agent.agent_runtime_helpers")
        helpers.switch_model(self.agent, model, "custom", api_key="none", base_url=self._plan["base_url"])
        return {"reply": self.agent.model, "window": self.engine.context_length}

    def interrupt(self) -> None:
        self.agent.interrupt()

    def close(self) -> Reply:
        self.agent.close()
        return {}


class ReferenceHost:
    """Ours."""

    def __init__(self, home: Path, plan: dict[str, Any], tools: dict[str, Callable[..., str]]) -> None:
        from agent.loop import Agent
        from agent.provider import OpenAIClient
        from agent.tools import Tool
        from tests.hermes.probe.engines import make_chosen

        started = time.perf_counter()
        self.agent = Agent(
            OpenAIClient(plan["base_url"]),
            model="scripted-model",
            context_length=plan["window"],
            engine=make_chosen(),
            home=home,
            session_id=plan["session_id"],
            history=plan["history"],
            tools=[Tool(name, f"Probe {name}.", run) for name, run in tools.items()],
            wait=lambda _seconds: None,
        )
        self.construction_seconds = time.perf_counter() - started
        self.engine = self.agent.engine

    @property
    def session_id(self) -> str:
        return self.agent.session.session_id

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.agent.history

    def turn(self, text: str) -> Reply:
        reply = self.agent.run_turn(text)
        turn = self.agent.last_turn
        return {"reply": reply, "failed": turn.is_failed, "interrupted": turn.is_interrupted}

    def compress(self) -> Reply:
        return {"reply": "compressed" if self.agent.compress() else "nothing_to_do"}

    def reset(self) -> Reply:
        return {"reply": self.agent.new_session()}

    def switch(self, model: str) -> Reply:
        raise NotImplementedError(model)

    def interrupt(self) -> None:
        self.agent.interrupt()

    def close(self) -> Reply:
        self.agent.close()
        return {}


def _register(tools: dict[str, Callable[..., str]]) -> None:
    registry = importlib.import_module("tools.registry").registry
    for name, run in tools.items():
        schema = {"name": name, "description": f"Probe {name}.", "parameters": dict(_PARAMETERS)}

        def handler(arguments: dict[str, Any], run: Callable[..., str] = run, **_: Any) -> str:
            return run(**arguments)

        if name not in registry.get_all_tool_names():
            registry.register(name, "probe", schema, handler)
