"""How many tokens a request may take."""

from vecctx.values import Budget

OUTPUT_TOKENS = 8_000
"""Kept free for the answer where the window allows: what providers use by default is at most that."""
OUTPUT_SHARE = 0.2
"""Never more than this share of the window."""
UNKNOWN_WINDOW_TOKENS = 32_000
"""A share of a window that nobody knows is taken of this: every model of today has it."""


def limit(wanted: float, *, window: int, asked: int, ceiling: int, overhead: int) -> Budget:
    """The smallest of what the user set, what the window leaves, and what the host asks for.

    Args:
        wanted: Tokens if it is an int, else a share of the window.
        window: The model's context length; 0 while unknown.
        asked: The host's budget. Hosts pass the whole window, which is no budget.
        ceiling: The size from which the host compresses; 0 for none. A selection stays below it.
        overhead: Tokens that the provider counts and we do not see.
    """
    share = wanted * (window or UNKNOWN_WINDOW_TOKENS)
    limits = {"budget_tokens": wanted if isinstance(wanted, int) else int(share)}
    if window:
        limits["window"] = window - min(OUTPUT_TOKENS, int(OUTPUT_SHARE * window)) - overhead
    if ceiling:
        limits["threshold"] = ceiling - 1 - overhead
    if asked and asked != window:
        limits["host"] = asked
    name = min(limits, key=lambda key: limits[key])
    return Budget(max(1, int(limits[name])), name, overhead)
