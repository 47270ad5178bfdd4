"""Token counts by the shipped ranks: no download, no cache folder, no change of the environment."""

import gzip
import json
import zlib
from binascii import a2b_base64
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from vecctx.adapters.model_files import check_sha256, model_folder
from vecctx.errors import ModelError

if TYPE_CHECKING:
    import tiktoken

# One long run of white space makes the tokenizer panic near a million characters; in pieces it stays linear.
_PIECE_CHARACTERS = 50_000
# A cut can hide a merge across it. Four tokens a cut keep us from counting less than one who cuts elsewhere.
_CUT_TOKENS = 4

_encodings: dict[Path, "tiktoken.Encoding"] = {}
_loading = Lock()
"""Held while ranks are read, so that engines that start together read them once."""


def load_encoding(name: str) -> "tiktoken.Encoding":
    """The tokenizer of that name, made once for the whole process.

    Raises:
        ModelError: the rank files are missing or damaged.
    """
    folder = model_folder("tiktoken")
    with _loading:
        if folder / name not in _encodings:
            _encodings[folder / name] = _read_encoding(folder, name)
        return _encodings[folder / name]


def count_tokens(encoding: "tiktoken.Encoding", text: str) -> int:
    """Tokens of a text of any length; the text of special tokens is ordinary text, a lone surrogate a "?"."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= _PIECE_CHARACTERS:
        return len(encoding.encode_ordinary(text))
    starts = range(0, len(text), _PIECE_CHARACTERS)
    pieces = (text[start : start + _PIECE_CHARACTERS] for start in starts)
    return sum(len(encoding.encode_ordinary(piece)) for piece in pieces) + _CUT_TOKENS * (len(starts) - 1)


def _read_encoding(folder: Path, name: str) -> "tiktoken.Encoding":
    import tiktoken

    try:
        facts = json.loads((folder / "encodings.json").read_bytes())[name]
        packed = (folder / facts["file"]).read_bytes()
        ranks = gzip.decompress(packed)
    except (OSError, ValueError, KeyError, EOFError, zlib.error) as problem:
        raise ModelError(f"the tokenizer ranks in {folder} cannot be read ({problem})") from problem
    check_sha256(folder / facts["file"], ranks, facts["sha256"])
    return tiktoken.Encoding(name, pat_str=facts["pattern"], mergeable_ranks=_parse(ranks), special_tokens={})


def _parse(ranks: bytes) -> dict[bytes, int]:
    fields = ranks.split()
    return dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
