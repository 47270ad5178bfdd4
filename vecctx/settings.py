"""The settings, and the only module that reads configuration and environment."""

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from vecctx.errors import SettingsError

Scope: TypeAlias = Literal["conversation", "user", "all"]
SCOPES: tuple[Scope, ...] = ("conversation", "user", "all")


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set in `$HERMES_HOME/config.yaml`, block `context.vecctx`."""

    budget_tokens: int | float = 32_000
    """Tokens that one request may take: a whole number is tokens, a fraction up to 1.0 a share of the window."""
    scope: Scope = "conversation"
    """Where recall may look: this `conversation` (and what was compacted), all of this `user`'s, or `all`."""
    redact: bool = True
    """Replace passwords, keys and tokens before anything is written."""
    deadline_ms: int = 1500
    """Past this time the request goes out with recent turns and what words found; 0 waits for ever."""
    model: str = "default"
    """The embedding model: `default` is the one that ships; else a name or folder for sentence-transformers."""
    image_tokens: int = 1600
    """What a picture, a sound or a file counts in the budget; the largest price that is usual."""
    store: str = ""
    """Folder of the store; empty is `$HERMES_HOME/vecctx`."""

    def __post_init__(self) -> None:
        """Check every value: a wrong one is named with what was expected."""
        for key, (is_right, expected) in _RULES.items():
            value = getattr(self, key)
            if not is_right(value):
                raise SettingsError(key, value, expected)


def home_folder() -> Path:
    """The host's home: `$HERMES_HOME`, else `~/.hermes`.

    Raises:
        SettingsError: the home of this user, or of one that is named, is not known.
    """
    named = os.environ.get("HERMES_HOME") or "~/.hermes"
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise SettingsError("HERMES_HOME", named, "a folder; no home is known here, so name it in full") from error


def load_settings(home: Path) -> Settings:
    """The settings of a home; the defaults where it has no `config.yaml` or no block `context.vecctx`.

    Raises:
        SettingsError: the file is no YAML, or a setting is unknown or wrong.
    """
    path = home / "config.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(path), str(error), "a readable YAML file") from error
    return parse_settings(_block(_parse_yaml(text, path)))


def parse_settings(block: Mapping[str, Any]) -> Settings:
    """Settings from a mapping of their names.

    Raises:
        SettingsError: a name is unknown (the nearest right one is said) or a value is wrong.
    """
    known = [field.name for field in fields(Settings)]
    for key, value in block.items():
        if key not in known:
            nearest = difflib.get_close_matches(str(key), known, n=1, cutoff=0.4)
            raise SettingsError(str(key), value, "a known setting", nearest[0] if nearest else None)
    return Settings(**block)


def store_folder(settings: Settings, home: Path) -> Path:
    """Where the store lives; a relative setting counts from the home.

    Raises:
        SettingsError: the setting names the home of a user whom this machine does not know.
    """
    try:
        return home / Path(settings.store or "vecctx").expanduser()
    except RuntimeError as error:
        raise SettingsError("store", settings.store, "a folder on this machine") from error


def _parse_yaml(text: str, path: Path) -> object:
    import yaml  # noqa: PLC0415 - only who has a config pays for the parser

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(str(path), " ".join(str(error).split()), "YAML") from error


def _block(config: object) -> Mapping[str, Any]:
    """The mapping at `context.vecctx`; empty where there is none."""
    for name in ("config.yaml", "context", "context.vecctx"):
        if config is None:
            return {}
        if not isinstance(config, Mapping):
            raise SettingsError(name, config, "a block of settings")
        if name == "context.vecctx":
            return config
        config = config.get("vecctx" if name == "context" else "context")
    return {}


def _is_budget(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return (isinstance(value, int) and value >= 1) or (isinstance(value, float) and 0 < value <= 1)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "budget_tokens": (_is_budget, "a whole number of tokens from 1, or a share of the window above 0.0 up to 1.0"),
    "scope": (lambda value: value in SCOPES, "one of " + ", ".join(SCOPES)),
    "redact": (lambda value: isinstance(value, bool), "true or false"),
    "deadline_ms": (_is_count, "a whole number of milliseconds; 0 is no deadline"),
    "model": (lambda value: isinstance(value, str) and bool(value), "default, or a model's name or folder"),
    "image_tokens": (_is_count, "a whole number of tokens"),
    "store": (lambda value: isinstance(value, str), "a folder"),
}
