"""The bridge to the host: its calls become calls of the two paths. It translates and decides nothing."""

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from vecctx import ingest, tools, wiring
from vecctx.fail_open import FailOpen
from vecctx.pack.ledger import Ledger
from vecctx.pack.limit import limit
from vecctx.selection import Ask, Sent, select
from vecctx.session import Session, number_in
from vecctx.settings import Settings, home_folder, load_settings
from vecctx.summarizer import built_in_summarizer, taken_by
from vecctx.turns import align, identity
from vecctx.values import Budget, Row

if TYPE_CHECKING:
    from agent.context_engine import ContextEngine
else:
    try:  # Hermes, or the reference host of a checkout
        from agent.context_engine import ContextEngine
    except ImportError:
        from vecctx._host.context_engine import ContextEngine


class VecctxEngine(ContextEngine):
    """Stores every completed turn and chooses for each request what it needs, inside a token budget.

    Any failure leaves the request as it was and is logged once. Engines of one home share store, index and model;
    each has its own session.
    """

    threshold_percent = 0.85
    """Our selections stay below the budget; only a single turn that outgrows the window comes near this."""
    protect_last_n = 6
    last_real_prompt_tokens = 0
    summary_target_ratio = 0.2
    """Read by hosts that compact idle sessions; the contract's own class lacks it."""

    def __init__(self, context_length: int = 0) -> None:
        self.context_length = context_length
        self.threshold_tokens = int(context_length * self.threshold_percent)
        self.model = ""
        self.problem: str | None = None
        """Why the engine stands aside; None while it serves."""
        self._home: Path | None = None
        self._settings = Settings()
        self._opened: wiring.Opened | None = None
        self._session = Session()
        self._session_db: Any = None
        self._session_id = ""
        """What the host compares with its own; empty until it says."""
        self._guard = FailOpen()
        self._give_back: Callable[[], object] = lambda: None
        self._model_details: dict[str, Any] = {}
        self._compressor: ContextEngine | None = None

    @property
    def name(self) -> str:
        """What `context.engine` names this engine by."""
        return "vecctx"

    # The session.

    def on_session_start(self, session_id: str, **details: Any) -> None:  # noqa: ANN401 - the host's details grow
        """Read the settings, open the store, and serve this session; a compaction's new session joins the old one."""
        home = details.get("hermes_home")
        self._home = Path(home) if home else self._home
        parent = details.get("old_session_id") if details.get("boundary_reason") in _GOES_ON else None
        is_same = session_id == self._session.session_id or (parent and parent == self._session.session_id)
        before = self._session if is_same else Session()
        is_fork = details.get("platform") == "subagent"
        self._bind(replace(before, session_id=session_id, parent_id=parent, conversation_id=None, is_fork=is_fork))
        self._session.owner = str(details.get("user_id") or before.owner)
        self._session.has_history = False
        with self._guard("start", self._stand_aside):
            self._settings = load_settings(self._home or home_folder())
            self._open().worker.wake()
            self.problem = None

    def bind_session_state(self, session_db: object = None, session_id: str = "") -> None:
        """The host changed the session without a start; no database and no id is the mark of a review fork."""
        self._session_db = session_db
        if session_db is None and not session_id:
            self._bind(replace(self._session, is_fork=True))
        elif session_id and session_id != self._session.session_id:
            self._bind(Session(session_id=session_id, owner=self._session.owner))

    def on_session_reset(self) -> None:
        """The next messages belong to a new conversation."""
        super().on_session_reset()
        self._bind(Session(owner=self._session.owner))  # hosts name the new session afterwards, or never

    def on_session_end(self, session_id: str, messages: list[dict[str, Any]]) -> None:
        """Store what was missed. Every compaction ends a session, so nothing is closed here."""
        session = self._session
        if session_id and session_id != session.session_id:  # a host may serve a session that it never told us of
            owner = session.owner if session_id == session.parent_id else ""  # another session may be another user's
            session = Session(session_id=session_id, owner=owner, is_fork=session.is_fork)
        self._store(messages, session, is_live=False)
        if self._opened is not None:
            with self._guard("session end"):
                self._opened.parts.index.save()

    # The two paths.

    def on_turn_complete(
        self,
        messages: list[dict[str, Any]],
        usage: Mapping[str, Any] | None = None,  # noqa: ARG002 - told to update_from_response already
        **meta: Any,  # noqa: ANN401, ARG002 - a failed or interrupted turn was said all the same
    ) -> None:
        """Store the turn; committed when this returns, embedded soon after."""
        self._session.open_tokens = 0
        self._store(messages, self._session, is_live=True)

    def select_context(
        self,
        request_messages: list[dict[str, Any]],
        *,
        conversation_messages: list[dict[str, Any]] | None = None,
        incoming_message: dict[str, Any] | None = None,
        budget_tokens: int = 0,
    ) -> list[dict[str, Any]] | None:
        """The messages to send, inside the budget; None (the request as it is) where nothing can be chosen."""
        sent: Sent | None = None
        with self._guard("select"):
            if self.problem is None:
                sent = self._select(request_messages, conversation_messages, incoming_message, budget_tokens)
        self._session.selection = sent.selection if sent else None
        self._session.open_tokens = sent.selection.used_tokens if sent else 0
        if sent is None:
            return None
        self._session.entry = sent.entry
        return sent.messages

    def _select(
        self, request: list[dict[str, Any]], conversation: list[dict[str, Any]] | None, incoming: Row | None, asked: int
    ) -> Sent | None:
        split = align.split(request, conversation, incoming)
        if split is None:
            return None
        parts = self._open().parts
        parts = wiring.with_counter(parts, wiring.counter_for(self.model, self._settings))
        past = align.past_rows(request, conversation, split)
        conversation_id = self._locate(past, self._session)
        if conversation_id is None:
            return None
        self._ingest(past, conversation_id, self._session, is_live=False)
        ask = Ask(
            request=request,
            conversation=conversation,
            incoming=incoming,
            conversation_id=conversation_id,
            scope=self._session.scope(self._settings.scope, parts.store),
            budget=self.budget(asked),
            deadline_ms=self._settings.deadline_ms,
            previous=self._session.entry,
            redacts=self._settings.redact,
        )
        return select(ask, parts)

    def budget(self, asked_tokens: int = 0) -> Budget:
        """What a request may take now."""
        return limit(
            self._settings.budget_tokens,
            window=self.context_length,
            asked=asked_tokens,
            ceiling=self.threshold_tokens,
            overhead=self._session.overhead_tokens,
        )

    # Usage and compression.

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Learn from what the provider counted; may be empty."""
        self.awaiting_real_usage_after_compression = False
        with self._guard("usage"):
            self._learn(usage)

    def _learn(self, usage: Mapping[str, Any]) -> None:
        prompt, completion = number_in(usage, "prompt_tokens"), number_in(usage, "completion_tokens")
        if not prompt:
            return
        self.last_prompt_tokens = self.last_real_prompt_tokens = prompt
        self.last_completion_tokens = completion
        self.last_total_tokens = number_in(usage, "total_tokens") or prompt + completion
        self._session.learn(prompt, self.context_length)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether the open turn's last request was too large for the window: a single turn has outgrown it.

        The host's number is the size of the history, which selection leaves out; it counts only where nothing is
        selected: in hosts that never ask, and for a host's own forks and subagents.
        """
        if not self.threshold_tokens:
            return False
        if not _HOST_SELECTS or self._session.is_fork:
            return isinstance(prompt_tokens, int) and prompt_tokens >= self.threshold_tokens
        size = self._session.open_tokens
        return bool(size) and size + self._session.overhead_tokens >= self.threshold_tokens

    def compress(
        self,
        messages: list[dict[str, Any]],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,  # noqa: FBT001, FBT002 - the contract's signature
        memory_context: str = "",
    ) -> list[dict[str, Any]]:
        """A shorter history by the host's built-in summarizer, or the same list; nothing durable is written."""
        shorter = messages
        with self._guard("compress"):
            summarize = self._summarizer().compress
            wanted = {"current_tokens": current_tokens, "focus_topic": focus_topic, "force": force}
            wanted |= {"memory_context": memory_context} if memory_context else {}
            shorter = summarize(messages, **taken_by(summarize, wanted)) or messages
        if shorter is not messages:
            self.compression_count += 1
            self._session.entry, self._session.open_tokens = Ledger(), 0
        return shorter

    def update_model(  # noqa: PLR0917 - the contract's order
        self,
        model: str,
        context_length: int,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
        api_mode: str = "",
        **_: Any,  # noqa: ANN401 - an argument that a newer host adds must not cost the agent
    ) -> None:
        """The model and its window are known or have changed."""
        self.model = str(model or "")
        details = {"base_url": base_url, "api_key": api_key, "provider": provider, "api_mode": api_mode}
        self._model_details = details
        self._compressor = None
        with self._guard("model"):  # an exception here would cost the host its agent
            super().update_model(self.model, int(context_length or 0), **taken_by(super().update_model, details))

    # Tools, status, life.

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tools that the model can call."""
        found: list[dict[str, Any]] = []
        with self._guard("tools"):  # the same
            found = tools.schemas()
        return found

    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:  # noqa: ANN401, ARG002
        """The result of a tool, as JSON; an error is an answer too."""
        if self.problem is not None:
            return tools.error(self.problem)
        answer = tools.error("the store cannot be read now")  # what stays where the guard caught something
        with self._guard(f"tool {name}"):
            parts = self._open().parts
            answer = tools.call(name, args, self._session.scope(self._settings.scope, parts.store), parts)
        return answer

    def get_status(self) -> dict[str, Any]:
        """Figures for people and logs."""
        selection = self._session.selection
        budget = self.budget()
        return {
            **super().get_status(),
            "problem": self.problem,
            "is_behind": self._session.is_behind,
            "budget_tokens": budget.total_tokens,
            "budget_limited_by": budget.limited_by,
            "overhead_tokens": budget.overhead_tokens,
            "last_selection_tokens": selection.used_tokens if selection else None,
            "last_selection_id": selection.selection_id if selection else None,
            "last_notes": list(selection.notes) if selection else [],
        }

    def describe_last_selection(self) -> dict[str, Any]:
        """What of the last request was kept, recalled and dropped, for a host that shows it; empty before the first."""
        selection = self._session.selection
        if selection is None:
            return {}
        lists = {"kept": selection.kept, "recalled": selection.recalled, "dropped": selection.dropped}
        return {
            name: [
                {"text": m.excerpt, "role": m.role, "tokens": m.tokens, "score": m.score, "reason": m.reason}
                for m in marks
            ]
            for name, marks in lists.items()
        }

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until all that was handed over is durable and searchable, for other processes too.

        False where it is not: time ran out, the model failed, the last turn could not be stored.
        """
        is_done = False
        with self._guard("flush"):
            is_done = self._opened is None or self._opened.flush(timeout_seconds)
        return is_done and not self._session.is_behind and self.problem is None

    def close(self) -> None:
        """Give back the shared parts; the last engine of a store closes it. May be called twice."""
        self._opened = None
        with self._guard("close"):
            self._give_back()

    def clone_for_agent(self) -> Self:
        """An engine for another agent: the same settings and model, its own session, the same store."""
        clone = type(self)(self.context_length)
        own = vars(self)
        vars(clone).update({key: own[key] for key in _POLICY if key in own})
        return clone

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.clone_for_agent()

    def _stand_aside(self, problem: str) -> None:
        self.problem = problem

    def _summarizer(self) -> ContextEngine:
        """The host's own, with the session's model and credentials; made anew when the model changes."""
        if self._compressor is None:
            wanted = {
                **self._model_details,
                "model": self.model,
                "config_context_length": self.context_length,
                "protect_first_n": self.protect_first_n,
                "protect_last_n": self.protect_last_n,
                "quiet_mode": True,
            }
            self._compressor = built_in_summarizer(ContextEngine.__module__, wanted)
        return self._compressor

    def _bind(self, session: Session) -> None:
        self._session = session
        self._session_id = session.session_id

    def _open(self) -> wiring.Opened:
        self._home = self._home or home_folder()
        if self._opened is None or not self._opened.serves(self._settings, self._home):
            self._give_back()
            self._opened = wiring.open_parts(self._settings, self._home)
            # Hosts drop engines without a word: what is garbage gives its use back too.
            self._give_back = weakref.finalize(self, self._opened.close)
        return self._opened

    def _store(self, rows: Sequence[Row], session: Session, *, is_live: bool) -> None:
        """Hand a transcript of completed turns to the write path."""
        if session.is_fork or self.problem is not None or not rows:
            return
        session.is_behind = True
        with self._guard("store"):
            conversation_id = self._locate(rows, session)
            if conversation_id is not None:
                self._ingest(rows, conversation_id, session, is_live=is_live)

    def _ingest(self, rows: Sequence[Row], conversation_id: int, session: Session, *, is_live: bool) -> None:
        """Store what is new in these rows; where it is known already which conversation is theirs."""
        if session.is_fork or not rows:
            return
        session.is_behind = True
        with self._guard("store"):
            opened = self._open()
            parts = opened.parts
            stored = ingest.ingest(
                rows,
                conversation_id,
                store=parts.store,
                counter=parts.counter,
                redacts=self._settings.redact,
                said_at=parts.clock.now() if is_live else None,
            )
            session.has_history = session.has_history or not all(map(identity.is_synthetic, rows))
            session.is_behind = False
            if stored.message_ids:
                opened.worker.wake()

    def _locate(self, rows: Sequence[Row], session: Session) -> int | None:
        with self._guard("owner"):
            session.ask_owner(self._session_db)
        return session.locate(rows, self._open().parts.store)


_GOES_ON = (None, "", "compression")
"""Reasons of a start behind which the old session's conversation goes on; any other begins a new one."""
_POLICY = (
    "threshold_percent",
    "_config_threshold_percent",
    "_base_threshold_percent",
    "threshold_tokens",
    "model_thresholds",
    "protect_first_n",
    "protect_last_n",
    "model",
    "problem",
    "_home",
    "_settings",
    "_model_details",
)
"""What a clone takes over; never a session, a count of tokens, or an open store."""


_HOST_SELECTS = hasattr(ContextEngine, "select_context")
"""Older hosts never ask for a selection; there the engine behaves like the built-in compressor."""
