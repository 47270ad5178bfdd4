"""The documents name what exists: settings, commands, files."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from vecctx.cli import main
from vecctx.settings import Settings

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "README.md"]
SOURCE = (ROOT / "vecctx" / "settings.py").read_text(encoding="utf-8")


def test_the_readme_lists_every_setting_with_its_default_and_its_own_words() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    for field in fields(Settings):
        words = re.search(rf'    {field.name}: .*\n    """(.*?)"""', SOURCE)
        assert words, f"{field.name} has no sentence in settings.py"
        assert f"| `{field.name}` | `{shown(field.default)}` | {words[1]} |" in readme


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert all(f"vecctx {name}" in readme for name in main.commands)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`((?:vecctx|agent|plugins|models|tests|docs|benchmarks|\.ci)/[\w./-]*)`", text)

    assert [path for path in named if not (ROOT / path).exists() and path not in BUILT] == []


BUILT = {"vecctx/_host", "vecctx/models"}
"""Only in the wheel."""


def shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default) or '""'
