"""Any sentence-transformers model, loaded late and never over the network."""

import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.small_model import DIMENSIONS, save_settings, save_small_model
from vecctx.adapters import sentence_transformer_embedder
from vecctx.adapters.model_files import model_folder
from vecctx.adapters.onnx_embedder import OnnxEmbedder
from vecctx.adapters.sentence_transformer_embedder import SentenceTransformerEmbedder
from vecctx.errors import ModelError, OptionalDependencyError
from vecctx.values import Identity


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small").mkdir()
    return tmp_path / "small"


def test_the_identity_needs_no_extra(folder: Path) -> None:
    save_settings(folder, {"document": "passage: "})
    code = (
        "import sys; from vecctx.adapters.sentence_transformer_embedder import SentenceTransformerEmbedder as E;"
        f"i = E({str(folder)!r}).identity; print(i.model, i.dimensions, i.prompt);"
        "print(sorted({'numpy', 'torch', 'sentence_transformers'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [f"small {DIMENSIONS} passage: ", "[]"]


def test_without_the_extra_the_first_text_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_settings(folder)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(OptionalDependencyError, match=r"pip install 'vecctx\[sentence-transformers\]'"):
        SentenceTransformerEmbedder(folder).embed_query("hello")


def test_making_one_reads_nothing() -> None:
    embedder = SentenceTransformerEmbedder("/no/such/folder")

    with pytest.raises(ModelError, match="there is no folder"):
        embedder.embed_texts([])


def test_a_given_prompt_is_part_of_the_identity(folder: Path) -> None:
    save_settings(folder, {"document": "own: "})

    assert SentenceTransformerEmbedder(folder, passage_prompt="given: ").identity.prompt == "given: "


@pytest.mark.extras
def test_prompts_stand_before_questions_and_texts(folder: Path) -> None:
    save_small_model(folder, prompts={"query": "question: ", "document": "passage: "})
    prompted = SentenceTransformerEmbedder(folder)
    plain = SentenceTransformerEmbedder(folder, query_prompt="", passage_prompt="")

    assert prompted.embed_query("who") == pytest.approx(plain.embed_query("question: who"), abs=1e-6)
    assert prompted.embed_texts(["who"]) == pytest.approx(plain.embed_texts(["passage: who"]), abs=1e-6)


@pytest.mark.extras
def test_a_model_without_its_weights_is_a_model_error(folder: Path) -> None:
    save_settings(folder)

    with pytest.raises(ModelError, match="cannot be loaded"):
        SentenceTransformerEmbedder(folder).embed_query("hello")


@pytest.mark.extras
def test_no_connection_is_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_small_model(folder)

    def refuse(*args: object) -> None:
        raise AssertionError(f"a connection was opened: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    assert SentenceTransformerEmbedder(folder).embed_query("hello").any()


@pytest.mark.extras
def test_dimensions_that_no_file_tells_are_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_small_model(folder)
    monkeypatch.setattr(sentence_transformer_embedder, "read_dimensions", lambda _: None)

    assert SentenceTransformerEmbedder(folder).identity.dimensions == DIMENSIONS


@pytest.mark.extras
def test_files_that_tell_other_dimensions_than_the_model_has_are_an_error(folder: Path) -> None:
    save_small_model(folder)
    (folder / "1_Pooling" / "config.json").write_text('{"word_embedding_dimension": 99}')

    with pytest.raises(ModelError, match="unusable vectors"):
        SentenceTransformerEmbedder(folder).embed_query("hello")


@pytest.mark.extras
def test_nothing_is_printed_while_a_model_loads(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    save_small_model(folder)
    capfd.readouterr()

    SentenceTransformerEmbedder(folder).embed_query("hello")

    assert capfd.readouterr() == ("", "")


@pytest.mark.extras
def test_the_shipped_folder_is_a_sentence_transformers_model() -> None:
    pytest.importorskip("optimum.onnxruntime.modeling", exc_type=ImportError, reason="needs a matching optimum-onnx")
    embedder = SentenceTransformerEmbedder(model_folder("all-MiniLM-L6-v2"))
    texts = ["We moved the server to Frankfurt.", "short", "word " * 500]

    assert embedder.identity != OnnxEmbedder().identity
    assert isinstance(embedder.identity, Identity)
    assert (embedder.embed_texts(texts) * OnnxEmbedder().embed_texts(texts)).sum(axis=1) == pytest.approx(
        np.ones(3), abs=1e-4
    )
