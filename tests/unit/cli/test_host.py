import subprocess
import sys
from pathlib import Path

from vecctx.cli.host import host_module

ROOT = Path(__file__).resolve().parents[3]


def test_a_checkout_has_its_own_host() -> None:
    assert host_module("loop").__name__ == "agent.loop"


def test_an_unrelated_package_called_agent_is_left_alone(tmp_path: Path) -> None:
    """As installed from a wheel, where `agent` belongs to somebody else."""
    package = tmp_path / "installed" / "vecctx"
    package.mkdir(parents=True)
    for part in (ROOT / "vecctx").iterdir():
        (package / part.name).symlink_to(part)
    (package / "_host").symlink_to(ROOT / "agent")
    stranger = tmp_path / "installed" / "agent"
    stranger.mkdir()
    (stranger / "__init__.py").write_text("")
    program = (
        "import vecctx.engine\n"
        "from vecctx.cli.host import host_module\n"
        "agent = host_module('loop').Agent(host_module('testing').ScriptedModel(['yes']))\n"
        "print(agent.run_turn('no?'), host_module('loop').__name__)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path / "installed", capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("yes vecctx._host.loop\n", "")
