"""What a plugin loader calls to get the engine."""

from typing import Any

from vecctx.engine import VecctxEngine


def register(ctx: Any) -> None:  # noqa: ANN401 - each host hands over its own
    """Offer the engine to the host; `context.engine: vecctx` in its config chooses it."""
    ctx.register_context_engine(VecctxEngine())
