"""onnxruntime without its telemetry."""

import importlib
import os
import sys
from types import ModuleType

_SWITCH = "ORT_DISABLE_TELEMETRY"


def import_onnxruntime() -> ModuleType:
    """The module, imported so that it writes no device id and reports nothing.

    Releases from 1.32 on do both from the moment of import, and only this variable prevents it. It stands for the
    length of the import, and what the user set is left alone.
    """
    is_ours = "onnxruntime" not in sys.modules and _SWITCH not in os.environ
    if is_ours:
        os.environ[_SWITCH] = "1"
    try:
        return importlib.import_module("onnxruntime")
    finally:
        if is_ours:
            os.environ.pop(_SWITCH, None)
