"""The built-in engine: when a history is too long, its middle becomes one running summary."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import summary
from .context_engine import ContextEngine, Message
from .errors import ProviderError
from .messages import calls_of, copy_rows, estimate_tokens, pair_tool_rows, text_of, units
from .provider import ModelClient, OpenAIClient, figure
from .thresholds import resolve_model_threshold as resolve_model_threshold  # noqa: PLC0414 - some engines look for it here

logger = logging.getLogger(__name__)

SUMMARY_PREFIX = "[Summary of earlier messages, for reference]"
SUMMARY_KEY = "_compressed_summary"
_SUMMARY_END = "[End of the summary]"

_TARGET_SHARE = 0.5  # of the threshold: one large step, so that the next compaction is far away
_SUMMARY_SHARE = 0.2  # of the target
_HEAD_SHARE = 0.2  # of the target: a long opening is summarised like the rest
_TAIL_SHARE = 0.6  # of the target
_OLD_RESULT_CHARACTERS = 400  # what stays of an old tool result
_CURRENT_RESULT_CHARACTERS = (16_000, 8_000, 4_000, 2_000, 1_000, 400, 100)  # tried in turn until the tail fits


class ContextCompressor(ContextEngine):
    """Compresses at a share of the window. Without an endpoint the summary is made of the history's own sentences."""

    def __init__(
        self,
        model: str = "",
        *,
        threshold_percent: float = 0.75,
        protect_first_n: int = 3,
        protect_last_n: int = 6,
        config_context_length: int | None = None,
        base_url: str = "",
        api_key: str = "",
        timeout_seconds: float = 60.0,
        cooldown_seconds: float = 600.0,
        client: ModelClient | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.summary_model = model
        self.threshold_percent = threshold_percent
        self.protect_first_n = protect_first_n
        self.protect_last_n = protect_last_n
        if base_url and client is None:
            client = OpenAIClient(base_url, api_key=api_key, timeout_seconds=timeout_seconds)
        self._client = client
        self._cooldown_seconds = cooldown_seconds
        self._clock = clock
        self._retry_at = float("-inf")
        if config_context_length:
            self.update_model(model, config_context_length)

    @property
    def name(self) -> str:
        """Its name in the config."""
        return "compressor"

    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Remember what the provider counted."""
        self.awaiting_real_usage_after_compression = False
        self.last_prompt_tokens = figure(usage.get("prompt_tokens"))
        self.last_completion_tokens = figure(usage.get("completion_tokens"))
        both = self.last_prompt_tokens + self.last_completion_tokens
        self.last_total_tokens = figure(usage.get("total_tokens")) or both

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether the prompt has reached the threshold."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        return 0 < self.threshold_tokens <= tokens

    def compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        force: bool = False,
    ) -> list[Message]:
        """A valid history of about half the threshold; the same list object if nothing got smaller.

        With `force` a history below that is halved too.
        """
        before_tokens = estimate_tokens(messages)
        target_tokens = self._target_tokens(before_tokens, current_tokens)
        if force:
            target_tokens = min(target_tokens, int(before_tokens * _TARGET_SHARE))
        if before_tokens <= target_tokens:
            return messages
        rows = _prune_old_results(_repaired(copy_rows(messages)), self.protect_last_n)
        if estimate_tokens(rows) > target_tokens:
            rows = self._summarized(rows, target_tokens, focus_topic)
        if estimate_tokens(rows) >= before_tokens or not any(row.get("role") == "user" for row in rows):
            return messages
        self.compression_count += 1
        return rows

    def _target_tokens(self, before_tokens: int, current_tokens: int | None) -> int:
        """The size to aim for, in our rough tokens. Where the provider counted more than we, it is less."""
        if not self.threshold_tokens:
            return int(before_tokens * _TARGET_SHARE)
        scale = max(1.0, (current_tokens or 0) / max(before_tokens, 1))
        return int(self.threshold_tokens * _TARGET_SHARE / scale)

    def _summarized(self, rows: list[Message], target_tokens: int, focus_topic: str | None) -> list[Message]:
        # The newest user row is a message even if it looks like a summary: people paste.
        newest = max((i for i, row in enumerate(rows) if row.get("role") == "user"), default=-1)
        old = {i for i, row in enumerate(rows) if row.get(SUMMARY_KEY) or (is_summary(row) and i != newest)}
        previous = "\n".join(_summary_body(rows[i]) for i in sorted(old))
        rows = [row for i, row in enumerate(rows) if i not in old]
        head, middle, kept_user, tail = _split(rows, target_tokens, self.protect_first_n, self.protect_last_n)
        budget_tokens = int(target_tokens * _SUMMARY_SHARE)
        body = self._summary(previous, middle, focus_topic, budget_tokens) if middle else previous
        summary_rows = [summary_row(body)] if middle or body else []
        fixed_tokens = estimate_tokens([*head, *summary_rows, *kept_user])
        return [*head, *summary_rows, *kept_user, *_shortened(tail, target_tokens - fixed_tokens)]

    def _summary(self, previous: str, middle: Sequence[Message], focus_topic: str | None, budget_tokens: int) -> str:
        """By the endpoint where there is one that works, else from the history's own sentences."""
        if self._client is not None and self._clock() >= self._retry_at:
            transcript = summary.transcript_of(previous, middle)
            try:
                text = summary.ask_model(
                    self._client, self.summary_model, transcript, focus_topic=focus_topic, budget_tokens=budget_tokens
                )
            except ProviderError as error:
                self._retry_at = self._clock() + self._cooldown_seconds
                logger.warning("no summary from the endpoint (%s); it is left alone for a while", error)
            else:
                return text
        return summary.extract(previous, middle, focus_topic=focus_topic, budget_tokens=budget_tokens)


def summary_row(body: str) -> Message:
    """The one summary of a history, as a row."""
    return {"role": "user", "content": f"{SUMMARY_PREFIX}\n{body}\n{_SUMMARY_END}", SUMMARY_KEY: True}


def is_summary(row: Message) -> bool:
    """Whether a row is a summary of ours, by its key, or by its words where the key was lost."""
    text = text_of(row)
    looks_so = row.get("role") == "user" and text.startswith(SUMMARY_PREFIX) and text.endswith(_SUMMARY_END)
    return looks_so or bool(row.get(SUMMARY_KEY))


def _summary_body(row: Message) -> str:
    return text_of(row).removeprefix(SUMMARY_PREFIX).removesuffix(_SUMMARY_END).strip()


def _repaired(rows: list[Message]) -> list[Message]:
    """The rows with whole batches, but for a last one that still waits for its results."""
    last = (units(rows) or [[{}]])[-1]
    answered = {row.get("tool_call_id") for row in last[1:]}
    is_open = any(call["id"] not in answered for call in calls_of(last[0]))
    return pair_tool_rows(rows[: len(rows) - len(last)]) + last if is_open else pair_tool_rows(rows)


def _split(
    rows: list[Message], target_tokens: int, protect_first_n: int, protect_last_n: int
) -> tuple[list[Message], list[Message], list[Message], list[Message]]:
    """Head, middle, the last user row where the tail begins behind it, and tail."""
    pieces = units(rows)
    last_user = max((i for i, unit in enumerate(pieces) if unit[0].get("role") == "user"), default=0)
    tail_at = _tail_start(pieces, last_user, int(target_tokens * _TAIL_SHARE), protect_last_n, target_tokens)
    head_at = _head_end(pieces, min(tail_at, last_user), int(target_tokens * _HEAD_SHARE), protect_first_n)
    if tail_at <= last_user:
        return _rows(pieces[:head_at]), _rows(pieces[head_at:tail_at]), [], _rows(pieces[tail_at:])
    middle = pieces[head_at:last_user] + pieces[last_user + 1 : tail_at]
    return _rows(pieces[:head_at]), _rows(middle), pieces[last_user], _rows(pieces[tail_at:])


def _tail_start(
    pieces: list[list[Message]], last_user: int, tail_tokens: int, protect_last_n: int, target_tokens: int
) -> int:
    """Where the tail begins: as much as its share holds, and the protected rows as far as the target allows.

    The current turn is in the tail, unless its own steps pass the target even with shortened results.
    """
    used_tokens, row_count, start = 0, 0, len(pieces)
    for i in range(len(pieces) - 1, -1, -1):
        tokens = estimate_tokens(_cut(pieces[i], _CURRENT_RESULT_CHARACTERS[-1]) if i >= last_user else pieces[i])
        limit = target_tokens if row_count < protect_last_n or i >= last_user else tail_tokens
        if start < len(pieces) and used_tokens + tokens > limit:
            break
        used_tokens, row_count, start = used_tokens + tokens, row_count + len(pieces[i]), i
    return start


def _head_end(pieces: list[list[Message]], limit: int, head_tokens: int, protect_first_n: int) -> int:
    """Where the head ends: the protected first rows as far as its share holds."""
    used_tokens, row_count, end = 0, 0, 0
    while end < limit and row_count + len(pieces[end]) <= protect_first_n:
        used_tokens += estimate_tokens(pieces[end])
        if used_tokens > head_tokens:
            break
        row_count += len(pieces[end])
        end += 1
    return end


def _prune_old_results(rows: list[Message], protect_last_n: int) -> list[Message]:
    """Old tool results shortened; those of the last rows and of the current turn stay."""
    last_user = max((i for i, row in enumerate(rows) if row.get("role") == "user"), default=len(rows))
    recent = min(last_user, max(len(rows) - protect_last_n, 0))
    return _cut(rows[:recent], _OLD_RESULT_CHARACTERS) + rows[recent:]


def _shortened(tail: list[Message], budget_tokens: int) -> list[Message]:
    """The tail with its tool results cut as little as the budget allows."""
    shortened = tail
    for characters in _CURRENT_RESULT_CHARACTERS:
        if estimate_tokens(shortened) <= budget_tokens:
            break
        shortened = _cut(tail, characters)
    return shortened


def _cut(rows: Sequence[Message], characters: int) -> list[Message]:
    """Rows with tool results of at most about so many characters, and a mark where something is gone."""
    return [_cut_row(row, characters) if row.get("role") == "tool" else row for row in rows]


def _cut_row(row: Message, characters: int) -> Message:
    text = text_of(row)
    mark = f"\n[{len(text) - characters} more characters were cut]"
    if len(text) <= characters + len(mark):
        return row
    return {**row, "content": text[:characters] + mark}


def _rows(pieces: list[list[Message]]) -> list[Message]:
    return [row for unit in pieces for row in unit]
