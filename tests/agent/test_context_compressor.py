import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context_compressor import SUMMARY_KEY, SUMMARY_PREFIX, ContextCompressor, is_summary, summary_row
from agent.context_engine import Message
from agent.errors import ProviderError
from agent.messages import assistant_row, estimate_tokens, text_of, tool_call, tool_row, units, user_row
from tests.agent.support import any_rows, chat, pair_problems, relaxed, valid_histories
from tests.fakes.provider import ScriptedModel


def make(window_tokens: int = 2000, **options: object) -> ContextCompressor:
    return ContextCompressor(config_context_length=window_tokens, **options)  # type: ignore[arg-type]


def summaries(rows: list[Message]) -> list[Message]:
    return [row for row in rows if SUMMARY_PREFIX in text_of(row)]


@relaxed
@given(any_rows, st.integers(0, 600), st.sampled_from([None, "deploy"]))
def test_a_result_is_smaller_and_valid_or_the_very_list(
    rows: list[Message], window_tokens: int, focus_topic: str | None
) -> None:
    before = copy.deepcopy(rows)

    result = make(window_tokens).compress(rows, focus_topic=focus_topic)

    assert rows == before
    if result is not rows:
        assert estimate_tokens(result) < estimate_tokens(rows)
        assert any(row["role"] == "user" for row in result)
        # A last batch that waits for its results is left as it is.
        settled = [row for unit in units(result)[:-1] for row in unit]
        assert pair_problems(settled) == []
        assert len(summaries(result)) <= 1


@relaxed
@given(valid_histories(), st.integers(40, 2000))
def test_a_valid_history_stays_valid_with_its_last_user_message(history: list[Message], window_tokens: int) -> None:
    history = [*history, user_row("the last question")]

    result = make(window_tokens).compress(history)

    assert pair_problems(result) == []
    assert [row for row in result if row["role"] == "user"][-1] == user_row("the last question")
    assert result[0]["role"] == "user"
    assert result == make(window_tokens).compress(copy.deepcopy(history))


def test_nothing_to_do_gives_the_same_list() -> None:
    rows = chat(3)

    assert make(100_000).compress(rows) is rows


def test_head_and_tail_stay_and_the_middle_becomes_one_summary() -> None:
    rows = chat(40)

    result = make(4000, protect_first_n=2, protect_last_n=4).compress(rows)

    assert result[:2] == rows[:2]
    assert result[-4:] == rows[-4:]
    assert len(summaries(result)) == 1
    assert result[2][SUMMARY_KEY] is True
    assert estimate_tokens(result) <= 4000 * 0.75 * 0.5 * 1.4


def test_the_rows_behind_the_cut_are_intact() -> None:
    rows = chat(20)

    result = make(3000, protect_last_n=6).compress(rows)
    kept = result[result.index(summaries(result)[0]) + 1 :]

    assert len(kept) >= 6
    assert kept == rows[-len(kept) :]


def test_old_tool_outputs_go_first() -> None:
    rows = chat(12, length=30, tools=True)

    result = make(14_000, protect_last_n=4).compress(rows)

    assert summaries(result) == []
    assert len(result) == len(rows)
    assert "more characters were cut" in result[2]["content"]
    assert result[-4:] == rows[-4:]


def test_a_second_summary_takes_in_the_first() -> None:
    engine = make(3000, protect_first_n=0)
    first = engine.compress([user_row("The password hint is zebra. Zebra matters."), *chat(30)], focus_topic="zebra")

    second = engine.compress([*first, *chat(30)], focus_topic="zebra")

    (row,) = summaries(second)
    assert "zebra" in row["content"].lower()
    assert row["content"].count(SUMMARY_PREFIX) == 1
    assert engine.compression_count == 2


def test_a_summary_whose_key_was_lost_is_recognised() -> None:
    row = summary_row("x")
    del row[SUMMARY_KEY]

    assert is_summary(row)
    assert not is_summary(user_row("x"))


def test_a_pasted_summary_is_still_the_users_message() -> None:
    pasted = user_row(summary_row("pasted")["content"])

    result = make(2000).compress([*chat(20), pasted])

    assert result[-1] == pasted
    assert result[0] != pasted


def test_a_user_may_compress_what_is_small() -> None:
    rows = chat(20)

    assert make(100_000).compress(rows) is rows
    assert estimate_tokens(make(100_000).compress(rows, force=True)) < 0.8 * estimate_tokens(rows)


def test_the_focus_topic_decides_what_is_kept() -> None:
    rows = chat(30)
    rows[20] = user_row("The staging bucket is called marmot.")

    assert "marmot" in summaries(make(3000).compress(rows, focus_topic="marmot"))[0]["content"]
    assert "marmot" not in summaries(make(3000).compress(rows))[0]["content"]


def test_a_single_turn_larger_than_the_window_shrinks() -> None:
    batch = assistant_row(None, [tool_call("a", "read"), tool_call("b", "read")])
    rows = [user_row("read both"), batch, tool_row("a", "x" * 50_000), tool_row("b", "small")]

    result = make(2000).compress(rows)

    assert result[:2] == rows[:2]
    assert result[3] == rows[3]
    assert result[2]["content"].endswith("more characters were cut]")
    assert estimate_tokens(result) < 2000 * 0.75


