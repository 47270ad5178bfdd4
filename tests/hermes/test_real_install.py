"""`vecctx hermes` and `/vecctx` in the real host."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.hermes.environment import hermes_environment
from tests.hermes.histories import FACT, says
from tests.hermes.provider import ScriptedProvider

CHAT = """
import sys
from cli import HermesCLI
from hermes_cli.plugins import get_plugin_command_handler, get_plugin_manager
cli = HermesCLI()
get_plugin_manager()._cli_ref = cli  # as its loop does
for line in sys.stdin.read().splitlines():
    if line == "new agent":
        cli.agent = None
    elif line == "gateway":  # which has no command line
        get_plugin_manager()._cli_ref = None
        print(get_plugin_command_handler("vecctx")("search key"))
    elif line.startswith("/"):
        cli.process_command(line)
    else:
        cli.chat(line)
"""


class Installed:
    """A home that the command installed into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.yaml"
        folder.mkdir()

    def run(self, *words: str, said: str = "") -> str:
        """What a command of the host's environment prints."""
        environment = hermes_environment()
        program = environment.program.with_name(words[0])
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "HERMES_HOME": str(self.folder)}
        done = subprocess.run(
            [str(program), *words[1:]],
            cwd=self.folder,
            env={**variables, "COLUMNS": "200"},
            input=said,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def configure(self, base_url: str) -> bytes:
        """A config as a user may have written it."""
        model = {"default": "scripted-model", "context_length": 100_000, "provider": "custom", "base_url": base_url}
        text = f"# by hand\nmodel: {json.dumps(model | {'api_key': 'none'})}   # loopback\n"
        self.config.write_text(text + "tools: {tool_search: {enabled: 'off'}}\ncontext:\n    engine: 'compressor'\n")
        return self.config.read_bytes()


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path / "home")


def test_the_plugin_passes_the_hosts_own_checks(installed: Installed) -> None:
    installed.run("vecctx", "hermes", "install")
    plugin = str(installed.folder / "plugins" / "vecctx")

    assert "Validation passed" in installed.run("hermes", "plugins", "validate", plugin)
    doctor = installed.run("hermes", "plugins", "doctor", plugin)
    assert "manifest: vecctx" in doctor
    assert "ERROR" not in doctor
    (line,) = (line for line in installed.run("hermes", "plugins", "list").splitlines() if "vecctx" in line)
    assert "Keeps every turn" in line


def test_a_chat_after_the_installation_is_served_and_after_the_removal_it_is_as_before(installed: Installed) -> None:
    provider = ScriptedProvider(lambda _body: "An answer.")
    with provider.endpoint.serving() as endpoint:
        before = installed.configure(endpoint.base_url)
        installed.run("vecctx", "hermes", "install")
        installed.run("hermes", "-z", FACT)
        installed.run("hermes", "-z", "And now?")
        status = json.loads(installed.run("vecctx", "hermes", "status", "--json"))
        installed.run("vecctx", "hermes", "uninstall")
        after = installed.config.read_bytes()
        installed.run("hermes", "-z", "And without?")
        last = json.loads(installed.run("vecctx", "hermes", "status", "--json"))

    assert says(provider.bodies[0]["messages"], FACT)
    assert (status["is_active"], status["problems"], status["notes"]) == (True, [], [])
    assert status["turns"] == 2
    assert status["last_selection"]["used_tokens"] <= status["last_selection"]["budget_tokens"]
    assert after == before
    assert not (installed.folder / "plugins" / "vecctx").exists()
    assert (last["is_active"], last["turns"], last["problems"]) == (False, 2, [])


def test_the_command_of_the_chat_tells_of_its_own_agent(installed: Installed) -> None:
    provider = ScriptedProvider(lambda _body: "An answer.")
    lines = [FACT, "/vecctx", "/vecctx search observatory", "new agent", "Go on.", "/vecctx why", "gateway"]
    with provider.endpoint.serving() as endpoint:
        installed.configure(endpoint.base_url)
        installed.run("vecctx", "hermes", "install")
        said = installed.run("python", "-c", CHAT, said="\n".join(lines))

    status, rest = said.split("vecctx serves this conversation.")[1].split("Found, best first:")
    searched, why = rest.split("Kept as they were: 2 messages")
    assert "The last request took" in status
    assert f"user: {FACT}" in searched
    assert "Recalled: nothing." in why
    assert "No conversation that vecctx serves can be seen from here." in why
    assert FACT not in why
    log = (installed.folder / "logs" / "agent.log").read_text(encoding="utf-8")
    assert "already registered" not in log


def test_the_reference_hosts_chat_in_the_same_home_has_it_too(installed: Installed) -> None:
    installed.run("vecctx", "hermes", "install")

    said = installed.run("python", "-m", "vecctx._host", "chat", "--offline", said=f"{FACT}\n/vecctx\n")

    assert "vecctx serves this conversation." in said
