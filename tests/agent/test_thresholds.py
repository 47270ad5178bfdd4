import pytest

from agent import context_compressor, context_engine
from agent.context_engine import resolve_model_threshold
from tests.agent.support import PlainEngine


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        ("gpt-4o-mini", "", 0.3),  # the longest part
        ("gpt-4o", "", 0.4),
        ("gpt-4o", "azure", 0.2),  # bound to its provider, although as long
        ("gpt-4o", "AZURE", 0.2),
        ("gpt-4o-mini", "azure", 0.3),  # longer, although not bound
        ("qwen3", "local", 0.6),
        ("qwen3", "", 0.9),
        ("local/qwen3", "router", 0.5),  # a name may hold a slash itself
        ("claude", "", 0.9),
        ("", "", 0.9),
    ],
)
def test_the_longest_part_of_a_name_wins_and_a_provider_binds_it(model: str, provider: str, expected: float) -> None:
    thresholds = {"gpt-4o": 0.4, "gpt-4o-mini": 0.3, "azure/gpt-4o": 0.2, "local:qwen3": 0.6, "local/qwen3": 0.5}
    thresholds = thresholds if provider != "local" else {"local:qwen3": 0.6}

    assert resolve_model_threshold(model, thresholds, 0.9, provider) == expected


@pytest.mark.parametrize("thresholds", [None, {}, {"": 0.1}, {"azure/": 0.1}])
def test_without_a_part_that_says_something_the_default_holds(thresholds: dict[str, float] | None) -> None:
    assert resolve_model_threshold("gpt", thresholds, 0.9, "azure") == 0.9


def test_the_order_of_the_config_does_not_matter() -> None:
    pairs = [("gp", 0.1), ("pt", 0.2)]

    assert len({resolve_model_threshold("gpt", dict(order), 0.9) for order in (pairs, pairs[::-1])}) == 1


def test_engines_find_it_where_hosts_have_it() -> None:
    assert context_engine.resolve_model_threshold is context_compressor.resolve_model_threshold


def test_update_model_takes_the_provider_into_account() -> None:
    engine = PlainEngine()
    engine.model_thresholds = {"gpt": 0.5, "azure/gpt": 0.25}

    engine.update_model("gpt", 1000, provider="azure")
    assert engine.threshold_tokens == 250
    engine.update_model("gpt", 1000)
    assert engine.threshold_tokens == 500
