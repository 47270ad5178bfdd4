"""What is true of vecctx in a host's home: installed, active, how much is stored, and what is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from vecctx._version import __version__
from vecctx.cli import views
from vecctx.cli.hermes_config import ENGINE, enabled_plugins, engine_of
from vecctx.cli.hermes_home import HermesHome
from vecctx.cli.hermes_install import notes_on
from vecctx.errors import VecctxError
from vecctx.settings import load_settings, store_folder
from vecctx.values import Selection, StoreStats

_INSTALL = "run `vecctx hermes install`"


@dataclass(frozen=True, slots=True)
class Status:
    """What was found; a problem is a sentence that says what to do."""

    home: HermesHome
    engine: object = None
    """What `context.engine` names."""
    plugin_version: str | None = None
    has_plugin: bool = False
    is_enabled: bool = False
    """The entry point is, as a plugin."""
    store: Path | None = None
    sizes: StoreStats | None = None
    selection: Selection | None = None
    problems: tuple[str, ...] = field(default=())

    @property
    def is_installed(self) -> bool:
        """A host finds the engine."""
        return self.has_plugin or self.is_enabled

    @property
    def is_active(self) -> bool:
        """A host finds the engine and is told to use it."""
        return self.is_installed and self.engine == ENGINE


def status_of(home: HermesHome) -> Status:
    """All that can be found out; nothing is made or changed."""
    found = Status(home, has_plugin=(home.plugin / "__init__.py").is_file())
    problems: list[str] = []
    for look in (_look_at_plugin, _look_at_config, _look_at_store):
        try:
            found = look(found)
        except VecctxError as error:
            problems.append(str(error))
            if look is _look_at_config:  # without it nobody knows which engine, and where the store is
                return _with(found, problems=tuple(problems))
    return _with(found, problems=(*problems, *_problems(found)))


def view(status: Status) -> views.View:
    """The status as plain values."""
    chosen = status.selection
    return {
        "home": views.text(str(status.home.folder)),
        "is_installed": status.is_installed,
        "is_active": status.is_active,
        "version": __version__,
        "plugin_version": status.plugin_version,
        "engine": views.plain(status.engine) if isinstance(status.engine, str | None) else str(status.engine),
        "store": views.text(str(status.store)) if status.store else None,
        "turns": status.sizes.turns if status.sizes else 0,
        "messages": status.sizes.messages if status.sizes else 0,
        "bytes_on_disk": status.sizes.bytes_on_disk if status.sizes else 0,
        "last_selection": {
            "selection": chosen.selection_id,
            "chosen_at": views.moment(chosen.created_at),
            "used_tokens": chosen.used_tokens,
            "budget_tokens": chosen.budget.total_tokens,
        }
        if chosen
        else None,
        "problems": [views.text(" ".join(problem.split())) for problem in status.problems],
        "notes": notes_on(status.home) if status.is_installed else [],
    }


def _look_at_config(found: Status) -> Status:
    content, path = found.home.config_bytes(), found.home.config
    is_enabled = ENGINE in enabled_plugins(content, path)
    return _with(found, engine=engine_of(content, path), is_enabled=is_enabled)


def _look_at_plugin(found: Status) -> Status:
    record = found.home.record()
    return _with(found, plugin_version=record.version if record else None)


def _look_at_store(found: Status) -> Status:
    from vecctx import wiring

    settings = load_settings(found.home.folder)
    folder = store_folder(settings, found.home.folder)
    if not (folder / wiring.DATABASE_NAME).exists():
        return found
    opened = wiring.open_parts(settings, found.home.folder)
    try:
        store = opened.parts.store
        sizes = store.stats(opened.parts.embedder.identity)
        return _with(found, store=folder, sizes=sizes, selection=store.selection())
    finally:
        opened.close()


def _problems(found: Status) -> Iterator[str]:
    if found.engine == ENGINE and not found.is_installed:
        yield f"context.engine names {ENGINE}, but no plugin offers it; {_INSTALL}"
    if found.is_installed and found.engine != ENGINE:
        named = f"names {found.engine}" if found.engine else "is not set"
        yield f"it is installed, but context.engine {named}; {_INSTALL}"
    if found.plugin_version not in {None, __version__}:
        yield f"the plugin directory is of vecctx {found.plugin_version}, this is {__version__}; {_INSTALL}"


def _with(found: Status, **changes: object) -> Status:
    return replace(found, **changes)  # type: ignore[arg-type] # the callers name fields
