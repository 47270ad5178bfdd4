"""vecctx keeps every turn of a long chat and sends with each request what that request needs."""

from vecctx._version import __version__
from vecctx.engine import VecctxEngine
from vecctx.errors import VecctxError
from vecctx.settings import Settings

__all__ = ["Settings", "VecctxEngine", "VecctxError", "__version__"]
