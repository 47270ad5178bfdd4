from pathlib import Path

import pytest
import yaml
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.agent.support import relaxed
from tests.agent.test_config_edit import configs
from vecctx.cli.hermes_config import Edit, HermesError, edit_between, engine_of, undo, with_engine

PATH = Path("config.yaml")
USERS = b"""\
# My settings, by hand.
model: gpt-x   # the big one
context:
    engine: 'lcm'   # was compressor once
    depth: 0x1F
"""


def edited(before: bytes | None) -> tuple[bytes, Edit]:
    after = with_engine(before, "vecctx", PATH)
    return after, edit_between(before, after, PATH)


@relaxed
@given(configs().map(str.encode))
def test_undoing_gives_any_config_back_to_the_last_byte(before: bytes) -> None:
    try:
        after, edit = edited(before)
    except HermesError:
        reject()  # a comment fell into a text

    assert engine_of(after, PATH) == "vecctx"
    assert undo(after, edit, PATH) == (before, "restored")


@relaxed
@given(configs().map(str.encode), st.sampled_from([b"# a later comment\n", b"later: 1\n", b"\n"]))
def test_a_config_that_changed_since_says_the_old_engine_and_all_else_as_now(before: bytes, later: bytes) -> None:
    try:
        after, edit = edited(before)
        engine = engine_of(before, PATH)
        since = later + after
        assert engine_of(since, PATH) == "vecctx"
        assert engine != "vecctx"
        undone, outcome = undo(since, edit, PATH)
    except (HermesError, AssertionError):
        reject()  # what came later made it another text

    assert outcome == "value put back"
    assert engine_of(undone, PATH) in {engine, "compressor"}
    assert rest_of(undone) == rest_of(since)


def rest_of(content: bytes | None) -> str:
    parsed = yaml.safe_load(content or b"") or {}
    context = parsed.pop("context", None) or {}
    context.pop("engine", None)
    return repr((parsed, context))


def test_a_config_that_the_edit_made_goes_away_again() -> None:
    after, edit = edited(None)

    assert after == b"context:\n  engine: vecctx\n"
    assert undo(after, edit, PATH) == (None, "restored")


def test_only_the_lines_that_changed_are_remembered() -> None:
    _, edit = edited(b"api_key: secret\n" + USERS)

    assert edit.removed == "    engine: 'lcm'   # was compressor once\n"
    assert edit.inserted == "    engine: 'vecctx'   # was compressor once\n"
    assert edit.engine_before == "lcm"


def test_what_was_added_since_stays_and_the_old_engine_is_back_in_its_words() -> None:
    after, edit = edited(USERS)

    assert undo(after + b"added: 1\n", edit, PATH) == (USERS + b"added: 1\n", "value put back")


def test_a_block_that_the_edit_added_goes_away_also_after_changes() -> None:
    after, edit = edited(b"a: 1\n")

    assert undo(after.replace(b"1", b"2"), edit, PATH) == (b"a: 2\n", "value put back")


def test_where_the_line_itself_was_changed_the_value_is_put_back() -> None:
    after, edit = edited(USERS)
    since = after.replace(b"# was compressor once", b"# mine")

    assert undo(since, edit, PATH) == (USERS.replace(b"# was compressor once", b"# mine"), "value put back")


def test_without_an_engine_before_a_changed_line_names_the_built_in_one() -> None:
    after, edit = edited(b"a: 1\n")

    undone, outcome = undo(after.replace(b"vecctx", b"vecctx  # mine"), edit, PATH)

    assert undone == b"a: 1\ncontext:\n  engine: compressor  # mine\n"
    assert outcome == "value put back"


@pytest.mark.parametrize("content", [b"context: {engine: other}\n", b"a: 1\n", None])
def test_a_config_that_names_another_engine_by_now_is_left_alone(content: bytes | None) -> None:
    _, edit = edited(USERS)

    assert undo(content, edit, PATH) == (content, "left alone")


@pytest.mark.parametrize("content", [b"- a\n", b"a: [\n", b"\xff\xfe", b"context: [a]\n"])
def test_what_cannot_be_changed_is_named_with_what_to_do(content: bytes) -> None:
    with pytest.raises(HermesError, match=r"config\.yaml.*(by hand|correct it), then run this again"):
        with_engine(content, "vecctx", PATH)
