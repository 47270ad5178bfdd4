from pathlib import Path

import pytest

from agent.config import CompressionConfig, HostConfig, load_config


def test_no_file_means_defaults(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert load_config(tmp_path / "config.yaml") == HostConfig()
    assert caplog.records == []


def test_the_three_blocks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "context: {engine: mine, mine: {depth: 3}}\n"
        "compression: {enabled: false, threshold: 0.5, in_place: false, context_timeout_seconds: 4, future_key: 1}\n"
    )

    assert load_config(path) == HostConfig(
        "mine", {"depth": 3}, CompressionConfig(False, 0.5, in_place=False, context_timeout_seconds=4)
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("context: [", "cannot be read"),
        ("- a", "expected a mapping"),
        ("context: {engine: 3}", "context.engine is 3"),
        ("context: {engine: mine, mine: 7}", "context.mine is 7"),
        ("compression: on please", "compression is"),
        ("compression: {threshold: 80}", "compression.threshold is 80"),
        ("compression: {enabled: 1}", "compression.enabled is 1"),
        ("compression: {protect_last_n: -1}", "compression.protect_last_n is -1"),
        ("compression: {context_timeout_seconds: soon}", "compression.context_timeout_seconds is 'soon'"),
        ("compression: {model_thresholds: {gpt: 5}}", "compression.model_thresholds"),
        ("plugins: [a]", "plugins is ['a']"),
        ("plugins: {load_timeout_seconds: .inf}", "plugins.load_timeout_seconds is inf"),
        ("[" * 5000, "cannot be read"),
    ],
)
def test_what_is_wrong_is_told_once_and_takes_its_default(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, told: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)

    config = load_config(path)

    assert config.compression == CompressionConfig()
    (record,) = caplog.records
    assert told in record.getMessage()
    assert str(path) in record.getMessage()


def test_the_time_that_a_plugin_may_take_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("plugins: {enabled: [], load_timeout_seconds: 3}")

    assert load_config(path).plugin_timeout_seconds == 3.0


def test_one_wrong_setting_does_not_cost_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("compression: {threshold: 80, protect_last_n: 9}\ncontext: {engine: mine}")

    config = load_config(path)

    assert (config.engine, config.compression) == ("mine", CompressionConfig(protect_last_n=9))
    assert len(caplog.records) == 1


def test_enabled_plugins_are_a_list_of_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("plugins: {enabled: [one, two]}\n")
    assert load_config(path).enabled_plugins == ("one", "two")

    path.write_text("plugins: {enabled: one}\n")
    assert load_config(path).enabled_plugins == ()
    assert "plugins.enabled" in caplog.text
