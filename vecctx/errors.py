"""The errors that vecctx raises.

    VecctxError
    ├── SettingsError            a setting is unknown or has a wrong value
    ├── TranscriptError          a transcript cannot be read
    ├── StoreError
    │   ├── StoreUnavailableError    the place cannot be opened or written
    │   ├── StoreDamagedError        the database is damaged; a copy was kept
    │   └── StoreNewerError          the database was made by a newer version
    ├── ModelError               a model cannot be loaded
    ├── DeadlinePassedError      something took longer than it may
    ├── OptionalDependencyError  an extra is not installed
    └── NotFoundError            something asked for by its number does not exist

Each message says what to do next; the facts are attributes.
"""

from pathlib import Path


class VecctxError(Exception):
    """The root of all errors that are ours to explain."""


class SettingsError(VecctxError):
    """A setting is unknown, or its value is not one that we take."""

    def __init__(self, setting: str, value: object, expected: str, nearest: str | None = None) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"setting {setting!r} is {value!r}; expected {expected}{hint}")
        self.setting = setting
        self.value = value
        self.expected = expected
        self.nearest = nearest


class TranscriptError(VecctxError):
    """A transcript file cannot be read as messages."""

    def __init__(self, source: str | Path, problem: str, *, line: int | None = None) -> None:
        place = f"{source}, line {line}" if line else f"{source}"
        super().__init__(f"{place}: {problem}")
        self.source = source
        self.problem = problem
        self.line = line


class StoreError(VecctxError):
    """Something is wrong with the store at `path`."""

    def __init__(self, path: str | Path, problem: str) -> None:
        super().__init__(f"store {path}: {problem}")
        self.path = path
        self.problem = problem


class StoreUnavailableError(StoreError):
    """The store cannot be opened or written where it is: a directory, read-only, locked, full."""


class StoreDamagedError(StoreError):
    """The database is damaged. It was left alone, and a copy is at `copy`."""

    def __init__(self, path: str | Path, problem: str, copy: str | Path) -> None:
        super().__init__(path, f"{problem}; a copy is at {copy}. Move the store away to start a new one")
        self.copy = copy


class StoreNewerError(StoreError):
    """The database was written by a newer version, whose format we do not know."""

    def __init__(self, path: str | Path, found: int, known: int) -> None:
        super().__init__(path, f"made by a newer vecctx (format {found}, this one knows {known}); upgrade vecctx")
        self.found = found
        self.known = known


class ModelError(VecctxError):
    """An embedding model or tokenizer cannot be loaded or gives unusable vectors."""


class DeadlinePassedError(VecctxError):
    """Something took longer than it may; the caller goes on without it."""


class OptionalDependencyError(VecctxError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'vecctx[{extra}]'")
        self.package = package
        self.extra = extra


class NotFoundError(VecctxError):
    """Nothing has that number, or it belongs to somebody else: both are answered alike."""
