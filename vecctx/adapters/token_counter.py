"""Counts tokens offline, with the shipped ranks of the OpenAI encodings."""

import logging
import re
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from vecctx.adapters.message_parts import as_json, read_parts
from vecctx.adapters.token_estimate import estimate_tokens
from vecctx.adapters.token_ranks import count_tokens, load_encoding
from vecctx.errors import ModelError

if TYPE_CHECKING:
    import tiktoken

    from vecctx.values import Row

EncodingName: TypeAlias = Literal["cl100k_base", "o200k_base", "largest"]

_logger = logging.getLogger(__name__)

_FRAMING_TOKENS = 4
_CALL_TOKENS = 2
_ID_TOKENS = 1
# The least that a picture costs anywhere: a part of an unknown type may be one.
_UNKNOWN_PART_TOKENS = 85
# Two generations of this many counts, about 180 bytes each: a history of 100,000 texts is never counted twice.
_MEMO_TEXTS = 100_000

_O200K_MODELS = re.compile(r"(gpt-(4o|4\.1|4\.5|5|oss)|chatgpt-4o|o1|o3|o4)($|[-.:@])")
_CL100K_MODELS = re.compile(r"gpt-(4|3\.5|35)($|[-:@])")


def encoding_for(model: str) -> EncodingName:
    """The encoding of a model by its name, with or without a provider before it; "largest" for unknown ones."""
    name = model.lower().rpartition("/")[2].removeprefix("ft:")
    if _O200K_MODELS.match(name):
        return "o200k_base"
    return "cl100k_base" if _CL100K_MODELS.match(name) else "largest"


class TiktokenCounter:
    """Counts in one encoding, or the larger of both. Where the ranks are damaged it estimates, and says so once.

    Memoised by content: a text is known again by its hash and length, so that no text is kept alive.
    """

    def __init__(self, encoding: EncodingName = "largest", image_tokens: int = 1600) -> None:
        self._names = ("cl100k_base", "o200k_base") if encoding == "largest" else (encoding,)
        self._image_tokens = image_tokens
        self._encodings: tuple[tiktoken.Encoding, ...] | None = None
        self._memo: dict[tuple[int, int], int] = {}
        self._older_memo: dict[tuple[int, int], int] = {}
        self._turning = Lock()
        """Held while the encodings are loaded and while a count enters the memo."""

    def count_text(self, text: str) -> int:
        """Tokens of a text."""
        count = self._memo.get((hash(text), len(text)))
        return self._count_new(text) if count is None else count

    def count_message(self, row: "Row") -> int:
        """Tokens of a whole message as it is sent: framing, content, reasoning, calls, ids and media."""
        content = row.get("content")
        tokens = _FRAMING_TOKENS
        tokens += self.count_text(content) if isinstance(content, str) else self._count_content(content)
        if calls := row.get("tool_calls"):
            tokens += self._count_calls(calls)
        if row.get("tool_call_id"):
            tokens += _ID_TOKENS
        for key in ("reasoning_content", "name"):
            if isinstance(value := row.get(key), str):
                tokens += self.count_text(value)
        return tokens

    def _count_content(self, content: object) -> int:
        if content is None:
            return 0
        parts = read_parts(content)
        tokens = self.count_text("\n".join(parts.texts)) + parts.media * self._image_tokens
        tokens += sum(_CALL_TOKENS + self.count_text(text) for text in parts.extra)
        return tokens + sum(max(_UNKNOWN_PART_TOKENS, self.count_text(text)) for text in parts.unknown)

    def _count_calls(self, calls: object) -> int:
        if not isinstance(calls, Iterable):
            return _CALL_TOKENS + self.count_text(as_json(calls))
        return sum(_CALL_TOKENS + self._count_call(call) for call in calls)

    def _count_call(self, call: object) -> int:
        function: Any = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            return self.count_text(as_json(call))
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else as_json(arguments)
        return self.count_text(str(function.get("name", ""))) + self.count_text(text)

    def _count_new(self, text: str) -> int:
        key = (hash(text), len(text))
        count = self._older_memo.get(key)
        if count is None:
            encodings = self._load()
            count = max((count_tokens(encoding, text) for encoding in encodings), default=-1)
            count = estimate_tokens(text) if count < 0 else count
        with self._turning:
            if len(self._memo) >= _MEMO_TEXTS:
                self._older_memo, self._memo = self._memo, {}
            self._memo[key] = count
        return count

    def _load(self) -> "tuple[tiktoken.Encoding, ...]":
        with self._turning:
            if self._encodings is None:
                try:
                    self._encodings = tuple(load_encoding(name) for name in self._names)
                except (ModelError, ImportError) as problem:
                    _warn_once(str(problem))
                    self._encodings = ()
            return self._encodings


_warned: set[str] = set()


def _warn_once(problem: str) -> None:
    if problem not in _warned:
        _warned.add(problem)
        _logger.warning("token counts are estimates: %s", problem)
