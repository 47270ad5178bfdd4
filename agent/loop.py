"""The agent: a session, an engine and a model, and what happens in a turn."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

from . import messages
from .compaction import Compactor
from .config import HostConfig, load_config
from .context_engine import ContextEngine, Message
from .errors import ClosedError, CompressionTimeoutError, ProviderError, TurnInterruptedError
from .exchange import Exchange
from .hooks import EngineHooks
from .injection import SENT_KEY, PreLlmCall, injected_text
from .memory import MemoryProvider, MemorySlot
from .plugins import Loaded, built_in_engine, load_engine
from .provider import ModelClient, message_of
from .session import Session, Turn
from .tools import Tool, ToolRegistry

logger = logging.getLogger(__name__)

MAX_ITERATIONS = 30


class Agent:
    """Holds one conversation with a model, with a context engine between them."""

    def __init__(
        self,
        client: ModelClient,
        *,
        model: str = "model",
        context_length: int = 128_000,
        engine: ContextEngine | None = None,
        config: HostConfig | None = None,
        home: Path | None = None,
        session_id: str | None = None,
        system_prompt: str = "You are a helpful assistant.",
        prefill: Sequence[Message] = (),
        history: Sequence[Message] = (),
        tools: Sequence[Tool] = (),
        provider: str = "",
        memory: MemoryProvider | None = None,
        pre_llm_call: Sequence[PreLlmCall] = (),
        platform: str = "cli",
        conversation_id: str | None = None,
        uid_seed: int | None = None,
        clock: Callable[[], float] = time.time,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Without `config` it is read from `home`; without `engine` the one that the config names is loaded."""
        self.config = config or (load_config(home / "config.yaml") if home else HostConfig())
        loaded = Loaded(engine, {}) if engine is not None else load_engine(self.config, home=home)
        self.engine, self.commands = loaded.engine, loaded.commands
        self.last_turn = Turn("")
        self._memory, self._pre_llm_call = MemorySlot(memory), pre_llm_call
        self._interrupted, self._is_closed = threading.Event(), False
        opening = [{"role": "system", "content": system_prompt}] if system_prompt else []
        uids = messages.uid_source(uid_seed)
        self.session = Session(session_id or uuid4().hex, uids, clock, [*opening, *prefill])
        self.session.replace(history)
        self._hooks = EngineHooks(self.engine, provider=provider)
        self._details = {"platform": platform, "conversation_id": conversation_id}
        self._tools = self._start(model, context_length, tools, home)
        compression = self.config.compression
        self._compactor = Compactor(
            self._hooks,
            compression,
            self._tools,
            details=self._details,
            notify=self._notice,
            memory=self._memory,
            fallback=built_in_engine(HostConfig(compression=compression)),
        )
        self._exchange = Exchange(
            client, model, self.session, hooks=self._hooks, tools=self._tools, compactor=self._compactor, wait=wait
        )

    def _start(self, model: str, context_length: int, tools: Sequence[Tool], home: Path | None) -> ToolRegistry:
        """Bring the engine to life, in the contract's order; what comes of it are the tools."""
        thresholds = self.config.compression.model_thresholds
        if thresholds:
            self.engine.model_thresholds = thresholds
        self._hooks.update_model(model, context_length)
        self._hooks.bind(self.session.session_id)
        registry = ToolRegistry(tools, self.engine)
        self._hooks.session_start(
            self.session.session_id,
            hermes_home=str(home) if home else None,
            model=model,
            context_length=context_length,
            **self._details,
        )
        return registry

    @property
    def history(self) -> list[Message]:
        """A copy of the durable rows."""
        return messages.copy_rows(self.session.rows)

    def run_turn(self, text: str) -> str:
        """The model's reply to a user's message; where the turn fails, what the user should know.

        Raises:
            ClosedError: the agent was closed.
        """
        if self._is_closed:
            raise ClosedError("this agent was closed; make a new one")
        self._interrupted.clear()
        turn = self.last_turn = Turn(self.session.next_turn_id())
        incoming = self.session.append(messages.user_row(text), **self._injected(turn, text))
        try:
            self._run(turn, incoming)
        except CompressionTimeoutError as error:
            self._fail(turn, "context_compression_timeout", str(error))
        except TurnInterruptedError as error:
            self._stop(turn, error.partial_reply)
        except ProviderError as error:
            self._fail(turn, "provider_error", str(error))
            if not error.is_retryable:
                return turn.reply  # as the contract has it: nobody is told of a turn that could not begin
        self._hooks.turn_complete(
            self.session.rows,
            turn.usage,
            turn_id=turn.turn_id,
            api_call_count=turn.api_call_count,
            interrupted=turn.is_interrupted,
            failed=turn.is_failed,
            turn_exit_reason=turn.exit_reason,
        )
        if not (turn.is_failed or turn.is_interrupted):
            self._memory.turn_complete(text, turn.reply, self.session.session_id)
        return turn.reply

    def compress(self, focus_topic: str | None = None) -> bool:
        """Compact now, as a user may ask for; False if nothing got smaller.

        Raises:
            CompressionTimeoutError: compress() did not answer in time; the history is as it was.
        """
        if not self._hooks.has_content_to_compress(self.session.rows):
            return False
        tokens = self.session.pressure_tokens()
        return self._compactor.compact(self.session, tokens, focus_topic=focus_topic, is_forced=True)

    def interrupt(self) -> None:
        """End the running turn before its next request; may be called from another thread."""
        self._interrupted.set()

    def set_model(self, model: str, context_length: int | None = None) -> None:
        """Go on with another model; without `context_length` its window is taken to be as large."""
        self._exchange.model = model
        self._hooks.update_model(model, context_length or self._hooks.figure("context_length"))

    def new_session(self, session_id: str | None = None) -> str:
        """Start over: the engine is told that the session ended, and is bound to the new one."""
        self._hooks.session_end(self.session.session_id, self.session.rows)
        return self.reset(session_id)

    def reset(self, session_id: str | None = None) -> str:
        """Forget the conversation. No on_session_start follows: hosts tell engines no more than this."""
        old_session_id = self.session.session_id
        self.session.session_id, self.session.turn_count = session_id or uuid4().hex, 0
        self.session.replace(())
        self._hooks.session_reset()
        if getattr(self.engine, "_session_id", None) != self.session.session_id:
            self._hooks.bind(self.session.session_id)
        self._memory.session_switched(self.session.session_id, old_session_id, is_new_conversation=True)
        return self.session.session_id

    def close(self) -> None:
        """End the session. May be called twice."""
        if not self._is_closed:
            self._is_closed = True
            self._hooks.session_end(self.session.session_id, self.session.rows)

    def _injected(self, turn: Turn, text: str) -> dict[str, str]:
        """What the hooks add to the message, as a key of its durable row."""
        details = {"session_id": self.session.session_id, "turn_id": turn.turn_id, "user_message": text}
        details |= {"model": self._exchange.model, "platform": self._details["platform"] or ""}
        added = injected_text(self._pre_llm_call, self.session.rows, **details)
        return {SENT_KEY: f"{text}\n\n{added}"} if added else {}

    def _run(self, turn: Turn, incoming: Message) -> None:
        """The loop of a turn: select, ask, run tools, until there is a reply."""
        if not self._compactor.before_turn(self.session) and self._is_too_large():
            self._fail(turn, "context_too_large", "The conversation is too large to compress further; start a new one.")
            return
        for _ in range(MAX_ITERATIONS):
            if self._interrupted.is_set():
                self._stop(turn)
                return
            answer = self._exchange.ask(turn, incoming)
            row = self.session.append(message_of(answer))
            if not messages.calls_of(row):
                turn.reply = messages.text_of(row)
                return
            for call in messages.calls_of(row):
                result = self._tools.call(call, self.session.rows)
                name = str((call.get("function") or {}).get("name") or "")
                self.session.append(messages.tool_row(call["id"], result, name))
            self._compactor.after_tools(self.session)
        self._summarize(turn)

    def _summarize(self, turn: Turn) -> None:
        """The rounds are used up: a last answer in place of the one that did not come."""
        try:
            turn.reply = self._exchange.summary(turn)
        except ProviderError as error:
            logger.warning("no summary at the limit of tool rounds: %s", error)
        if turn.reply:
            turn.exit_reason = "max_iterations"
            self.session.append(messages.assistant_row(turn.reply))
        else:
            self._fail(turn, "max_iterations", f"No reply after {MAX_ITERATIONS} rounds of tools.")

    def _is_too_large(self) -> bool:
        rough_tokens = messages.estimate_tokens(self.session.rows)
        return 0 < self._hooks.figure("context_length") < rough_tokens

    def _stop(self, turn: Turn, partial_reply: str = "") -> None:
        """The user ended the turn; what the model had said by then stays, since people refer to it."""
        turn.is_interrupted, turn.exit_reason, turn.reply = True, "interrupted", partial_reply
        if partial_reply:
            self.session.append(messages.assistant_row(partial_reply))

    def _fail(self, turn: Turn, exit_reason: str, notice: str) -> None:
        """Leave a notice in place of the reply: a user row without an answer would confuse the next turn."""
        turn.is_failed, turn.exit_reason, turn.reply = True, exit_reason, notice
        self.session.append(messages.assistant_row(f"[{notice}]"), display_kind="notice")

    def _notice(self, text: str) -> None:
        self.last_turn.notices.append(text)
        logger.info("%s", text)
