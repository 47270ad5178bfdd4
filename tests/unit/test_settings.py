"""Settings: defaults, and errors that name what is wrong and what is right."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecctx.errors import SettingsError
from vecctx.settings import SCOPES, Settings, home_folder, load_settings, parse_settings, store_folder

RIGHT: dict[str, list[Any]] = {
    "budget_tokens": [1, 32_000, 0.001, 0.5, 1.0],
    "scope": list(SCOPES),
    "redact": [True, False],
    "deadline_ms": [0, 1, 1500],
    "model": ["default", "all-MiniLM-L6-v2", "/models/x"],
    "image_tokens": [0, 1600],
    "store": ["", "memory", "/var/lib/vecctx"],
}
WRONG: dict[str, list[Any]] = {
    "budget_tokens": [0, -1, 0.0, 1.5, -0.5, float("nan"), float("inf"), "32k", None, True, [1], {}],
    "scope": ["", "everything", "Conversation", None, True, ["user"], {}],
    "redact": ["yes", 1, 0, None, "true"],
    "deadline_ms": [-1, 1.5, "1500", None, True, False],
    "model": ["", None, 5, ["default"]],
    "image_tokens": [-1, 0.5, "many", None, True],
    "store": [None, 5, True, ["x"]],
}


def test_the_defaults_are_right_and_documented_here() -> None:
    assert Settings() == parse_settings({})
    assert asdict(Settings()) == {
        "budget_tokens": 32_000,
        "scope": "conversation",
        "redact": True,
        "deadline_ms": 1500,
        "model": "default",
        "image_tokens": 1600,
        "store": "",
    }
    assert RIGHT.keys() == WRONG.keys() == {field.name for field in fields(Settings)}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in RIGHT.items() for value in values])
def test_a_right_value_is_taken_as_it_is(key: str, value: object) -> None:
    assert getattr(parse_settings({key: value}), key) is value


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_a_wrong_value_is_named_with_what_was_expected(key: str, value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings({key: value})

    assert (caught.value.setting, caught.value.value) == (key, value) or value != value  # noqa: PLR0124 - NaN
    assert f"setting {key!r} is {value!r}; expected {caught.value.expected}" == str(caught.value)
    assert caught.value.expected


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("budget", "budget_tokens"),
        ("budget_token", "budget_tokens"),
        ("deadline", "deadline_ms"),
        ("deadline_seconds", "deadline_ms"),
        ("redaction", "redact"),
        ("Model", "model"),
        ("scopes", "scope"),
        ("image_token", "image_tokens"),
        ("storage", "store"),
        ("zzz", None),
        (5, None),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_right_one(key: Any, nearest: str | None) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings({key: 1})

    assert (caught.value.setting, caught.value.nearest) == (str(key), nearest)
    assert (f"did you mean {nearest!r}?" in str(caught.value)) is (nearest is not None)


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.floats() | st.text() | st.booleans()))
def test_any_mapping_gives_settings_or_an_error_of_ours(block: dict[str, Any]) -> None:
    try:
        parse_settings(block)
        named = None
    except SettingsError as error:
        named = error.setting

    assert named in block if named is not None else block.keys() <= RIGHT.keys()


# The file.


def home_with(tmp_path: Path, text: str) -> Path:
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    ["", "# nothing", "null", "model: gpt", "context:", "context: {}", "context:\n  engine: vecctx\n  vecctx:\n"],
)
def test_a_file_without_our_block_gives_the_defaults(tmp_path: Path, text: str) -> None:
    assert load_settings(home_with(tmp_path, text)) == Settings()


def test_no_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()
    assert load_settings(tmp_path / "nowhere") == Settings()


def test_the_block_is_read(tmp_path: Path) -> None:
    home = home_with(tmp_path, "context:\n  engine: vecctx\n  vecctx:\n    budget_tokens: 0.5\n    scope: user\n")

    assert load_settings(home) == Settings(budget_tokens=0.5, scope="user")


def test_a_byte_order_mark_is_no_setting(tmp_path: Path) -> None:
    home = home_with(tmp_path, "\ufeffcontext:\n  vecctx:\n    budget_tokens: 5\n")

    assert load_settings(home).budget_tokens == 5


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("- a list", "config.yaml"),
        ("just words", "config.yaml"),
        ("context: 5", "context"),
        ("context: [vecctx]", "context"),
        ("context:\n  vecctx: on", "context.vecctx"),
        ("context:\n  vecctx: [1]", "context.vecctx"),
    ],
)
def test_what_is_no_block_is_named_by_its_own_name(tmp_path: Path, text: str, setting: str) -> None:
    """`context: 5` was reported as a wrong `vecctx`."""
    with pytest.raises(SettingsError, match="a block of settings") as caught:
        load_settings(home_with(tmp_path, text))

    assert caught.value.setting == setting


@pytest.mark.parametrize("text", ["context: [", "a: b: c", "\tx: 1", "x: !!python/object:os.system {}", "x: \x00"])
def test_a_file_that_is_no_yaml_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(home_with(tmp_path, text))

    assert caught.value.setting == str(tmp_path / "config.yaml")
    assert caught.value.expected == "YAML"
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(SettingsError, match="a readable YAML file"):
        load_settings(tmp_path)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="a readable YAML file"):
        load_settings(tmp_path)


# Places.


def test_the_home_is_the_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", "~/agents/one")
    assert home_folder() == tmp_path / "agents/one"

    for empty in ("", None):
        monkeypatch.delenv("HERMES_HOME", raising=False)
        if empty is not None:
            monkeypatch.setenv("HERMES_HOME", empty)
        assert home_folder() == tmp_path / ".hermes"


@pytest.mark.parametrize(
    ("store", "folder"), [("", "home/vecctx"), ("memory", "home/memory"), ("/abs", "/abs"), ("~/mine", "user/mine")]
)
def test_the_store_counts_from_the_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: str, folder: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))

    assert store_folder(Settings(store=store), tmp_path / "home") == tmp_path / folder


def test_a_store_in_an_unknown_users_home_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'store' is '~nobody-here/x'"):
        store_folder(Settings(store="~nobody-here/x"), tmp_path)


@pytest.mark.parametrize("named", ["", "~nobody-has-this-name/hermes"])
def test_a_home_that_nobody_knows_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    def unknown(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", unknown)
    monkeypatch.setenv("HERMES_HOME", named)

    with pytest.raises(SettingsError, match=r"HERMES_HOME.*name it in full"):
        home_folder()
