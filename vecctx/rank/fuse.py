"""Two lists of hits into one order of messages."""

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


def fuse(meaning: Mapping[Spot, float], words: Mapping[Spot, float], lexical_weight: float) -> tuple[Scored, ...]:
    """Messages of either list, best first, ties by where they stand.

    score = w * words / max(words) + (1 - w) * (meaning - min) / (max - min), each 0 where its list lacks the message.
    On LoCoMo and BEAM as good as or better than reciprocal ranks, since the distances between scores count.
    """
    meaning, words = _longest(meaning), _longest(words)
    peak = max(words.values(), default=1.0) or 1.0
    low, high = min(meaning.values(), default=0.0), max(meaning.values(), default=0.0)
    span = max(high - low, 1e-9)
    scored = [
        Scored(
            spot=spot,
            score=lexical_weight * words.get(spot, 0.0) / peak
            + (1 - lexical_weight) * (meaning.get(spot, low) - low) / span,
            dense=meaning.get(spot),
            lexical=words.get(spot),
            reason="meaning and words"
            if spot in meaning and spot in words
            else "meaning"
            if spot in meaning
            else "words",
        )
        for spot in meaning.keys() | words.keys()
    ]
    return tuple(sorted(scored, key=lambda one: (-round(one.score, 6), one.spot)))


def _longest(scores: Mapping[Spot, float]) -> dict[Spot, float]:
    return dict(sorted(scores.items(), key=lambda pair: (-round(pair[1], 6), pair[0]))[:LIST_LENGTH])
