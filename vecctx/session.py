"""One conversation that an engine serves: whose it is, what belongs to it, and where it may look."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from vecctx import ingest
from vecctx.pack.ledger import Ledger
from vecctx.ports import Store
from vecctx.settings import Scope
from vecctx.values import Row, Selection

_MAX_OVERHEAD_SHARE = 0.5
"""What usage teaches may take at most this share of the window: one odd report must not starve every request."""


@dataclass(slots=True)
class Session:
    """What an engine knows of the session that it serves; replaced as a whole when the session changes."""

    session_id: str = field(default_factory=lambda: f"unnamed-{uuid4().hex}")
    """A session that nobody named gets a name that nothing has: two of them share nothing."""
    owner: str = ""
    """Who talks; empty where the host does not say."""
    is_owner_known: bool = False
    """The host's record was found, whether or not it names somebody."""
    parent_id: str | None = None
    is_fork: bool = False
    """A review by the host itself, or a subagent: it may look, and leaves nothing behind."""
    conversation_id: int | None = None
    is_stranger: bool = False
    """The last rows were another session's, that the host did not name: whose they are is not known."""
    has_history: bool = False
    """Completed turns were seen: an empty transcript now is somebody else's."""
    entry: Ledger = field(default_factory=Ledger)
    selection: Selection | None = None
    """What went out for the last request; None where the host sent it as it was."""
    open_tokens: int = 0
    """Size of that request while its turn goes on; 0 when the turn is over, or compacted."""
    overhead_tokens: int = 0
    """What the provider counts and we do not see."""
    is_behind: bool = False
    """The last hand-over could not be stored; the next one brings it again."""

    def learn(self, prompt_tokens: int, window_tokens: int) -> None:
        """Take in what the provider counted for the last request."""
        if self.selection is not None:
            unseen = prompt_tokens - self.selection.used_tokens
            most = int(_MAX_OVERHEAD_SHARE * window_tokens)
            self.overhead_tokens = min(max(self.overhead_tokens, unseen, 0), most)

    def ask_owner(self, records: Any) -> None:  # noqa: ANN401 - each host has its own database
        """Whose session it is, from the host's own records: its hooks do not say."""
        if self.owner or self.is_owner_known or records is None:
            return
        record = records.get_session(self.session_id)
        self.is_owner_known = bool(record)
        if record and record.get("user_id"):
            self.owner = f"{record.get('source') or ''}:{record['user_id']}"

    def locate(self, rows: Sequence[Row], store: Store) -> int | None:
        """The conversation of these rows, opened if it is new; for a fork its parent's, if that was stored."""
        if self.is_fork:
            self.conversation_id = ingest.holder(rows, None, owner=self.owner, store=store)
            return self.conversation_id
        expected = store.conversation_of(self.owner, self.session_id)
        found = ingest.locate(rows, expected, owner=self.owner, store=store, is_fresh=not self.has_history)
        self.is_stranger = found is None and expected is not None
        if self.is_stranger:
            found = store.open_conversation("", ingest.name_of_stranger(self.session_id, rows))
        elif found is None:
            found = store.open_conversation(self.owner, self.session_id, self.parent_id)
        self.conversation_id = found
        return found

    def scope(self, wanted: Scope, store: Store) -> tuple[int, ...]:
        """The conversations that recall may look into; none before the first rows were located."""
        if self.conversation_id is None:
            return ()
        is_nobody = wanted == "user" and (self.is_stranger or not self.owner)
        if wanted == "conversation" or is_nobody:  # where nobody is named, everybody would be one
            return (self.conversation_id,)
        return store.conversations_of(self.owner if wanted == "user" else None)


def number_in(usage: Mapping[str, Any], key: str) -> int:
    """A count in a usage report; 0 for whatever is none."""
    value = usage.get(key)
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0
