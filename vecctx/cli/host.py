"""The reference host, wherever it is."""

import importlib
from importlib.util import find_spec
from types import ModuleType


def host_module(name: str) -> ModuleType:
    """A module of the reference host: the copy that a wheel carries, else the checkout's `agent`.

    The copy comes first: where vecctx is installed, `agent` is somebody else's package, Hermes' for one.
    """
    package = "vecctx._host" if find_spec("vecctx._host") else "agent"
    return importlib.import_module(f"{package}.{name}")
