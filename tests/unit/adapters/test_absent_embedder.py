"""A model that is not here says so each time it is asked, and has an identity that no vector has."""

import pytest

from vecctx.adapters.absent_embedder import AbsentEmbedder
from vecctx.errors import ModelError, OptionalDependencyError
from vecctx.values import Identity


def test_what_is_wrong_is_said_each_time() -> None:
    embedder = AbsentEmbedder("some-model", OptionalDependencyError("sentence-transformers", "sentence-transformers"))

    for _ in range(2):
        with pytest.raises(ModelError, match="pip install"):
            embedder.embed_query("anything")
        with pytest.raises(ModelError, match="pip install"):
            embedder.embed_texts(["anything"])


def test_its_identity_is_its_own() -> None:
    embedder = AbsentEmbedder("some-model", ModelError("not here"))

    assert embedder.identity == Identity("some-model", "absent", 1)
