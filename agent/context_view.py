"""Shows what of a conversation the last request held: counted by the host, and told by the engine if it can tell.

An engine may have a method `describe_last_selection() -> dict`. Under `kept`, `recalled` and `dropped` it gives a
number of messages or a list of them, each a text or a dict with `text` and, if there are, `role`, `tokens`, `score`
and `reason`. Whatever else it gives is shown by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .context_engine import ContextEngine, Message
from .messages import calls_of, estimate_tokens, text_of
from .provider import figure
from .screen import bar, cut, one_line

_GROUPS = ("kept", "recalled", "dropped")
_SHOWN_ITEMS = 5
_LABEL = 14
_SHOWN_ELSEWHERE = frozenset(
    {"engine", "last_prompt_tokens", "threshold_tokens", "context_length", "compression_count"}
)


def describe(engine: ContextEngine, rows: Sequence[Message], request: Sequence[Message], used_tokens: int) -> str:
    """The lines of `/context`; `request` is what was sent last, and `used_tokens` its size."""
    status, selection = _asked(engine, "get_status"), _asked(engine, "describe_last_selection")
    window, threshold = figure(engine.context_length), figure(engine.threshold_tokens)
    share = f"{100 * used_tokens / window:.0f} %" if window else "of an unknown window"
    lines = [
        _line("engine", f"{engine.name}, compressed {_times(figure(engine.compression_count))}"),
        _line("window", f"{bar(used_tokens, window, threshold)} {share}"),
        _line("", f"{used_tokens:,} of {window:,} tokens sent; compresses from {threshold:,}"),
        _line("conversation", f"{_messages(len(rows))}, about {estimate_tokens(rows):,} tokens"),
        *_request_lines(rows, request),
        *[line for group in _GROUPS for line in _group_lines(group, selection.get(group))],
    ]
    others = {**status, **selection}
    known = {*_SHOWN_ELSEWHERE, *_GROUPS}
    lines += [_line(key, str(value)) for key, value in others.items() if key not in known and _says_something(value)]
    return "\n".join(lines)


def _request_lines(rows: Sequence[Message], request: Sequence[Message]) -> list[str]:
    if not request:
        return [_line("last request", "none yet")]
    # What follows the newest question or tool result answered the request, and was not in it.
    end = max((n for n, row in enumerate(rows, 1) if row.get("role") in {"user", "tool"}), default=0)
    left_out = _left_out(rows[:end], request)
    told = f"{_messages(len(request))}, {end - len(left_out)} of {end} from the conversation"
    if left_out:
        told += f" (without {estimate_tokens(left_out):,} tokens)"
    return [_line("last request", told)]


def _left_out(rows: Sequence[Message], request: Sequence[Message]) -> list[Message]:
    """The rows that a request does not have, neither as they are nor merged into others of their role."""
    pool = [(_kind(row), text_of(row)) for row in request]
    left_out = []
    for row in reversed(rows):  # of equal rows the newest are the likeliest to be there
        kind, text = _kind(row), text_of(row).strip()
        at = next((n for n in range(len(pool) - 1, -1, -1) if pool[n][0] == kind and text in pool[n][1]), None)
        if at is None:
            left_out.append(row)
            continue
        rest = pool[at][1].replace(text, "", 1)
        pool[at : at + 1] = [(kind, rest)] if rest.strip() else []
    return left_out


def _kind(row: Message) -> tuple[object, ...]:
    return row.get("role"), row.get("tool_call_id"), *[call["id"] for call in calls_of(row)]


def _group_lines(group: str, value: object) -> list[str]:
    if isinstance(value, int):
        return [_line(group, _messages(value))]
    if not isinstance(value, list | tuple):
        return []
    lines = [_line(group, _messages(len(value)))]
    lines += [cut(" " * _LABEL + _item(item)) for item in value[:_SHOWN_ITEMS]]
    return [*lines, _line("", f"and {len(value) - _SHOWN_ITEMS} more")] if len(value) > _SHOWN_ITEMS else lines


def _item(item: object) -> str:
    """One message in a line: who, how large, why, and how it begins."""
    if not isinstance(item, Mapping):
        return one_line(str(item))
    score = item.get("score")
    facts = [
        f"{item['tokens']} tokens" if isinstance(item.get("tokens"), int) else "",
        f"score {score:.2f}" if isinstance(score, int | float) else "",
        str(item.get("reason") or ""),
    ]
    told = ", ".join(filter(None, facts))
    return one_line(f"{item.get('role') or 'message'}{f' ({told})' if told else ''}: {item.get('text') or ''}")


def _asked(engine: ContextEngine, hook: str) -> Mapping[str, Any]:
    """What an engine says of itself; nothing where it cannot."""
    call: Callable[[], object] | None = getattr(engine, hook, None)
    try:
        answer = call() if callable(call) else {}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an engine is someone else's code, and some of it calls exit()
        return {hook: f"failed: {error!r}"}
    return {str(key): value for key, value in answer.items()} if isinstance(answer, Mapping) else {}


def _says_something(value: object) -> bool:
    return value is not None and value not in ("", [], (), {})


def _line(label: str, text: str) -> str:
    """A label that is too long for its column pushes its text on."""
    return cut(f"{label.replace('_', ' ').ljust(_LABEL - 1)} {one_line(text)}")


def _messages(count: int) -> str:
    return f"{count:,} message{'' if count == 1 else 's'}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
