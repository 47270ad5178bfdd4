"""All parts of the two paths as fakes, and talk that is stored in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.store import FakeStore
from tests.fakes.vector_index import FakeVectorIndex
from tests.weird import Row
from vecctx import ingest
from vecctx.errors import DeadlinePassedError
from vecctx.ports import Parts
from vecctx.turns.content import text_of_row

Result = TypeVar("Result")


class WordCounter:
    """A TokenCounter that counts words, and four for the framing of a message."""

    def count_text(self, text: str) -> int:
        return len(text.split())

    def count_message(self, row: Any) -> int:
        return 4 + self.count_text(text_of_row(row))


@dataclass
class FakeRunner:
    """A Runner that runs at once, or is late without running; it remembers how long it was to wait."""

    is_late: bool = False
    timeout_ms: float | None = None

    def run(self, function: Callable[[], Result], timeout_ms: float) -> Result:
        self.timeout_ms = timeout_ms
        if self.is_late:
            raise DeadlinePassedError("it took longer")
        return function()


def make_parts(**changes: Any) -> Parts:
    """Parts that keep nothing beyond the process."""
    store, embedder = FakeStore(), FakeEmbedder(2048)  # so many places that hardly two words share one
    defaults: dict[str, Any] = {
        "store": store,
        "index": FakeVectorIndex(store, embedder.identity),
        "embedder": embedder,
        "counter": WordCounter(),
        "clock": FakeClock(),
        "runner": FakeRunner(),
    }
    return Parts(**(defaults | changes))


def remember(rows: Sequence[Row], parts: Parts, session_id: str = "s1") -> int:
    """Store rows as turns of a session, and embed them; gives the conversation."""
    conversation_id = parts.store.open_conversation("", session_id)
    ingest.ingest(rows, conversation_id, store=parts.store, counter=parts.counter, redacts=True)
    while ingest.embed_pending(parts.store, parts.embedder):
        pass
    return conversation_id
