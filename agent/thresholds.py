"""From which share of the window a model's history is compressed, by the model's name."""

from collections.abc import Mapping

_NO_MATCH = (0, False)


def resolve_model_threshold(
    model: str, thresholds: Mapping[str, float] | None, default: float, provider: str = ""
) -> float:
    """The share for a model: of the parts of its name that are configured the longest wins.

    A part may be bound to a provider, as "provider/part" or "provider:part"; of two equally long ones this one wins.
    """
    ranks = {key: _rank(key, model, provider) for key in thresholds or {}}
    best = max(ranks, key=lambda key: (ranks[key], key), default=None)
    return (thresholds or {})[best] if best is not None and ranks[best] > _NO_MATCH else default


def _rank(key: str, model: str, provider: str) -> tuple[int, bool]:
    """How many characters of the name a key stands for, and whether it names the provider too."""
    ranks = [(len(key), False) if key in model else _NO_MATCH]
    for separator in "/:":
        scope, _, part = key.partition(separator)
        if provider and scope.lower() == provider.lower() and part in model:
            ranks.append((len(part), bool(part)))
    return max(ranks)
