"""Plays a plan in a host: `python -m tests.hermes.probe.play PLAN OUTPUT`, both JSON files."""

import gc
import json
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.hermes.probe import engines, recording
from tests.hermes.probe.hosts import HermesHost, ReferenceHost

if TYPE_CHECKING:
    from collections.abc import Callable

_alive: list[object] = []
"""As a gateway keeps its agents."""
_HOSTS: dict[str, type[HermesHost | ReferenceHost]] = {"hermes": HermesHost, "reference": ReferenceHost}


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    agents: list[dict[str, Any]] = [{} for _ in plan["agents"]]
    runs = [(plan | agent, result) for agent, result in zip(plan["agents"], agents, strict=True)]
    (_run_together if plan["together"] else _run_one_by_one)(runs)
    answer = {"agents": agents, "calls": recording.JOURNAL, "modules": _origins()}
    Path(sys.argv[2]).write_text(json.dumps(answer, default=repr), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # as the host's one-shot command does; nothing may depend on a tidy end


def _run_one_by_one(runs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for plan, result in runs:
        engines.choose(plan["engine"])
        _run(plan, result)


def _run_together(runs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    engines.choose(runs[0][0]["engine"])
    threads = [threading.Thread(target=_run, args=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run(plan: dict[str, Any], result: dict[str, Any]) -> None:
    result |= {"steps": [], "rows": [], "construction_error": None, "calls_from": len(recording.JOURNAL)}
    holder: list[Any] = []
    tools: dict[str, Callable[..., str]] = {
        "probe_look": lambda place="": f"Nothing at {place}.",
        "probe_stop": lambda: str(holder[0].interrupt()),
    }
    try:
        host = _HOSTS[plan["host"]](Path(os.environ["HERMES_HOME"]), plan, tools)
    except Exception as error:  # what an engine does to its host is the question
        result["construction_error"] = repr(error)
        return
    holder.append(host)
    result["construction_seconds"] = host.construction_seconds
    result["engine"] = type(host.engine).__name__
    result["module"] = type(host.engine).__module__
    for step in plan["steps"]:
        result["steps"].append(_take(host, step))
    result["rows"] = host.rows
    result["resident_mib"] = _resident_mib()
    _alive.append(host)
    with suppress(RuntimeError):  # no host asks for it, so an engine that is broken on purpose need not answer
        result["status"] = host.engine.get_status()


def _take(host: HermesHost | ReferenceHost, step: dict[str, Any]) -> dict[str, Any]:
    engine: Any = host.engine
    actions: dict[str, Callable[[], dict[str, Any]]] = {
        "turn": lambda: host.turn(step["text"]),
        "compress": host.compress,
        "reset": host.reset,
        "switch": lambda: host.switch(step["model"]),
        "flush": lambda: {"reply": engine.flush(30)},
        "close": host.close,
    }
    started, calls = time.perf_counter(), len(recording.JOURNAL)
    try:
        answer = actions[step["do"]]()
    except Exception as error:  # the same
        answer = {"raised": repr(error)}
    answer |= {"seconds": time.perf_counter() - started, "calls_before": calls, "session_id": host.session_id}
    return answer


def _resident_mib() -> float:
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _origins() -> dict[str, str]:
    """Where the packages that both sides have were imported from."""
    return {name: str(getattr(sys.modules.get(name), "__file__", "")) for name in ("agent", "plugins", "vecctx")}


if __name__ == "__main__":
    main()
