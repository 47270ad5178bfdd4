"""Points about making an engine: its members, its answers when nothing has happened, its window."""

import json
from typing import Any

from .bench import MODEL, Bench, expect, set_window
from .effects import watched
from .host import copy_rows
from .point import advised, required
from .samples import long_conversation

_NUMBERS = (
    *("last_prompt_tokens", "last_completion_tokens", "last_total_tokens", "threshold_tokens", "context_length"),
    *("compression_count", "threshold_percent", "protect_first_n", "protect_last_n"),
)


@required("construction")
def construction(bench: Bench) -> None:
    """It is made without arguments, and making it touches nothing: listings make engines that nobody uses."""
    bench.make()  # what the first one imports is no effect of making an engine
    with watched() as effects:
        bench.make()
    left = sorted(path.name for path in bench.home.rglob("*"))
    expect(not effects, f"making one {'; '.join(effects[:3])}")
    expect(not left, f"making one leaves {', '.join(left[:3])} in the home")


@required("members")
def members(bench: Bench) -> None:
    """The four members that every engine writes are there, and the attributes that hosts read are numbers."""
    engine: Any = bench.make()
    expect(isinstance(engine.name, str) and engine.name, f"name is {engine.name!r}")
    for member in ("update_from_response", "should_compress", "compress"):
        expect(callable(getattr(engine, member, None)), f"{member} is missing")
    for attribute in _NUMBERS:
        value = getattr(engine, attribute, None)
        expect(isinstance(value, int | float), f"{attribute} is {value!r}")


@required("own-attributes")
def own_attributes(bench: Bench) -> None:
    """The host can set attributes on it, and finds none that are invented: it acts on what it finds."""
    engine: Any = bench.make()
    engine.some_host_value = 1
    expect(vars(engine).get("some_host_value") == 1, "an attribute set by the host is not in vars(engine)")
    for attribute in ("_micro_compact_enabled", "_last_compress_aborted_by_nobody", "an_attribute_of_no_host"):
        expect(not hasattr(engine, attribute), f"it answers to {attribute}")


@required("defaults")
def defaults(bench: Bench) -> None:
    """The optional methods are there and answer in the contract's types."""
    engine, rows = bench.engine(), long_conversation(3)
    expect(isinstance(engine.should_compress_preflight(copy_rows(rows)), bool), "should_compress_preflight: no bool")
    expect(isinstance(engine.has_content_to_compress(copy_rows(rows)), bool), "has_content_to_compress: no bool")
    info: object = engine.should_compress_info(100)
    expect(_is_pair(info), f"should_compress_info is {info!r}")
    pruned: object = engine.prune_tool_results_only(copy_rows(rows), current_tokens=100)
    expect(_is_pair(pruned, (list, int)), "prune_tool_results_only gives no list with a number")
    message = engine.get_automatic_compaction_status_message(phase="compress", default_message="wait", attempt=1)
    expect(message is None or isinstance(message, str), f"the status message is {message!r}")


@required("defer")
def defer(bench: Bench) -> None:
    """Where it wants to wait for real usage it has last_real_prompt_tokens, which hosts then read."""
    engine = bench.engine()
    answer = engine.should_defer_preflight_to_real_usage(100_000)
    expect(isinstance(answer, bool), f"should_defer_preflight_to_real_usage is {answer!r}")
    expect(not answer or hasattr(engine, "last_real_prompt_tokens"), "last_real_prompt_tokens is missing")


@required("window")
def window(bench: Bench) -> None:
    """update_model takes the contract's keywords, and the window it is told is its context_length, also a new one."""
    engine = bench.make()
    for tokens in (128_000, 16_000):
        set_window(engine, tokens)
        expect(engine.context_length == tokens, f"context_length is {engine.context_length} after {tokens}")
        expect(0 < engine.threshold_tokens <= tokens, f"threshold_tokens is {engine.threshold_tokens} of {tokens}")


@required("odd-window")
def odd_window(bench: Bench) -> None:
    """A window that is unknown, tiny or huge is no error: an exception there means that there is no agent."""
    engine = bench.make()
    for tokens in (0, 1, 100, 10_000_000):
        set_window(engine, tokens)


@advised("model-thresholds")
def model_thresholds(bench: Bench) -> None:
    """The shares of compression.model_thresholds, which the host sets before the first update_model, are honoured."""
    engine = bench.make()
    engine.model_thresholds = {MODEL[:5]: 0.9, MODEL: 0.25}
    set_window(engine, 16_000)
    expect(engine.threshold_tokens == 4000, f"threshold_tokens is {engine.threshold_tokens}, not 4000")  # noqa: PLR2004


@advised("status")
def status(bench: Bench) -> None:
    """get_status gives figures that JSON can hold, and is_available says yes or no."""
    engine = bench.engine()
    json.dumps(engine.get_status())
    expect(isinstance(engine.is_available(), bool), "is_available: no bool")


def _is_pair(value: object, kinds: tuple[Any, Any] = (bool, object)) -> bool:
    return isinstance(value, tuple) and len(value) == len(kinds) and all(map(isinstance, value, kinds))


POINTS = (construction, members, own_attributes, defaults, defer, window, odd_window, model_thresholds, status)
