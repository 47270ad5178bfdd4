"""Embeds with the shipped model through onnxruntime: no torch, no download, the same bytes for the same text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from vecctx.adapters.model_files import expected_sha256, model_folder, read_verified
from vecctx.adapters.quiet_onnxruntime import import_onnxruntime
from vecctx.errors import ModelError
from vecctx.values import Identity

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

    from vecctx.values import FloatArray

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
LONGEST_PIECES = 256
"""Word pieces of a text that the model reads, its two marks included."""

_GRAPH = "onnx/model.onnx"
_TOKENIZER = "tokenizer.json"
# The tokenizer brackets every text with two marks; a text that gives nothing else has nothing to embed.
_MARKS = 2
# Far more than 256 word pieces of any prose, so that a huge text is not tokenised whole.
_LONGEST_CHARACTERS = 20_000


class OnnxEmbedder:
    """The shipped model. Making one loads nothing; the first text does, which takes about 0.2 seconds.

    Texts run one by one: the model quantises what it reads in one go by its largest value, so that in a batch the
    neighbours of a text would change its vector. A batch is not faster on one core (387 against 369 texts a second).
    """

    def __init__(self, folder: Path | None = None, *, threads: int = 1) -> None:
        self._given_folder = folder
        self._threads = threads
        self._loaded: _Loaded | None = None
        self._truncated_count = 0
        self._lock = Lock()
        """Guards loading and the count; running the model needs no lock."""

    @property
    def identity(self) -> Identity:
        """What the vectors may be compared with; reads the list of checksums and nothing else."""
        return self._identity

    @property
    def truncated_count(self) -> int:
        """How many texts so far were longer than the model reads."""
        return self._truncated_count

    def embed_texts(self, texts: Sequence[str]) -> "FloatArray":
        """Shape (len(texts), 384), rows of length 1, in the order of the texts; zero for a text without a token."""
        import numpy as np

        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for place, text in enumerate(texts):
            pieces = self._pieces(text)
            if len(pieces) > _MARKS:
                vectors[place] = self._run(pieces)
        return vectors

    def embed_query(self, text: str) -> "FloatArray":
        """Shape (384,). The model treats questions like any text."""
        vector: FloatArray = self.embed_texts([text])[0]
        return vector

    @cached_property
    def _folder(self) -> Path:
        return self._given_folder or model_folder(MODEL)

    @cached_property
    def _identity(self) -> Identity:
        return Identity(MODEL, expected_sha256(self._folder, _GRAPH)[:12], DIMENSIONS)

    def _pieces(self, text: str) -> list[int]:
        # The tokenizer refuses lone surrogates, which hosts do hand over.
        clean = text[:_LONGEST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        encoding = self._load().tokenizer.encode(clean)
        if encoding.overflowing or len(text) > _LONGEST_CHARACTERS:
            with self._lock:
                self._truncated_count += 1
        return encoding.ids

    def _run(self, pieces: list[int]) -> "FloatArray":
        import numpy as np

        ids = np.array([pieces], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._load().session.run(["last_hidden_state"], inputs)
        mean: FloatArray = hidden[0].mean(axis=0)
        length = float(np.linalg.norm(mean))
        if not np.isfinite(length) or length == 0.0:
            raise ModelError(f"{self._folder / _GRAPH} gave a vector that is not finite; install vecctx again")
        return mean / np.float32(length)

    def _load(self) -> "_Loaded":
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._threads)
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: "tokenizers.Tokenizer"
    session: "onnxruntime.InferenceSession"


def _load(folder: Path, threads: int) -> _Loaded:
    graph, tokenizer = (read_verified(folder / name, expected_sha256(folder, name)) for name in (_GRAPH, _TOKENIZER))
    try:
        return _Loaded(_open_tokenizer(tokenizer), _open_session(graph, threads))
    except Exception as problem:  # whatever onnxruntime and tokenizers raise: they name no error of their own
        raise ModelError(f"the model in {folder} cannot be loaded ({problem}); install vecctx again") from problem


def _open_tokenizer(content: bytes) -> "tokenizers.Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST_PIECES)
    return tokenizer


def _open_session(graph: bytes, threads: int) -> "onnxruntime.InferenceSession":
    runtime = import_onnxruntime()
    options = runtime.SessionOptions()
    # One thread by default: a second one on a busy machine makes a single query slower, not faster.
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session: onnxruntime.InferenceSession = runtime.InferenceSession(graph, options, ["CPUExecutionProvider"])
    return session
