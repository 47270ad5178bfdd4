import json

import pytest

from agent.context_engine import ContextEngine
from tests.agent.support import PlainEngine, chat


def test_an_engine_must_write_four_members() -> None:
    assert ContextEngine.__abstractmethods__ == {"name", "update_from_response", "should_compress", "compress"}
    with pytest.raises(TypeError):
        ContextEngine()  # type: ignore[abstract]


def test_an_engine_that_writes_no_more_changes_nothing() -> None:
    engine, rows = PlainEngine(), chat(2)

    assert engine.select_context(rows, conversation_messages=rows, incoming_message=rows[0], budget_tokens=9) is None
    assert engine.prune_tool_results_only(rows) == (rows, 0)
    assert engine.get_tool_schemas() == []
    assert not engine.should_compress_preflight(rows)
    assert not engine.should_defer_preflight_to_real_usage(10)
    assert engine.should_compress_info(10) == (False, None)
    assert engine.has_content_to_compress(rows)
    assert engine.is_available()
    engine.on_turn_complete(rows, None, turn_id="t")
    engine.on_session_start("s", hermes_home="h")
    engine.on_session_end("s", rows)
    assert rows == chat(2)


def test_a_tool_call_without_tools_is_a_json_error() -> None:
    answer = json.loads(PlainEngine().handle_tool_call("search", {}, messages=[]))

    assert "search" in answer["error"]


def test_the_threshold_is_a_share_of_the_window() -> None:
    engine = PlainEngine()
    engine.update_model("m", 1000)

    assert (engine.context_length, engine.threshold_tokens) == (1000, 750)


def test_the_longest_model_name_that_fits_gives_the_threshold() -> None:
    engine = PlainEngine()
    engine.model_thresholds = {"gpt": 0.5, "gpt-mini": 0.25}

    engine.update_model("org/gpt-mini-2", 1000)
    assert engine.threshold_tokens == 250
    engine.update_model("gpt-large", 1000)
    assert engine.threshold_tokens == 500


def test_a_model_without_an_own_threshold_gets_the_engines_back() -> None:
    engine = PlainEngine()
    engine.model_thresholds = {"small": 0.25}
    engine.update_model("small", 1000)

    engine.update_model("other", 1000)

    assert engine.threshold_tokens == 750


def test_a_reset_zeroes_the_figures_but_not_the_window() -> None:
    engine = PlainEngine()
    engine.update_model("m", 1000)
    engine.last_prompt_tokens = engine.last_total_tokens = engine.compression_count = 5

    engine.on_session_reset()

    status = engine.get_status()
    assert (status["last_prompt_tokens"], status["compression_count"], status["context_length"]) == (0, 0, 1000)


def test_a_clone_shares_nothing() -> None:
    engine = PlainEngine()

    clone = engine.clone_for_agent()
    clone.log.append(("x", None))

    assert type(clone) is PlainEngine
    assert engine.log == []


def test_a_host_can_set_attributes_and_finds_no_invented_ones() -> None:
    engine = PlainEngine()
    engine.some_host_value = 1  # type: ignore[attr-defined]

    assert "__slots__" not in vars(ContextEngine)
    assert not hasattr(engine, "_micro_compact_enabled")
    assert not hasattr(engine, "bind_session_state")


def test_the_default_status_message_is_the_hosts() -> None:
    assert PlainEngine().get_automatic_compaction_status_message(phase="idle", default_message="wait") == "wait"
    assert PlainEngine().get_automatic_compaction_status_message(phase="idle") is None
