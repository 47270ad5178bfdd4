"""Whether anything found is about the question."""

import pytest

from vecctx.rank.gate import MIN_COSINE, MIN_COVERAGE, is_related
from vecctx.values import Hit


@pytest.mark.parametrize(
    ("cosines", "coverage", "expected"),
    [
        ([MIN_COSINE], 0.0, True),
        ([MIN_COSINE - 0.01], 0.0, False),
        ([0.0, MIN_COSINE, 0.1], 0.0, True),
        ([], MIN_COVERAGE, True),
        ([], MIN_COVERAGE - 0.01, False),
        ([0.1], 1.0, True),
        ([], 0.0, False),
        ([-0.9], 0.0, False),
    ],
)
def test_one_arm_that_is_sure_is_enough(cosines: list[float], coverage: float, *, expected: bool) -> None:
    assert is_related([Hit(number, score) for number, score in enumerate(cosines)], coverage) is expected
