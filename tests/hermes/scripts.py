"""The conversation that both hosts are put through, and how it is compared."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent.caching import unmark
from agent.testing import Reply, call
from tests.hermes.conversation import Home, Played, Row, Speaker, do, turn
from tests.hermes.provider import Line, ScriptedProvider

DECISIVE = (
    "select_context",
    "update_from_response",
    "handle_tool_call",
    "on_turn_complete",
    "compress",
    "on_session_start",
    "on_session_end",
    "on_session_reset",
    "bind_session_state",
)
"""Hooks by which an engine lives: both hosts call them at the same moments, in the same order."""
_LONG = " ".join(f"Remark {number} is about the harbour and its cranes." for number in range(400))
STEPS = [
    turn("Hello. " + _LONG),
    turn("Look around."),
    turn("Tell me more. " + _LONG),
    turn("And more. " + _LONG),
    do("compress"),
    turn("What now?"),
    turn("Stop there."),
    do("reset"),
    turn("Something else."),
    do("close"),
]
TOOL = {"trivial": ("trivial_echo", {"word": "hi"}), "vecctx": ("vecctx_search", {"query": "harbour"})}


def script(engine: str) -> list[Line]:
    """A plain turn, parallel calls and one of the engine's tools, a compaction, an interrupt, a new session."""
    name, arguments = TOOL.get(engine, TOOL["trivial"])
    return [
        _reply("One."),
        _reply(None, call("c1", "probe_look", place="here"), call("c2", "probe_look", place="there")),
        _reply(None, call("c3", name, **arguments)),
        _reply("Nothing to see."),
        _reply("Two. " + _LONG),
        _reply("Three. " + _LONG),
        _reply("Four."),
        _reply(None, call("c4", "probe_stop")),
        _reply("Five."),
    ]


def play_script(folder: Path, host: str, engine: str) -> Played:
    return Home(folder, host, engine).play(ScriptedProvider(script(engine)), Speaker(STEPS))


def without_wording(rows: Iterable[Row]) -> list[Row]:
    """Rows without what the hosts are known to write differently; user rows that meet are one, as both send them."""
    plain: list[Row] = []
    for row in unmark(list(rows)):
        if row["role"] == "user" and plain and plain[-1]["role"] == "user":
            plain[-1]["content"] += "\n\n" + _plain(row)["content"]
        elif row["role"] != "system":
            plain.append(_plain(row))
    return plain


def _plain(row: Row) -> Row:
    plain: dict[str, Any] = {"role": row["role"], "content": (row.get("content") or "").strip()}
    if row.get("tool_call_id"):
        plain["tool_call_id"] = row["tool_call_id"]
    if row.get("tool_calls"):
        plain["tool_calls"] = [
            (item["id"], item["function"]["name"], json.loads(item["function"]["arguments"]))
            for item in row["tool_calls"]
        ]
    return plain


def _reply(text: str | None, *calls: Row, prompt_tokens: int = 9_000) -> Reply:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 9, "total_tokens": prompt_tokens + 9}
    return Reply(text, calls, usage)


RAISING_STEPS = [
    turn("Hello."),
    turn("Please use the tool."),
    turn("Please grow."),
    turn("And now?"),
    turn("Go on. " + _LONG),
    do("compress"),
    turn("Go on."),
    do("reset"),
    turn("Go on."),
    do("close"),
]
"""For an engine that raises: a tool, a compaction by itself after the third turn, one on request, a new session."""


def answer_anything(body: dict[str, Any]) -> Line:
    """Calls the engine's tool or reports a full window when it is asked to, and answers everything else."""
    newest = body["messages"][-1]
    asked = str(newest["content"]) if newest["role"] == "user" else ""
    if "use the tool" in asked:
        return _reply(None, call("c1", "trivial_echo", word="hi"))
    return _reply("An answer.", prompt_tokens=90_000 if "grow" in asked else 9_000)