def test_a_long_run_of_one_turn_shrinks_and_keeps_its_user_message() -> None:
    rows = [user_row("do everything")]
    for n in range(300):
        rows += [assistant_row(f"step {n}. " + "reason " * 20, [tool_call(f"c{n}", "run")]), tool_row(f"c{n}", "ok")]

    result = make(4000).compress(rows)

    assert estimate_tokens(result) < 4000 * 0.75
    assert user_row("do everything") in result
    assert pair_problems(result) == []
    assert result[-6:] == rows[-6:]


def test_a_chain_in_flight_is_kept_as_it_is() -> None:
    batch = assistant_row(None, [tool_call(call_id, "run") for call_id in "abc"])
    rows = [*chat(30), user_row("go"), batch, tool_row("a", "done")]

    result = make(3000).compress(rows)

    assert result[-3:] == rows[-3:]


@pytest.mark.parametrize("window_tokens", range(100, 4000, 150))
def test_a_batch_of_seven_is_whole_or_absent(window_tokens: int) -> None:
    ids = [f"c{n}" for n in range(7)]
    batch = [assistant_row(None, [tool_call(i, "run") for i in ids]), *(tool_row(i, "out " * 20) for i in ids)]

    result = make(window_tokens, protect_last_n=3).compress([*chat(5), user_row("go"), *batch, *chat(3)])

    assert pair_problems(result) == []
    assert {len(unit) for unit in units(result)} <= {1, 8}


def test_a_session_of_600_tokens_never_grows() -> None:
    rows = chat(10, length=2)
    engine = make(0)

    for _ in range(6):
        result = engine.compress(rows)
        assert estimate_tokens(result) <= estimate_tokens(rows)
        rows = result

    assert len(summaries(rows)) <= 1


def test_without_a_window_the_history_is_about_halved() -> None:
    rows = chat(40)

    assert estimate_tokens(make(0).compress(rows)) < 0.75 * estimate_tokens(rows)


def test_a_long_opening_is_summarised_like_the_rest() -> None:
    rows = [user_row("old " * 20_000), assistant_row("read"), *chat(30)]

    result = make(3000).compress(rows)

    assert rows[0] not in result
    assert estimate_tokens(result) < 3000 * 0.75


def test_a_turn_that_fits_with_shorter_results_keeps_all_its_steps() -> None:
    rows = [*chat(30), user_row("read it all")]
    for n in range(3):
        rows += [assistant_row(None, [tool_call(f"c{n}", "read")]), tool_row(f"c{n}", "x" * 9000)]

    result = make(3000).compress(rows)

    assert [row["role"] for row in result[-7:]] == ["user", *["assistant", "tool"] * 3]
    assert result[-7] == user_row("read it all")


def _rows_of(count: int, tokens: int) -> list[Message]:
    return [assistant_row(f"{n:04}" + "x" * 4 * (tokens - 5)) for n in range(count)]


def test_the_current_turn_is_kept_beyond_the_share_of_the_tail() -> None:
    turn = [user_row("go"), *_rows_of(7, 120)]

    result = make(2667, protect_last_n=1).compress([*chat(30), *turn])  # a target of 1000

    assert result[-8:] == turn


def test_the_last_rows_are_kept_beyond_the_share_of_the_tail() -> None:
    last = [*_rows_of(5, 150), user_row("go")]

    result = make(2667, protect_last_n=6).compress([*chat(30), *last])

    assert result[-6:] == last


def test_a_provider_that_counts_more_gets_less() -> None:
    rows = chat(30)

    fair, strict = make(4000).compress(rows), make(4000).compress(rows, current_tokens=4 * estimate_tokens(rows))

    assert estimate_tokens(strict) < estimate_tokens(fair)


def test_an_endpoint_writes_the_summary() -> None:
    model = ScriptedModel(["They talked about marmots."])

    result = make(3000, model="small", client=model).compress(chat(30), focus_topic="marmots")

    assert "They talked about marmots." in summaries(result)[0]["content"]
    assert model.bodies[0]["model"] == "small"


def test_an_endpoint_that_fails_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    model = ScriptedModel([ProviderError("down"), "It works again."])
    engine = make(3000, client=model, cooldown_seconds=60, clock=lambda: now)

    assert summaries(engine.compress(chat(30)))
    now = 59.0
    engine.compress(chat(30))
    assert len(model.bodies) == 1
    assert len(caplog.records) == 1
    now = 60.0
    assert "It works again." in summaries(engine.compress(chat(30)))[0]["content"]


def test_a_long_winded_endpoint_does_not_make_the_history_larger() -> None:
    rows = chat(30)

    assert make(3000, client=ScriptedModel(["word " * 90_000])).compress(rows) is rows


def test_usage_and_threshold_decide_when_to_compress() -> None:
    engine = make(1000)
    engine.awaiting_real_usage_after_compression = True

    engine.update_from_response({"prompt_tokens": 750, "completion_tokens": 5})

    assert engine.should_compress()
    assert not engine.should_compress(749)
    assert (engine.last_total_tokens, engine.awaiting_real_usage_after_compression) == (755, False)
    assert not ContextCompressor().should_compress(10**9)


def test_it_can_be_cloned() -> None:
    clone = make(1000).clone_for_agent()

    assert (clone.name, clone.threshold_tokens) == ("compressor", 750)
