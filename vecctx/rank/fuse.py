"""Two lists of hits into one order of messages."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from vecctx.values import Hit, Place, Scored, Spot

LIST_LENGTH = 200
"""Messages taken from each list; more change nothing that fits into a request."""


def best_of(hits: Sequence[Hit], places: Mapping[int, Place]) -> dict[Spot, float]:
    """The score of each message's best chunk."""
    best: dict[Spot, float] = {}
    for hit in hits:
        place = places.get(hit.chunk_id)
        if place:
            best[place.spot] = max(hit.score, best.get(place.spot, hit.score))
    return best


def best_places(meaning: Sequence[Hit], words: Sequence[Hit], places: Mapping[int, Place]) -> dict[Spot, Place]:
    """Of each message the chunk that answers best: cosine plus the share of the best score by words.

    An identifier in a long log is found by words; the chunk that is closest in meaning may be another.
    """
    peak = max((hit.score for hit in words), default=1.0) or 1.0
    strength: defaultdict[int, float] = defaultdict(float)
    for hit in meaning:
        strength[hit.chunk_id] += hit.score
    for hit in words:
        strength[hit.chunk_id] += hit.score / peak
    found: dict[Spot, Place] = {}
    for chunk_id, _ in sorted(strength.items(), key=lambda pair: (-round(pair[1], 6), pair[0])):
        if chunk_id in places:
            found.setdefault(places[chunk_id].spot, places[chunk_id])
    return found


def fuse(meaning: Mapping[Spot, float], words: Mapping[Spot, float], lexical_weight: float) -> tuple[Scored, ...]:
    """Messages at the top of either list, best first, ties by where they stand.

    score = w * words / max(words) + (1 - w) * (meaning - min) / (max - min), each 0 where an arm did not find the
    message at all. A message that only one list has at its top keeps its score of the other: LoCoMo +1.6 at 1000.
    On LoCoMo and BEAM as good as or better than reciprocal ranks, since the distances between scores count.
    """
    union = _top(meaning) | _top(words)
    peak = max(words.values(), default=1.0) or 1.0
    close = [meaning[spot] for spot in union if spot in meaning] or [0.0]
    low, span = min(close), max(max(close) - min(close), 1e-9)
    scored = [
        Scored(
            spot=spot,
            score=lexical_weight * words.get(spot, 0.0) / peak
            + (1 - lexical_weight) * max(0.0, meaning.get(spot, low) - low) / span,
            dense=meaning.get(spot),
            lexical=words.get(spot),
            reason=" and ".join(name for name, found in (("meaning", meaning), ("words", words)) if spot in found),
        )
        for spot in union
    ]
    return tuple(sorted(scored, key=lambda one: (-round(one.score, 6), one.spot)))


def _top(scores: Mapping[Spot, float]) -> set[Spot]:
    best = sorted(scores.items(), key=lambda pair: (-round(pair[1], 6), pair[0]))
    return {spot for spot, _ in best[:LIST_LENGTH]}
