"""What the steps need from outside, as Protocols."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from vecctx.values import (
        FloatArray,
        Hit,
        Identity,
        Known,
        PendingChunk,
        Place,
        Row,
        Selection,
        Spot,
        StoredMessage,
        StoreStats,
        Turn,
        VectorBatch,
    )


Result = TypeVar("Result")


class Clock(Protocol):
    """Tells the time. Steps never ask for it themselves."""

    def now(self) -> float:
        """Unix seconds."""

    def monotonic_ms(self) -> float:
        """Milliseconds since some fixed moment; never goes back."""


class Runner(Protocol):
    """Runs what may take too long beside the caller."""

    def run(self, function: Callable[[], Result], timeout_ms: float) -> Result:
        """What the function returns or raises.

        Raises:
            DeadlinePassedError: it took longer, or an earlier call that did has not come back yet.
        """


class TokenCounter(Protocol):
    """Counts tokens, offline, for any text: special-token text and lone surrogates count as ordinary text."""

    def count_text(self, text: str) -> int:
        """Tokens of a text."""

    def count_message(self, row: "Row") -> int:
        """Tokens of a whole message as it is sent, framing included; memoised by content."""


class Embedder(Protocol):
    """Turns texts into unit vectors. Safe to call from several threads."""

    @property
    def identity(self) -> "Identity":
        """What the vectors may be compared with. Known without loading the model."""

    def embed_texts(self, texts: Sequence[str]) -> "FloatArray":
        """Shape (len(texts), dimensions), float32, rows of length 1; a text without any token gives a zero row.

        Raises:
            ModelError: the model cannot be loaded, or gave a vector that is not finite.
        """

    def embed_query(self, text: str) -> "FloatArray":
        """Shape (dimensions,), for a question; models with prompts treat questions apart."""


class VectorIndex(Protocol):
    """Nearest chunks by inner product, one partition a conversation. Derived: it can be deleted at any time."""

    def search(self, conversation_ids: Sequence[int], query: "FloatArray", limit: int) -> tuple["Hit", ...]:
        """The best chunks of just these conversations: best first, ties by chunk id, scores clipped to [-1, 1].

        It first takes in what the store has committed since the last call, also by other processes.
        """

    def save(self) -> None:
        """Write what is in memory beside the store, so that the next process starts faster."""

    def forget(self, conversation_id: int) -> None:
        """Drop a partition, in memory and on disk; it is rebuilt from the store when it is asked for again."""


class Store(Protocol):
    """The truth: messages, chunks, vectors, full text and selections. Safe to call from several threads and processes.

    Raises StoreError and its kinds; nothing else of the database comes out.
    """

    def open_conversation(self, owner: str, session_id: str, parent_session_id: str | None = None) -> int:
        """The conversation of a session; made if new. A session with a known parent joins the parent's."""

    def conversation_of(self, owner: str, session_id: str) -> int | None:
        """The conversation of a session, if it has one."""

    def holding(self, owner: str, uids: Sequence[str], keys: Sequence[str]) -> dict[int, int]:
        """How many of these rows each of the owner's conversations holds, by uid or by key; only those with any."""

    def conversations_of(self, owner: str | None) -> tuple[int, ...]:
        """All conversations of an owner, or of everybody for None."""

    def known(self, conversation_id: int, newest: int | None = None) -> tuple["Known", ...]:
        """What identifies the stored messages, in order; only the newest ones if a number is given."""

    def add_turns(
        self, conversation_id: int, turns: Sequence["Turn"], *, behind: int | None, redactions: int = 0
    ) -> tuple[int, ...] | None:
        """Commit turns at the end of a conversation, all or none; gives the message ids in order.

        `behind` is the newest message that the caller knows of. If another writer was faster, nothing is written and
        None comes back: look again at what is known.
        """

    def pending(self, identity: "Identity", limit: int) -> tuple["PendingChunk", ...]:
        """Chunks that have no vector of this identity yet, oldest first."""

    def pending_count(self, identity: "Identity") -> int:
        """How many chunks have no vector of this identity yet."""

    def add_vectors(self, identity: "Identity", chunk_ids: Sequence[int], vectors: "FloatArray") -> None:
        """Commit vectors; a chunk that has one, or is gone, is passed over. A zero row: nothing to embed there."""

    def vectors_since(self, conversation_id: int, identity: "Identity", sequence: int) -> "VectorBatch":
        """Vectors of a conversation committed after `sequence` (0: all); zero rows are left out."""

    def vectors_mark(self, conversation_id: int, identity: "Identity", sequence: int) -> str:
        """Names the vectors committed up to `sequence`: equal marks mean the same vectors of the same chunks."""

    def word_scores(
        self, conversation_ids: Sequence[int], words: Sequence[str], limit: int
    ) -> dict[str, dict[int, float]]:
        """For each word the chunks of just these conversations that hold it, with their BM25; the best `limit`."""

    def chunk_count(self, conversation_ids: Sequence[int]) -> int:
        """How many chunks these conversations have."""

    def places(self, chunk_ids: Sequence[int]) -> dict[int, "Place"]:
        """The message and bounds of each chunk, by chunk id; unknown ids are left out."""

    def messages(self, conversation_ids: Sequence[int], message_ids: Sequence[int]) -> tuple["StoredMessage", ...]:
        """Messages by id, in the order of their position; those of other conversations are left out."""

    def at(self, spots: Sequence["Spot"]) -> dict["Spot", "StoredMessage"]:
        """Messages by where they stand; spots that hold none are left out."""

    def around(
        self, conversation_ids: Sequence[int], message_id: int, before: int, after: int
    ) -> tuple["StoredMessage", ...]:
        """A message with its neighbours by position, in order; empty if it is not in these conversations."""

    def record_selection(self, selection: "Selection") -> int:
        """Commit what was sent and why; gives its number."""

    def selection(self, selection_id: int | None = None, owner: str | None = None) -> "Selection | None":
        """One selection, or the newest one."""

    def selection_of_turn(self, conversation_id: int, turn_key: str) -> "Selection | None":
        """What was last sent for a user message, if anything."""

    def stats(self, identity: "Identity") -> "StoreStats":
        """Sizes."""

    def check(self) -> tuple[str, ...]:
        """What is wrong with the database, one plain sentence each; empty if nothing."""

    def close(self) -> None:
        """Release the database. May be called twice."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that the two paths need from outside."""

    store: Store
    index: VectorIndex
    embedder: Embedder
    counter: TokenCounter
    clock: Clock
    runner: Runner
