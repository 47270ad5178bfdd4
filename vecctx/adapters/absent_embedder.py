"""Stands in for a model that is not here, so that everything but recall by meaning goes on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vecctx.errors import ModelError, VecctxError
from vecctx.values import Identity

if TYPE_CHECKING:
    from vecctx.values import FloatArray


class AbsentEmbedder:
    """An Embedder that says why there is no model, each time it is asked to embed.

    Its identity is its own: no vector is ever stored under it, and where the model comes later, all is embedded then.
    """

    def __init__(self, model: str, problem: VecctxError) -> None:
        self._identity = Identity(model, revision="absent", dimensions=1)
        self._problem = problem

    @property
    def identity(self) -> Identity:
        """Of no vector that anybody has."""
        return self._identity

    def embed_texts(self, texts: Sequence[str]) -> "FloatArray":  # noqa: ARG002 - the port's signature
        """Raises what was wrong with the model."""
        raise ModelError(str(self._problem)) from self._problem

    def embed_query(self, text: str) -> "FloatArray":
        """Raises what was wrong with the model."""
        return self.embed_texts([text])
