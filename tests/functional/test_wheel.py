"""The wheel holds one top-level name and works alone, and the sdist builds the same wheel."""

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGET_TOKENS = 8000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def bare(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel and what it asks for, and nothing of the checkout."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    run(str(python), "-m", "pip", "install", "--quiet", str(next(built.glob("*.whl"))))
    return python


def test_the_wheel_has_one_top_level_name(built: Path) -> None:
    names = {name.split("/")[0] for name in names_in(next(built.glob("*.whl")))}

    assert {name for name in names if not name.endswith(".dist-info")} == {"vecctx"}


def test_the_sdist_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "-w",
        str(tmp_path),
        str(next(built.glob("*.tar.gz"))),
    )

    assert names_in(next(tmp_path.glob("*.whl"))) == names_in(next(built.glob("*.whl")))


def test_the_wheel_alone_runs_the_demo(bare: Path, tmp_path: Path) -> None:
    shown = run(str(bare.parent / "vecctx"), "demo", "--json", cwd=tmp_path)

    played = json.loads(shown)
    assert played["questions"] == len(played["requests"]) == 6
    assert played["answerable"]["with_vecctx"] > played["answerable"]["with_window"]
    assert all(one["sent_tokens"] <= BUDGET_TOKENS for one in played["requests"])


def test_the_wheel_alone_brings_the_host_and_no_torch(bare: Path, tmp_path: Path) -> None:
    code = (
        "import vecctx.engine, importlib.util as u; print(vecctx.engine.ContextEngine.__module__, u.find_spec('torch'))"
    )
    shown = run(str(bare), "-c", code, cwd=tmp_path)

    assert shown.split() == ["vecctx._host.context_engine", "None"]


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
