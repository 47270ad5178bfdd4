"""The shipped model: lazy, exact about its identity, and plain about what is wrong with its files."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vecctx.adapters import onnx_embedder
from vecctx.adapters.model_files import model_folder
from vecctx.adapters.onnx_embedder import LONGEST_PIECES, OnnxEmbedder
from vecctx.errors import ModelError

SHIPPED = OnnxEmbedder()
GRAPH = "onnx/model.onnx"


@pytest.fixture
def copied_folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder("all-MiniLM-L6-v2"), tmp_path / "model"))


def test_the_identity_is_known_before_anything_heavy_is_imported() -> None:
    code = (
        "import sys; from vecctx.adapters.onnx_embedder import OnnxEmbedder; print(OnnxEmbedder().identity.model);"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["all-MiniLM-L6-v2", "[]"]


def test_the_revision_is_the_checksum_of_the_graph() -> None:
    listed = (model_folder("all-MiniLM-L6-v2") / "SHA256SUMS").read_text()

    assert f"{SHIPPED.identity.revision}" in listed
    assert next(line for line in listed.splitlines() if line.endswith(GRAPH)).startswith(SHIPPED.identity.revision)
    assert SHIPPED.identity.dimensions == 384


def test_a_text_gets_the_same_bytes_whatever_stands_beside_it() -> None:
    texts = ["short", "a somewhat longer text about servers", "LOUD " * 200, "12345 67890"]

    together = SHIPPED.embed_texts(texts)

    assert all(
        SHIPPED.embed_texts([text]).tobytes() == row.tobytes() for text, row in zip(texts, together, strict=True)
    )


def test_more_threads_give_the_same_bytes() -> None:
    text = "the same text on two threads " * 20

    assert OnnxEmbedder(threads=2).embed_query(text).tobytes() == SHIPPED.embed_query(text).tobytes()


def test_texts_that_are_too_long_are_cut_and_counted() -> None:
    embedder = OnnxEmbedder()
    fitting = "word " * (LONGEST_PIECES - 2)

    vectors = embedder.embed_texts(["short", fitting, fitting + "and more", "x " * 500_000])

    assert embedder.truncated_count == 2
    assert vectors[1].tobytes() == vectors[2].tobytes()


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_gives_a_unit_vector_or_zero(text: str) -> None:
    length = float(np.linalg.norm(SHIPPED.embed_query(text)))

    assert length == pytest.approx(1, abs=1e-5) or length == 0.0


def test_engines_that_start_together_load_the_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Path] = []
    real = onnx_embedder._load

    def counting(folder: Path, threads: int) -> onnx_embedder._Loaded:
        loads.append(folder)
        return real(folder, threads)

    monkeypatch.setattr(onnx_embedder, "_load", counting)
    embedder, together = OnnxEmbedder(), Barrier(4)

    def ask(_: int) -> bytes:
        together.wait(timeout=60)
        return embedder.embed_query("hello").tobytes()

    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(ask, range(4)))

    assert len(loads) == 1
    assert len(answers) == 1


@pytest.mark.parametrize("name", [GRAPH, "tokenizer.json", "SHA256SUMS"])
def test_a_missing_file_is_named_with_what_to_do(copied_folder: Path, name: str) -> None:
    (copied_folder / name).unlink()

    with pytest.raises(ModelError, match=rf"{name}.*install vecctx again"):
        OnnxEmbedder(copied_folder).embed_query("hello")


@pytest.mark.parametrize("name", [GRAPH, "tokenizer.json"])
def test_a_damaged_file_is_named_with_what_to_do(copied_folder: Path, name: str) -> None:
    (copied_folder / name).write_bytes((copied_folder / name).read_bytes()[:-100])

    with pytest.raises(ModelError, match=rf"{name} is damaged.*install vecctx again"):
        OnnxEmbedder(copied_folder).embed_query("hello")


def test_a_graph_that_onnxruntime_refuses_is_a_model_error(copied_folder: Path) -> None:
    content = b"no graph"
    (copied_folder / GRAPH).write_bytes(content)
    _list_checksum(copied_folder, content)

    with pytest.raises(ModelError, match="cannot be loaded"):
        OnnxEmbedder(copied_folder).embed_query("hello")


def test_a_vector_that_is_not_finite_is_a_model_error() -> None:
    embedder = OnnxEmbedder()
    loaded = embedder._load()

    class Broken:
        def run(self, names: list[str], inputs: object) -> list[np.ndarray]:
            return [np.full((1, 3, 384), np.nan, dtype=np.float32)]

    embedder._loaded = onnx_embedder._Loaded(loaded.tokenizer, Broken())

    with pytest.raises(ModelError, match="not finite"):
        embedder.embed_query("hello")


def test_a_failed_load_is_tried_again(copied_folder: Path) -> None:
    graph = copied_folder / GRAPH
    embedder = OnnxEmbedder(copied_folder)
    content = graph.read_bytes()
    graph.unlink()
    with pytest.raises(ModelError):
        embedder.embed_query("hello")

    graph.write_bytes(content)

    assert embedder.embed_query("hello").any()


def _list_checksum(folder: Path, graph: bytes) -> None:
    import hashlib

    lines = (folder / "SHA256SUMS").read_text().splitlines()
    kept = [line for line in lines if not line.endswith(GRAPH)]
    (folder / "SHA256SUMS").write_text("\n".join([*kept, f"{hashlib.sha256(graph).hexdigest()}  {GRAPH}"]))
