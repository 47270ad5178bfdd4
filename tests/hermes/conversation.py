"""Plays conversations in a host, and holds what came of them."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.hermes.environment import Environment, hermes_environment, reference_environment
from tests.hermes.provider import Body, ScriptedProvider

Row = dict[str, Any]
WINDOW_TOKENS = 100_000
_TIMEOUT_SECONDS = 120
_PLUGIN = """# A ContextEngine
from tests.hermes.probe.engines import make_chosen

def register(ctx):
    ctx.register_context_engine(make_chosen())
"""


@dataclass(frozen=True)
class Speaker:
    """One agent: its session, what was said before, and what is done with it."""

    steps: Sequence[dict[str, Any]]
    session_id: str = "session-1"
    user_id: str = ""
    history: Sequence[Row] = ()
    resumes: bool = False
    """Goes on with what the host stored of this session; only the real one can."""
    engine: str = ""
    """Another engine than the home's, under the same name."""


@dataclass
class Played:
    """What came of a plan."""

    agents: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    modules: dict[str, str]
    bodies: list[Body]
    other_bodies: list[Body]
    log: str
    hooks: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.hooks = [call["hook"] for call in self.calls]

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What each step of the only agent brought."""
        (agent,) = self.agents
        steps: list[dict[str, Any]] = agent["steps"]
        return steps

    @property
    def requests(self) -> list[list[Row]]:
        """The messages of each request of the conversation."""
        return [body["messages"] for body in self.bodies]


def turn(text: str) -> dict[str, Any]:
    """A step: the user says something."""
    return {"do": "turn", "text": text}


def do(what: str, **details: Any) -> dict[str, Any]:
    """Any other step."""
    return {"do": what, **details}


@dataclass(frozen=True)
class Home:
    """A host's home: its folder, its config and the engine that is installed in it."""

    folder: Path
    host: str = "hermes"
    engine: str = "vecctx"
    installed_as: str = "recorded plugin"
    """Or `plugin` (the directory alone), `entry point`, or `nothing`."""
    config: dict[str, Any] = field(default_factory=dict)
    window_tokens: int = WINDOW_TOKENS

    def play(self, provider: ScriptedProvider, *speakers: Speaker, together: bool = False) -> Played:
        """Run a process of the host in which the speakers do their steps: one by one, or each in its own thread."""
        with provider.endpoint.serving() as endpoint:
            self._install(endpoint.base_url)
            plan = {
                "host": self.host,
                "together": together,
                "window": self.window_tokens,
                "base_url": endpoint.base_url,
                "agents": [vars(speaker) | {"engine": speaker.engine or self.engine} for speaker in speakers],
            }
            answer, log = self._run(self._environment(), plan)
        return Played(**answer, bodies=provider.bodies, other_bodies=provider.other_bodies, log=log)

    def command(self, *words: str, provider: ScriptedProvider) -> str:
        """What a command of the real host's environment prints; the config is complete enough for its command line."""
        environment = hermes_environment()
        with provider.endpoint.serving() as endpoint:
            self._install(endpoint.base_url)
            program = environment.program.with_name(words[0])
            done = self._call(Environment(program, ""), *words[1:])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _environment(self) -> Environment:
        return hermes_environment() if self.host == "hermes" else reference_environment()

    def _install(self, base_url: str) -> None:
        self.folder.mkdir(exist_ok=True)
        config: dict[str, Any] = {
            "model": {
                "default": "scripted-model",
                "context_length": self.window_tokens,
                "provider": "custom",
                "base_url": base_url,
                "api_key": "none",
            },
            "custom_providers": [
                {"name": "scripted", "base_url": base_url, "models": {"small-model": {"context_length": 70_000}}}
            ],
            "context": {"engine": self.engine},
            "tools": {"tool_search": {"enabled": "off"}},
        }
        config |= {key: config.get(key, {}) | value for key, value in self.config.items()}
        if self.installed_as == "entry point":
            config["plugins"] = {"enabled": ["vecctx"]}
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        if "plugin" in self.installed_as:
            self._write_plugin()

    def _write_plugin(self) -> None:
        plugin = self.folder / "plugins" / self.engine
        plugin.mkdir(parents=True, exist_ok=True)
        bare = "# A ContextEngine\nfrom vecctx.hermes import register\n"
        is_recorded = self.installed_as == "recorded plugin"
        (plugin / "__init__.py").write_text(_PLUGIN if is_recorded else bare, encoding="utf-8")

    def _run(self, environment: Environment, plan: dict[str, Any]) -> tuple[dict[str, Any], str]:
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "plan.json"), Path(folder, "answer.json")
            paths[0].write_text(json.dumps(plan), encoding="utf-8")
            done = self._call(environment, "-m", "tests.hermes.probe.play", *map(str, paths))
            log = done.stdout + done.stderr
            assert paths[1].exists(), log
            answer: dict[str, Any] = json.loads(paths[1].read_text(encoding="utf-8"))
            return answer, log

    def _call(self, environment: Environment, *words: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "HERMES_HOME": str(self.folder),
            "PYTHONPATH": environment.python_path,
            "COLUMNS": "200",
        }
        command = [str(environment.program), *words]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
