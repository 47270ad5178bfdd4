"""Taking vecctx out of a host's home again, as a plan that can be shown before it is carried out."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vecctx.cli.hermes_config import ENGINE, Outcome, engine_of, undo
from vecctx.cli.hermes_home import PLUGIN_FILES, RECORD_NAME, HermesHome, Record, replace_file
from vecctx.cli.hermes_install import writing
from vecctx.settings import load_settings, store_folder

_CACHE = "__pycache__"


@dataclass(frozen=True, slots=True)
class Removal:
    """What uninstalling would do: nothing where nothing is installed."""

    home: HermesHome
    record: Record | None
    """None where nothing is installed by us."""
    config: bytes | None
    """What the settings become; None for no file."""
    outcome: Outcome
    strangers: tuple[str, ...]
    """What others put into the plugin directory; it stays, and so does the directory."""

    @property
    def steps(self) -> tuple[str, ...]:
        """What is done, for people."""
        if self.record is None:
            return ()
        config, plugin = self.home.config, self.home.plugin
        kept = f"; it stays for what others put there: {', '.join(self.strangers)}" if self.strangers else ""
        return (self._config_step(config), f"remove {'our files from ' if self.strangers else ''}{plugin}{kept}")

    def _config_step(self, config: Path) -> str:
        engine = engine_of(self.config, config)
        named = f"context.engine names {engine}" if engine else "no engine is named"
        if self.outcome == "restored" and self.config is None:
            return f"remove {config}, which the installation made"
        if self.outcome == "restored":
            return f"restore {config} to the last byte: {named}"
        if self.outcome == "value put back":
            return f"put back only the engine in {config}, which was changed since the installation: {named}"
        hint = "; set it to compressor for the built-in one" if engine == ENGINE else ""
        return f"leave {config} as it is: {named}{hint}"


def plan_removal(home: HermesHome) -> Removal:
    """What uninstalling does there.

    Raises:
        HermesError: the config cannot be read, or cannot be changed safely.
    """
    record, content = home.record(), home.config_bytes()
    if record is None or record.edit is None:
        config, outcome = content, _LEFT_ALONE
    else:
        config, outcome = undo(content, record.edit, home.config)
    known = {RECORD_NAME, _CACHE, *PLUGIN_FILES}
    present = {path.name for path in home.plugin.iterdir()} if record else set()
    return Removal(home, record, config, outcome, tuple(sorted(present - known)))


def uninstall(plan: Removal) -> None:
    """Do what was planned: the engine first, since it must not be named without its plugin.

    Raises:
        HermesError: something cannot be written.
    """
    if plan.record is None:
        return
    home = plan.home
    with writing():
        if plan.config is None:
            home.config.unlink(missing_ok=True)
        elif plan.config != home.config_bytes():
            replace_file(home.config, plan.config)
        shutil.rmtree(home.plugin / _CACHE, ignore_errors=True)
        # The record last: until then a second run finds what is left to do.
        for name in (*PLUGIN_FILES, RECORD_NAME):
            (home.plugin / name).unlink(missing_ok=True)
        if not plan.strangers:
            home.plugin.rmdir()
    if plan.record.made_plugins_folder:
        with suppress(OSError):  # others have plugins there by now
            home.plugin.parent.rmdir()


def store_of(home: HermesHome) -> Path | None:
    """The folder of the home's store; None where there is none.

    Raises:
        SettingsError: the settings do not say where it is.
    """
    from vecctx.wiring import DATABASE_NAME

    folder = store_folder(load_settings(home.folder), home.folder)
    return folder if (folder / DATABASE_NAME).exists() else None


def delete_store(folder: Path) -> None:
    """Delete a store, and its folder where nothing else is in it.

    Raises:
        HermesError: something cannot be deleted.
    """
    from vecctx.wiring import DATABASE_NAME, INDEX_FOLDER

    with writing():
        for path in folder.glob(f"{DATABASE_NAME}*"):
            path.unlink()
        if (folder / INDEX_FOLDER).is_dir():
            shutil.rmtree(folder / INDEX_FOLDER)
    with suppress(OSError):  # something else is in it
        folder.rmdir()


_LEFT_ALONE: Outcome = "left alone"
