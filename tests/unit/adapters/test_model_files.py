"""The shipped models are found and are whole."""

import hashlib
from pathlib import Path

import pytest

from vecctx.adapters import model_files
from vecctx.adapters.model_files import CHECKSUMS, expected_sha256, model_folder, read_verified
from vecctx.errors import ModelError

LARGEST_FILE_BYTES = 50 * 1024 * 1024


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "tiktoken"])
def test_every_listed_file_is_there_and_whole(name: str) -> None:
    folder = model_folder(name)

    for line in (folder / CHECKSUMS).read_text().splitlines():
        checksum, file_name = line.split("  ")
        content = (folder / file_name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == checksum
        assert len(content) < LARGEST_FILE_BYTES


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "tiktoken"])
def test_every_model_has_a_card_and_a_licence(name: str) -> None:
    assert (model_folder(name) / "README.md").is_file()
    assert (model_folder(name) / "LICENSE").is_file()


def test_a_wheel_carries_the_models_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, beside = tmp_path / "vecctx" / "models", tmp_path / "models"
    for place in (inside, beside):
        (place / "m").mkdir(parents=True)
        (place / "m" / CHECKSUMS).write_text("")
    monkeypatch.setattr(model_files, "_PLACES", (inside, beside))

    assert model_folder("m") == inside / "m"


def test_a_model_that_is_nowhere_is_an_error_that_names_the_places() -> None:
    with pytest.raises(ModelError, match=r"'other'.*models.*install vecctx again"):
        model_folder("other")


def test_a_file_that_is_not_listed_is_an_error() -> None:
    with pytest.raises(ModelError, match="does not list absent"):
        expected_sha256(model_folder("tiktoken"), "absent")


def test_only_the_bytes_with_the_checksum_are_given_out(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")

    assert read_verified(path, hashlib.sha256(b"content").hexdigest()) == b"content"
    with pytest.raises(ModelError, match="damaged"):
        read_verified(path, "0" * 64)
