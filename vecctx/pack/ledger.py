"""What was sent, as values: enough to tell how much of a request the provider's cache has seen."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile

from vecctx.ports import TokenCounter
from vecctx.values import Row


@dataclass(frozen=True, slots=True)
class Ledger:
    """One request as it was sent: a digest and the tokens of each message."""

    digests: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()


def write(rows: Sequence[Row], counter: TokenCounter) -> Ledger:
    """The ledger entry of a message list."""
    return Ledger(tuple(map(digest, rows)), tuple(map(counter.count_message, rows)))


def reused_tokens(before: Ledger, now: Ledger) -> int:
    """Tokens of the longest common prefix of two requests, in whole messages."""
    pairs = zip(before.digests, now.digests, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return sum(now.tokens[:shared])


def digest(*rows: Row) -> str:
    """A short name for the exact content of some rows; keys that never leave the host (`_...`) do not count."""
    seen = [{key: value for key, value in row.items() if not str(key).startswith("_")} for row in rows]
    text = json.dumps(seen, ensure_ascii=True, sort_keys=True, default=repr)
    return blake2b(text.encode(), digest_size=16).hexdigest()
