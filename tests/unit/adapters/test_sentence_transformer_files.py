"""What can be told of a sentence-transformers model without loading it."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.fakes.small_model import DIMENSIONS, save_settings
from vecctx.adapters.model_files import model_folder
from vecctx.adapters.sentence_transformer_files import (
    Prompts,
    choose_backend,
    find_folder,
    read_dimensions,
    read_prompts,
    read_revision,
)
from vecctx.errors import ModelError, OptionalDependencyError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    return save_settings(tmp_path / "model")


def test_a_path_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no folder"):
        find_folder(str(tmp_path / "gone"))


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no modules\.json"):
        find_folder(str(tmp_path))


def test_a_name_that_was_never_downloaded_says_how_to_get_it() -> None:
    pytest.importorskip("huggingface_hub")

    with pytest.raises(ModelError, match="hf download sentence-transformers/never-downloaded-here"):
        find_folder("never-downloaded-here")


def test_a_name_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(OptionalDependencyError, match=r"pip install 'vecctx\[sentence-transformers\]'"):
        find_folder("all-mpnet-base-v2")


def test_the_backend_follows_the_weights(folder: Path) -> None:
    assert choose_backend(model_folder("all-MiniLM-L6-v2")) == "onnx"
    (folder / "model.onnx").write_bytes(b"")
    assert choose_backend(folder) == "onnx"
    (folder / "model.safetensors").write_bytes(b"")
    assert choose_backend(folder) == "torch"


def test_the_revision_stays_when_the_folder_moves(folder: Path) -> None:
    moved = Path(shutil.copytree(folder, folder.parent / "moved"))
    (moved / "README.md").write_text("a card is no part of the model")

    assert read_revision(moved, "torch") == read_revision(folder, "torch")


def test_the_revision_changes_with_weights_settings_and_backend(folder: Path) -> None:
    weights = folder / "model.safetensors"
    seen = {read_revision(folder, "torch"), read_revision(folder, "onnx")}
    for content in (b"a" * 200_000, b"b" + b"a" * 199_999, b"a" * 199_999 + b"b"):
        weights.write_bytes(content)
        seen.add(read_revision(folder, "torch"))
    (folder / "1_Pooling" / "config.json").write_text("{}")
    seen.add(read_revision(folder, "torch"))

    assert len(seen) == 6


def test_dimensions_come_from_the_last_module_that_sets_them(folder: Path) -> None:
    assert read_dimensions(folder) == DIMENSIONS

    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*modules, {"path": "3_Dense"}]))
    (folder / "3_Dense").mkdir()
    (folder / "3_Dense" / "config.json").write_text('{"out_features": 7}')
    assert read_dimensions(folder) == 7


def test_dimensions_of_a_bare_transformer_are_its_width(folder: Path) -> None:
    (folder / "modules.json").unlink()
    assert read_dimensions(folder) == DIMENSIONS

    (folder / "config.json").write_text("{}")
    assert read_dimensions(folder) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, Prompts("", "")),
        ({"prompts": {"query": "q: ", "document": "d: "}}, Prompts("q: ", "d: ")),
        ({"prompts": {"query": "q: ", "passage": "p: ", "document": ""}}, Prompts("q: ", "p: ")),
        ({"prompts": {"any": "a: "}, "default_prompt_name": "any"}, Prompts("a: ", "a: ")),
        ({"prompts": {"other": "o: "}}, Prompts("", "")),
    ],
)
def test_prompts_are_those_the_model_names(folder: Path, settings: dict[str, object], expected: Prompts) -> None:
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))

    assert read_prompts(folder) == expected


def test_settings_that_are_no_json_are_named(folder: Path) -> None:
    (folder / "config_sentence_transformers.json").write_text("{")

    with pytest.raises(ModelError, match=r"config_sentence_transformers\.json cannot be read"):
        read_prompts(folder)
