"""What makes a list of messages valid, as strict providers see it."""

import json
from collections.abc import Sequence
from itertools import pairwise

from .host import DURABLE_KEYS, Message, calls_of, strip_durable_keys, text_of

_ROLES = frozenset({"system", "user", "assistant", "tool"})
_PROVIDER_KEYS = frozenset(
    {"role", "content", "name", "tool_calls", "tool_call_id", "tool_name", "reasoning", "reasoning_content"}
    | {"reasoning_details", "refusal", "audio", "function_call"}
)


def list_problems(rows: Sequence[Message]) -> list[str]:
    """What is wrong with the order of rows: batches that are not whole, orphans, ids twice, system rows, roles."""
    late = [f"a system row at place {n}" for n, row in enumerate(rows) if n and row.get("role") == "system"]
    unknown = [f"a row of role {row.get('role')!r}" for row in rows if row.get("role") not in _ROLES]
    return late + unknown + _batch_problems(rows) + _form_problems(rows)


def selection_problems(selection: Sequence[Message], request: Sequence[Message]) -> list[str]:
    """What is wrong with a selection made of a request, beside what was wrong with the request."""
    new = new_problems(selection, request)
    return (
        new
        + _system_problems(selection, request)
        + _turn_problems(selection, request)
        + key_problems(selection, request)
    )


def new_problems(rows: Sequence[Message], before: Sequence[Message]) -> list[str]:
    """What is wrong with rows that was not wrong with those they were made of."""
    known = {_kind(problem) for problem in list_problems(before)}
    return [problem for problem in list_problems(rows) if _kind(problem) not in known]


def key_problems(selection: Sequence[Message], request: Sequence[Message]) -> list[str]:
    """Keys that the host does not strip and the request did not have: a provider would see them."""
    allowed = _PROVIDER_KEYS | DURABLE_KEYS | {key for row in request for key in row}
    keys = {key for row in selection for key in row if not key.startswith("_")} - allowed
    return [f"the key {key!r} would reach the provider" for key in sorted(keys)]


def turn_of(rows: Sequence[Message]) -> list[Message]:
    """The current turn: the last user row and what follows."""
    start = max((n for n, row in enumerate(rows) if row.get("role") == "user"), default=len(rows))
    return list(rows[start:])


def has_text_of(rows: Sequence[Message], row: Message) -> bool:
    """Whether one of the user rows holds another one's text and all its parts."""
    return any(_holds(candidate, row) for candidate in rows if candidate.get("role") == "user")


def alternation_problems(rows: Sequence[Message]) -> list[str]:
    """What some providers refuse although others take it."""
    roles = [row.get("role") for row in rows if row.get("role") != "system"]
    found = ["it starts with an answer"] if roles[:1] == ["assistant"] else []
    twice = any(first == second == "assistant" for first, second in pairwise(roles))
    return found + (["two answers follow each other"] if twice else [])


def _system_problems(selection: Sequence[Message], request: Sequence[Message]) -> list[str]:
    if request and request[0].get("role") == "system":
        return [] if list(selection[:1]) == list(request[:1]) else ["the system row is not first, or was changed"]
    return ["a system row was added"] if selection and selection[0].get("role") == "system" else []


def _turn_problems(selection: Sequence[Message], request: Sequence[Message]) -> list[str]:
    turn = turn_of(request)
    if not turn:
        return []
    last = list(selection[-len(turn) :])
    if len(last) < len(turn) or not _holds(last[0], turn[0]):
        return ["the current turn's question is not where its rows begin"]
    same = strip_durable_keys(last[1:]) == strip_durable_keys(turn[1:])
    return [] if same else ["the current turn's calls and results are not whole at the end"]


def _holds(candidate: Message, row: Message) -> bool:
    if candidate.get("role") != row.get("role"):
        return False
    if candidate.get("content") == row.get("content"):
        return True
    content, held = row.get("content"), candidate.get("content")
    media = (
        [part for part in content if isinstance(part, dict) and "text" not in part] if isinstance(content, list) else []
    )
    return text_of(row) in text_of(candidate) and all(isinstance(held, list) and part in held for part in media)


def _batch_problems(rows: Sequence[Message]) -> list[str]:
    found: list[str] = []
    open_ids: list[str] = []
    taken: set[str] = set()
    for row in [*rows, {"role": "end"}]:
        if row.get("role") == "tool":
            call_id = row.get("tool_call_id")
            if call_id in open_ids:
                open_ids.remove(call_id)
            else:
                found.append(f"a result without its call ({call_id!r})")
            continue
        found += [f"a call without its result ({call_id!r})" for call_id in open_ids]
        open_ids = [str(call["id"]) for call in calls_of(row)]
        found += [f"an id that comes twice ({call_id!r})" for call_id in open_ids if call_id in taken]
        found += ["an id that comes twice (in one batch)"] if len(open_ids) != len(set(open_ids)) else []
        taken.update(open_ids)
    return found


def _form_problems(rows: Sequence[Message]) -> list[str]:
    try:
        json.dumps(list(rows))
    except (TypeError, ValueError) as error:
        return [f"no JSON can be made of it ({error})"]
    return []


def _kind(problem: str) -> str:
    """A problem without the place where it is, which selection and compression change."""
    return problem.partition(" at place ")[0]
