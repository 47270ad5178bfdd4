"""vecctx keeps every turn of a long chat and sends with each request what that request needs."""

from vecctx._version import __version__

__all__ = ["__version__"]
