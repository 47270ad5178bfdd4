"""Embeds with any sentence-transformers model on this machine, for those who want another than the shipped one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from vecctx.adapters.quiet_onnxruntime import import_onnxruntime
from vecctx.adapters.sentence_transformer_files import (
    EXTRA,
    Prompts,
    choose_backend,
    find_folder,
    read_dimensions,
    read_prompts,
    read_revision,
)
from vecctx.errors import ModelError, OptionalDependencyError
from vecctx.values import Identity

if TYPE_CHECKING:
    import sentence_transformers

    from vecctx.values import FloatArray

# An int8 graph quantises a batch by its largest value: alone, a text gets the same vector every time.
_BATCH_TEXTS = {"onnx": 1}
_USUAL_BATCH_TEXTS = 32


class SentenceTransformerEmbedder:
    """A model by the path of its folder, or by the name of one that was downloaded before. Never uses the network.

    Making one loads nothing. The first text imports torch and loads the model, which takes seconds: not on the path
    of a request. The model's prompts are put before questions and texts, unless others are given.
    """

    def __init__(
        self,
        path_or_name: str | Path,
        *,
        backend: str | None = None,
        device: str | None = None,
        query_prompt: str | None = None,
        passage_prompt: str | None = None,
    ) -> None:
        self._path_or_name = str(path_or_name)
        self._given_backend = backend
        self._device = device
        self._given_prompts = (query_prompt, passage_prompt)
        self._loaded: sentence_transformers.SentenceTransformer | None = None
        self._lock = Lock()
        """Guards loading and encoding: a fast tokenizer must not be used by two threads at once."""

    @property
    def identity(self) -> Identity:
        """What the vectors may be compared with; read from the model's files.

        Raises:
            ModelError: the model is not on this machine.
        """
        return self._identity

    def embed_texts(self, texts: Sequence[str]) -> "FloatArray":
        """Shape (len(texts), dimensions), rows of length 1; zero for a text without a visible character."""
        return self._embed(texts, self._prompts.passage)

    def embed_query(self, text: str) -> "FloatArray":
        """Shape (dimensions,), with the model's prompt for questions."""
        vector: FloatArray = self._embed([text], self._prompts.query)[0]
        return vector

    @cached_property
    def _folder(self) -> Path:
        return find_folder(self._path_or_name)

    @cached_property
    def _backend(self) -> str:
        return self._given_backend or choose_backend(self._folder)

    @cached_property
    def _prompts(self) -> Prompts:
        query, passage = self._given_prompts
        own = read_prompts(self._folder)
        return Prompts(own.query if query is None else query, own.passage if passage is None else passage)

    @cached_property
    def _identity(self) -> Identity:
        dimensions = read_dimensions(self._folder) or self._measured_dimensions()
        name = Path(self._path_or_name).name
        return Identity(name, read_revision(self._folder, self._backend), dimensions, prompt=self._prompts.passage)

    def _measured_dimensions(self) -> int:
        return int(self._encode(["text"], "").shape[1])

    def _embed(self, texts: Sequence[str], prompt: str) -> "FloatArray":
        import numpy as np

        vectors = np.zeros((len(texts), self.identity.dimensions), dtype=np.float32)
        places = [place for place, text in enumerate(texts) if _has_visible(text)]
        if places:
            found = self._encode([_clean(texts[place]) for place in places], prompt)
            if found.shape[1] != vectors.shape[1] or not np.isfinite(found).all():
                raise ModelError(f"the model in {self._folder} gave unusable vectors, shape {found.shape}")
            vectors[places] = found
        return vectors

    def _encode(self, texts: list[str], prompt: str) -> "FloatArray":
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._backend, self._device)
            vectors: FloatArray = self._loaded.encode(
                texts,
                prompt=prompt,
                batch_size=_BATCH_TEXTS.get(self._backend, _USUAL_BATCH_TEXTS),
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        return vectors


def _has_visible(text: str) -> bool:
    return any(character.isprintable() and not character.isspace() for character in text)


def _clean(text: str) -> str:
    # Tokenizers refuse lone surrogates, which hosts do hand over.
    return text.encode("utf-8", "replace").decode("utf-8")


def _load(folder: Path, backend: str, device: str | None) -> "sentence_transformers.SentenceTransformer":
    if backend == "onnx":
        import_onnxruntime()  # before anybody else does, with its telemetry on
    try:
        import sentence_transformers
    except ModuleNotFoundError as problem:
        raise OptionalDependencyError("sentence-transformers", EXTRA) from problem
    try:
        with _quiet():
            return sentence_transformers.SentenceTransformer(
                str(folder), backend=backend, device=device, local_files_only=True
            )
    except Exception as problem:  # whatever torch, transformers and the backends raise
        raise ModelError(f"the model in {folder} cannot be loaded with backend {backend!r}: {problem}") from problem


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars while it lasts: they would run across the host's screen."""
    logging = import_module("transformers.utils.logging")
    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()
