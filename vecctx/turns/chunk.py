"""Long text into pieces that the embedding model sees whole."""

import re
from collections.abc import Iterator

CHUNK_PIECES = 200
"""Estimated word pieces of a chunk: the model sees 256, and the estimate may be a quarter too low."""
_WORD = re.compile(r"[A-Za-z]+|\s+|.", re.DOTALL)
_BREAK = re.compile(r"\n\s*\n|\n|[.!?。！？…]+[\s\"')\]]*|[,;:，；：、]\s*|\s+")
_LETTERS_A_PIECE = 5
"""English words of up to five letters are mostly one word piece; longer ones break."""


def chunk(text: str, limit: int = CHUNK_PIECES) -> tuple[tuple[int, int], ...]:
    """Bounds of the chunks of a text, in order and without gaps; none for blank text.

    A cut falls behind a paragraph, a sentence, or a word, whichever comes last in the second half of the chunk.
    """
    if not text.strip():
        return ()
    bounds, start, weight = [], 0, 0
    for position, pieces in _weights(text):
        if weight + pieces > limit and position > start:
            cut = _best_cut(text, start, position)
            bounds.append((start, cut))
            weight = sum(pieces for _, pieces in _weights(text, cut, position))
            start = cut
        weight += pieces
    return (*bounds, (start, len(text)))


def _weights(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """(position, estimated word pieces) of each word, gap or other character."""
    for match in _WORD.finditer(text, start, len(text) if end is None else end):
        found = match[0]
        if found.isspace():
            continue
        for offset in range(0, len(found), _LETTERS_A_PIECE):
            yield match.start() + offset, 1


def _best_cut(text: str, start: int, end: int) -> int:
    before = text[start:end]
    first = start + len(before) - len(before.lstrip())
    middle = max((start + end) // 2, first + 1)  # a gap before the first word would leave a chunk without any
    best: dict[int, int] = {}
    for match in _BREAK.finditer(text, middle, end):
        best[_rank(match[0])] = match.end()
    return best[min(best)] if best else end


def _rank(gap: str) -> int:
    """Which kind of break it is: paragraph, line or sentence, clause, word."""
    if gap.count("\n") > 1:
        return 0
    if "\n" in gap or gap[0] in ".!?。！？…":
        return 1
    return 2 if gap.strip() else 3
