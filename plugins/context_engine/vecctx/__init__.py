"""vecctx as a context engine; register_context_engine is called in vecctx.hermes."""

import logging

try:
    from vecctx.hermes import register
except ImportError:
    logging.getLogger(__name__).warning("vecctx is not installed in this environment; run: pip install vecctx")
    raise

__all__ = ["register"]
