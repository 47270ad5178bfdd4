"""What every embedder owes its callers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.fakes.embedder import FakeEmbedder
from tests.fakes.small_model import save_small_model
from vecctx.adapters.onnx_embedder import OnnxEmbedder
from vecctx.ports import Embedder

TEXTS = (
    "We moved the server to Frankfurt last night.",
    "My sister's birthday is on the third of May.",
    "昨晚我们决定把服务端迁到法兰克福。",
    "a lone surrogate \ud83d, a nul \0 byte, and <|endoftext|>",
    "word " * 2000,
)


@pytest.fixture(
    scope="module", params=["onnx", "fake", pytest.param("sentence-transformers", marks=pytest.mark.extras)]
)
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    if request.param == "onnx":
        return OnnxEmbedder()
    if request.param == "fake":
        return FakeEmbedder()
    from vecctx.adapters.sentence_transformer_embedder import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(save_small_model(tmp_path_factory.mktemp("model")))


def test_vectors_have_the_promised_shape_type_and_length(embedder: Embedder) -> None:
    vectors = embedder.embed_texts(TEXTS)

    assert vectors.shape == (len(TEXTS), embedder.identity.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert embedder.identity.is_normalized


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_texts([]).shape == (0, embedder.identity.dimensions)


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\0"])
def test_a_text_without_a_token_gives_a_zero_row(embedder: Embedder, blank: str) -> None:
    vectors = embedder.embed_texts(["before", blank, "after"])

    assert not vectors[1].any()
    assert vectors[0].any()
    assert vectors[2].any()
    assert not embedder.embed_query(blank).any()


def test_a_text_gets_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    together = embedder.embed_texts(TEXTS)

    for row, text in zip(together, TEXTS, strict=True):
        assert embedder.embed_texts([text])[0] == pytest.approx(row, abs=1e-5)


def test_rows_are_in_the_order_of_the_texts(embedder: Embedder) -> None:
    assert embedder.embed_texts(TEXTS[::-1])[::-1] == pytest.approx(embedder.embed_texts(TEXTS), abs=1e-5)


def test_a_question_has_one_vector_near_the_text_with_its_words(embedder: Embedder) -> None:
    query = embedder.embed_query("the server we moved to Frankfurt")

    assert query.shape == (embedder.identity.dimensions,)
    assert int(np.argmax(embedder.embed_texts(TEXTS[:2]) @ query)) == 0


def test_threads_get_what_one_caller_gets(embedder: Embedder) -> None:
    expected = embedder.embed_texts(TEXTS)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: embedder.embed_texts(TEXTS), range(8)))

    assert all(vectors == pytest.approx(expected, abs=1e-5) for vectors in found)
