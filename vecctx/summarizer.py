"""The host's built-in summarizer, which compresses what selection cannot help."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any


def built_in_summarizer(contract_module: str, wanted: Mapping[str, Any]) -> Any:  # noqa: ANN401 - each host has its own class
    """The `ContextCompressor` of the host whose contract is in this module, with the arguments that it takes."""
    module = importlib.import_module(contract_module.replace("context_engine", "context_compressor"))
    return module.ContextCompressor(**taken_by(module.ContextCompressor, wanted))


def taken_by(function: Callable[..., object], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments that a function names: hosts differ in what theirs take."""
    named = inspect.signature(function).parameters
    return {key: value for key, value in wanted.items() if key in named}
