"""One change in a `config.yaml`: naming the engine, and taking that back to the last byte."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from vecctx.cli.host import host_module
from vecctx.errors import VecctxError

ENGINE = "vecctx"
BUILT_IN_ENGINE = "compressor"
"""What a host uses where no engine is named."""

Outcome: TypeAlias = Literal["restored", "value put back", "left alone"]


class HermesError(VecctxError):
    """A host's home cannot be used or changed as it is; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What naming the engine did to a config: from byte `start` on, these lines became those.

    Not a copy of the file, which holds keys and passwords.
    """

    start: int
    removed: str
    inserted: str
    before_digest: str
    """Of the whole file; empty where there was none."""
    after_digest: str
    engine_before: str | None


def engine_of(content: bytes | None, path: Path) -> object:
    """The engine that a config names, whatever it is; None for none.

    Raises:
        HermesError: it is no YAML.
    """
    context = _parsed(content, path).get("context")
    return context.get("engine") if isinstance(context, dict) else None


def enabled_plugins(content: bytes | None, path: Path) -> list[object]:
    """What `plugins.enabled` lists.

    Raises:
        HermesError: it is no YAML.
    """
    plugins = _parsed(content, path).get("plugins")
    enabled = plugins.get("enabled") if isinstance(plugins, dict) else None
    return enabled if isinstance(enabled, list) else []


def with_engine(content: bytes | None, name: str, path: Path) -> bytes:
    """A config that names this engine, the rest as it was.

    Raises:
        HermesError: no edit changes just that.
    """
    config_edit, errors = host_module("config_edit"), host_module("errors")
    try:
        edited: str = config_edit.with_engine((content or b"").decode("utf-8"), name)
    except (ValueError, errors.HostError) as error:
        problem = f"{path} cannot be changed safely ({error})"
        raise HermesError(f"{problem}; set context.engine to {name} there by hand, then run this again") from error
    return edited.encode("utf-8")


def edit_between(before: bytes | None, after: bytes, path: Path) -> Edit:
    """What changed, in whole lines."""
    old, new = (before or b"").splitlines(keepends=True), after.splitlines(keepends=True)
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    engine = engine_of(before, path)
    return Edit(
        start=sum(map(len, old[:head])),
        removed=b"".join(old[head : len(old) - tail]).decode("utf-8"),
        inserted=b"".join(new[head : len(new) - tail]).decode("utf-8"),
        before_digest="" if before is None else _digest(before),
        after_digest=_digest(after),
        engine_before=engine if isinstance(engine, str) else None,
    )


def undo(content: bytes | None, edit: Edit, path: Path) -> tuple[bytes | None, Outcome]:
    """The config without the edit, None for no file: as it was, or with only the engine put back if it changed since.

    Raises:
        HermesError: it changed since, and no edit changes just the engine.
    """
    if content is not None and _digest(content) == edit.after_digest:
        return _reversed(content, edit), "restored"
    if engine_of(content, path) != ENGINE:
        return content, "left alone"
    if content is not None and (swapped := _swapped(content, edit, path)) is not None:
        return swapped, "value put back"
    return with_engine(content, edit.engine_before or BUILT_IN_ENGINE, path), "value put back"


def _reversed(content: bytes, edit: Edit) -> bytes | None:
    inserted, removed = edit.inserted.encode("utf-8"), edit.removed.encode("utf-8")
    before = content[: edit.start] + removed + content[edit.start + len(inserted) :]
    return before if edit.before_digest else None


def _swapped(content: bytes, edit: Edit, path: Path) -> bytes | None:
    """The old lines where the new ones stand; None if that says anything else than before."""
    swapped = content.replace(edit.inserted.encode("utf-8"), edit.removed.encode("utf-8"))
    try:
        is_right = engine_of(swapped, path) == edit.engine_before and _rest(swapped, path) == _rest(content, path)
    except HermesError:
        return None
    return swapped if is_right else None


def _rest(content: bytes, path: Path) -> str:
    """All that a config says besides the engine; as text, since some values equal nothing, not even themselves."""
    parsed = _parsed(content, path)
    context = parsed.get("context") or {}
    inner = {key: context[key] for key in context if key != "engine"} if isinstance(context, dict) else context
    return repr(({key: parsed[key] for key in parsed if key != "context"}, inner))


def _parsed(content: bytes | None, path: Path) -> dict[Any, Any]:
    import yaml

    try:
        parsed = yaml.safe_load((content or b"").decode("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise HermesError(f"{path} is no valid YAML ({error}); correct it, then run this again") from error
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise HermesError(f"{path} holds no settings; correct it, then run this again")
    return parsed


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
