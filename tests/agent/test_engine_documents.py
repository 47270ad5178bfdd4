"""What the two documents for authors of engines say is so."""

import re
from pathlib import Path
from typing import Any

import pytest

from agent.conformance import POINTS, check_engine
from agent.plugins import load_plugin

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "writing-an-engine.md").read_text(encoding="utf-8")
POINTS_DOCUMENT = (DOCS / "conformance.md").read_text(encoding="utf-8")


def _example() -> str:
    blocks: list[str] = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    return blocks[0]


def test_the_example_of_the_guide_keeps_every_point_that_it_uses() -> None:
    scope: dict[str, Any] = {}
    exec(_example(), scope)  # noqa: S102 - our own document

    broken = [result.point.name for result in check_engine(scope["LastTurns"]).broken()]

    # It has nothing to compress to, and selects instead; the default copy is the host's.
    assert broken == ["compress.shrinks", "copy.lock"]


def test_the_example_can_be_shipped_as_the_guide_says(tmp_path: Path) -> None:
    plugin = tmp_path / "plugins" / "last-turns"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(_example())

    assert load_plugin("last-turns", home=tmp_path).engine.name == "last-turns"


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_the_document_lists_each_point(point: Any) -> None:
    assert f"| `{point.name}` | {point.severity} | {point.sentence} |" in POINTS_DOCUMENT


def test_the_document_counts_the_points() -> None:
    assert f"{len(POINTS)} points" in POINTS_DOCUMENT
    assert POINTS_DOCUMENT.count("| required |") + POINTS_DOCUMENT.count("| advised |") == len(POINTS)
