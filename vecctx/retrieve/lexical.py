"""Candidates by words: terms for the full-text index, and the question in the same terms."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from vecctx.ports import Store
from vecctx.retrieve.words import SMALL_TALK, STOP_WORDS
from vecctx.values import Hit

QUERY_TERMS = 48
"""A pasted log has hundreds of terms; its first ones and its last ones say what is asked."""
HITS_A_TERM = 4000
"""Chunks scored for one term; more only for terms that say nothing."""
COMMON_SHARE = 0.5
COMMON_FROM = 10
"""A term in more than ten chunks and half of all says nothing here (the name of who talks). LoCoMo +2."""
DENSE_SCRIPT_WEIGHT = 0.8
"""Weight of words where the question is mostly Chinese, Japanese or Korean: the vectors are an English model's."""
WEIGHT = 0.5

_UNSPACED = (
    "\u2e80-\u2fdf\u3040-\u30ff\u3105-\u312f"  # Japanese, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese
    "\uac00-\ud7af"  # Hangul has spaces, but its words carry endings
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
"""Scripts that are searched by pairs of characters, since nothing says where a word ends."""
_TOKEN = re.compile(rf"[{_UNSPACED}]+|[^\s{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_PART = re.compile(r"[^\W_]+")
_TRIMMED = ".,;:!?\"'()[]{}<>“”‘’…*`~|、。，！？；：（）「」"
_SHORT_FORM = re.compile(r"'(?:s|ll|ve|re|d|m)$|^\w+n't$")
"""What English writes short: "she'll" is about her, and "don't" about nothing."""
_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("s", ""))
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Words:
    """What the words of a question found."""

    hits: tuple[Hit, ...] = ()
    """Best first, ties by chunk id; the score is the sum of the BM25 of the terms that a chunk holds."""
    coverage: float = 0.0
    """The largest share of the question's terms that one chunk holds."""


def terms(text: str) -> tuple[str, ...]:
    """The terms of a text, in order, repeats included: word stems, identifiers with their parts, character pairs."""
    return tuple(term for token in _tokens(text) for term in _terms_of(token))


def query_terms(text: str) -> tuple[str, ...]:
    """The different terms of a question, in order; of a long one those at its beginning and its end."""
    found = tuple(dict.fromkeys(terms(text)))
    half = QUERY_TERMS // 2
    return found if len(found) <= QUERY_TERMS else found[:half] + found[-half:]


def asks_something(text: str) -> bool:
    """Whether a message has a word to search by: "ok", "thanks, continue" and "继续" have none."""
    return any(
        token not in SMALL_TALK and any(term not in _small_terms() for term in _terms_of(token))
        for token in _tokens(text)
    )


def weight(question: str) -> float:
    """How much words count against meaning, 0 to 1, by the script of the question."""
    characters = [character for character in question if character.isalnum()]
    unspaced = sum(1 for character in characters if _IS_UNSPACED.match(character))
    return DENSE_SCRIPT_WEIGHT if 2 * unspaced > len(characters) else WEIGHT


def lexical(store: Store, conversation_ids: Sequence[int], question: str, limit: int) -> Words:
    """The best chunks by words."""
    words = query_terms(question)
    if not words:
        return Words()
    return _ranked(store.word_scores(conversation_ids, words, HITS_A_TERM), store.chunk_count(conversation_ids), limit)


def _ranked(scores: Mapping[str, Mapping[int, float]], chunk_count: int, limit: int) -> Words:
    most = max(COMMON_FROM, COMMON_SHARE * chunk_count)
    useful = [found for found in scores.values() if len(found) <= most]
    total: Counter[int] = Counter()
    held: Counter[int] = Counter()
    for found in useful:
        for chunk_id, score in found.items():
            total[chunk_id] += score  # type: ignore[assignment]  # a counter of scores
            held[chunk_id] += 1
    best = sorted(total.items(), key=lambda pair: (-round(pair[1], 6), pair[0]))[:limit]
    return Words(tuple(Hit(*pair) for pair in best), max(held.values(), default=0) / max(1, len(useful)))


@cache
def _small_terms() -> frozenset[str]:
    """The terms of small words; those of a longer phrase are not small alone ("no problem" is, "problem" is not)."""
    found = [terms(word) for word in SMALL_TALK]
    return frozenset(one[0] for one in found if len(one) == 1)


def _tokens(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    return [match[0] for match in _TOKEN.finditer(plain)]


def _terms_of(token: str) -> list[str]:
    return _pairs(token) if _IS_UNSPACED.match(token) else _words(token)


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[n : n + 2] for n in range(len(run) - 1)]


def _words(token: str) -> list[str]:
    """A plain word's stem; or an identifier as a whole and in its parts, so that `my-proxy` finds itself first."""
    whole = _SHORT_FORM.sub("", token.strip(_TRIMMED))
    parts = _PART.findall(whole)
    if parts == [whole]:
        return _word(whole)
    found = [term for part in parts for term in _word(part)]
    return [whole, *found] if parts and "'" not in whole else found


def _word(word: str) -> list[str]:
    says_nothing = word in STOP_WORDS or (len(word) == 1 and word.isascii() and not word.isdigit())
    return [] if says_nothing else [_stem(word)]


def _stem(word: str) -> str:
    """English plurals, -ed and -ing off, then a final e or y, then a doubled letter. LoCoMo +1.7, BEAM +1.4."""
    if len(word) <= _SHORTEST_STEM or not (word.isascii() and word.isalpha()):
        return word
    for ending, put in _ENDINGS:
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word[: -len(ending)] + put
            break
    if len(word) > _SHORTEST_STEM and word[-1] in "ey":
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] == word[-2] else word
