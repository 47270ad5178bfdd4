"""The frozen values that the steps exchange."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float32]
    IdArray: TypeAlias = NDArray[np.int64]

Row: TypeAlias = Mapping[str, Any]
"""A message as a host hands it over, in the OpenAI format, with whatever else the host put there."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a message that is searched as one: characters `start` to `end` of its text."""

    start: int
    end: int
    words: tuple[str, ...]
    """Terms for the full-text index; none holds white space."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message on its way into the store. Secrets are already replaced, media by a mark."""

    role: str
    text: str
    """What is searched, shown and recalled."""
    payload: str
    """The whole message as JSON."""
    key: str
    """The identity of its content: equal for equal content, whatever the host adds from call to call."""
    uid: str | None = None
    """The host's durable name for the row, where it has one. An edited row keeps its uid and gets a new key."""
    said_at: float | None = None
    """Unix seconds; None where nobody knows."""
    tokens: int = 0
    """Tokens of `text`."""
    chunks: tuple[Chunk, ...] = ()
    """Empty for what is kept but not searched: host notices, summaries, empty text."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A user message and everything up to the next one; the unit that never breaks.

    A turn whose first message is not from the user continues the last stored turn of its conversation.
    """

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What identifies a stored message: enough to line up a transcript with the store."""

    message_id: int
    key: str
    uid: str | None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message read back from the store."""

    message_id: int
    conversation_id: int
    turn_id: int
    position: int
    """Its running number in the conversation, from 0."""
    role: str
    text: str
    tokens: int
    said_at: float | None
    uid: str | None
    key: str


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk that has no vector of the wanted identity yet, with the text around it."""

    chunk_id: int
    conversation_id: int
    role: str
    text: str
    before: str
    """Text of the message before it in the conversation; empty for the first."""
    after: str
    """Text of the message after it in the same turn; empty for the last."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes two vectors comparable. Vectors of different identity never meet."""

    model: str
    revision: str
    dimensions: int
    is_normalized: bool = True
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Vectors of one conversation in the order in which they were committed."""

    sequence: int
    """Ask again with this number to get what was committed later."""
    generation: int
    """Changes when something was removed: what was read under another generation is void."""
    chunk_ids: "IdArray"
    vectors: "FloatArray"
    """Shape (n, dimensions), rows aligned with `chunk_ids`."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that one retrieval arm found. Higher scores are better."""

    chunk_id: int
    score: float


Spot: TypeAlias = tuple[int, int]
"""Where a message stands: its conversation and its position in it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands: characters `start` to `end` of its message's text."""

    message: StoredMessage
    start: int
    end: int

    @property
    def spot(self) -> Spot:
        """Where its message stands."""
        return self.message.conversation_id, self.message.position


@dataclass(frozen=True, slots=True)
class Scored:
    """Where a message stands and what speaks for it, before its text is read."""

    spot: Spot
    score: float
    dense: float | None
    lexical: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message that may be recalled, with the scores that speak for it."""

    message: StoredMessage
    score: float
    best: tuple[int, int]
    """Bounds of its best chunk in its text."""
    dense: float | None = None
    """Cosine of its best chunk; None where the dense arm did not find it."""
    lexical: float | None = None
    """BM25 of its best chunk; None where the lexical arm did not find it."""
    reason: str = ""
    """Why it scores, for people: "meaning", "words", "both", "beside 12"."""
    is_part: bool = False
    """Only its `best` part is wanted, not the whole."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A candidate as it is quoted: characters `start` to `end` of its message's text."""

    candidate: Candidate
    start: int
    end: int
    tokens: int
    """What it takes in the request, header included."""

    @property
    def message(self) -> StoredMessage:
        """The quoted message."""
        return self.candidate.message


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn of the host's request that lies before the current one: rows `start` to `end` of the history."""

    start: int
    end: int
    is_sound: bool
    """Whether every provider takes it as it is, beside the newer sound turns and the current one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens one request may take, and how they were arrived at."""

    total_tokens: int
    limited_by: str
    """One of: budget_tokens, window, threshold, host."""
    overhead_tokens: int = 0
    """What the provider counts and we do not see (tool schemas), learned from its usage reports."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a turn's next request needs to send the same bytes again."""

    turn_key: str
    """Names the user message that the request was sent for."""
    spans: tuple[tuple[int, int], ...]
    """Kept rows as (first, behind the last), counted back from the start of the current turn: (5, 3) is two rows."""
    digest: str
    """Of the kept rows as they were sent."""
    block: str | None
    """The recalled block as it was sent."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of a selection's record: a message, what became of it, and why."""

    message_id: int | None
    """None for rows of the request that the store does not know yet."""
    role: str
    excerpt: str
    tokens: int
    reason: str
    score: float | None = None
    dense: float | None = None
    lexical: float | None = None
    said_at: float | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen for one request, and why. This is what `vecctx why` reads."""

    conversation_id: int
    turn_key: str
    query: str
    budget: Budget
    used_tokens: int
    system_tokens: int
    """The host's system message and prefill."""
    current_tokens: int
    """The turn that is being answered."""
    kept: tuple[Mark, ...] = ()
    """Rows of earlier turns that went along as they are."""
    recalled: tuple[Mark, ...] = ()
    """Messages quoted in the recalled block, in the order of the block."""
    dropped: tuple[Mark, ...] = ()
    """The best candidates that did not go along, best first, each with what it lost to."""
    left_out_rows: int = 0
    """Rows of the host's request that did not go along."""
    reused_tokens: int = 0
    """The longest prefix, in whole messages, that the request before had too: what a provider's cache can serve."""
    notes: tuple[str, ...] = ()
    """What was out of the ordinary: "held", "cut", "deadline", "lexical only", "over the budget"."""
    elapsed_ms: float = 0.0
    held: Held | None = None
    selection_id: int | None = None
    created_at: float | None = None


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Sizes of a store."""

    conversations: int
    sessions: int
    turns: int
    messages: int
    chunks: int
    vectors: int
    pending: int
    """Chunks without a vector of the current identity."""
    selections: int
    redactions: int
    """Secrets that were replaced before they were written."""
    bytes_on_disk: int
    oldest_said_at: float | None = None
    newest_said_at: float | None = None
    roles: Mapping[str, int] = field(default_factory=dict)
    """Messages by role."""
