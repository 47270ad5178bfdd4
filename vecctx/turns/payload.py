"""The whole of a message as JSON, for export and for those who ask for it word for word."""

import json

from vecctx.turns.content import without_base64, without_media
from vecctx.values import Row

_HOST_KEYS = frozenset({"message_uid", "timestamp", "finish_reason", "api_content", "display_kind", "display_metadata"})


def payload_of(row: Row) -> str:
    """JSON of a message without the host's own keys, media replaced by a mark; empty where role and text say it all."""
    kept = {str(key): value for key, value in row.items() if not str(key).startswith("_") and key not in _HOST_KEYS}
    if kept.keys() == {"role", "content"} and isinstance(kept["content"], str):
        return "" if without_base64(kept["content"]) == kept["content"] else _json(kept)
    return _json(kept)


def _json(value: object) -> str:
    return json.dumps(without_media(value), ensure_ascii=False, default=str)
