"""Whether anything that was found is about the question at all."""

from collections.abc import Sequence

from vecctx.values import Hit

MIN_COSINE = 0.30
MIN_COVERAGE = 0.5
"""No question of LoCoMo and BEAM (development parts) is lost by these; of unrelated ones two thirds stay out."""


def is_related(meaning: Sequence[Hit], coverage: float) -> bool:
    """Whether the best hit is close in meaning, or holds half of the question's words; else nothing is recalled."""
    return coverage >= MIN_COVERAGE or max((hit.score for hit in meaning), default=0.0) >= MIN_COSINE
