"""Stores as the commands need them: one that exists, or one made for the moment."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vecctx.errors import StoreUnavailableError
from vecctx.settings import Settings, home_folder, load_settings, store_folder

if TYPE_CHECKING:
    from vecctx.wiring import Opened


def located_store(store: Path | None) -> tuple[Settings, Path]:
    """The settings with the store in them, and its folder, whether it exists or not.

    Raises:
        SettingsError: `config.yaml` in the home has something wrong in it.
    """
    home = home_folder()
    settings = load_settings(home)
    if store is not None:
        settings = replace(settings, store=str(_folder_of(store).absolute()))
    return settings, store_folder(settings, home).absolute()


@contextmanager
def existing_store(store: Path | None) -> "Iterator[Opened]":
    """The parts of a store that exists; nothing is made where there is none.

    Raises:
        StoreError: there is none, or it cannot be used.
        SettingsError: `config.yaml` in the home has something wrong in it.
    """
    from vecctx import wiring

    settings, folder = located_store(store)
    refuse_missing(folder)
    opened = wiring.open_parts(settings, home_folder())
    try:
        yield opened
    finally:
        opened.close()


def refuse_missing(folder: Path) -> None:
    """Nothing, where a store is in this folder.

    Raises:
        StoreUnavailableError: there is none.
    """
    from vecctx.wiring import DATABASE_NAME

    if (folder / DATABASE_NAME).exists():
        return
    if folder.is_file():
        raise StoreUnavailableError(folder, f"is a file; name the folder that holds {DATABASE_NAME}")
    advice = "make one with `vecctx demo --store FOLDER`, or name another one with --store"
    raise StoreUnavailableError(folder, f"there is none yet; {advice}")


@contextmanager
def scratch_home(settings: Settings, store: Path | None) -> Iterator[tuple[Settings, Path]]:
    """A host's home with these settings, removed afterwards; the store is in it unless a folder is named."""
    with tempfile.TemporaryDirectory(prefix="vecctx-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        settings = replace(settings, store=str(_folder_of(store).absolute()) if store else "")
        config = {"context": {"engine": "vecctx", "vecctx": asdict(settings)}}
        # JSON is YAML.
        (home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
        yield settings, home


def _folder_of(store: Path) -> Path:
    """A store's folder, also where its database file was named."""
    from vecctx.wiring import DATABASE_NAME

    return store.parent if store.name == DATABASE_NAME and store.is_file() else store
