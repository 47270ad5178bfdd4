import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from vecctx.cli.terminal import cell_text, count, fields, print_json, printable, table


@given(st.text())
def test_nothing_printed_commands_the_terminal(text: str) -> None:
    shown = printable(text)

    assert not any(ord(character) < 32 and character != "\n" for character in shown)
    assert "\x7f" not in shown
    assert len(shown) == len(text)


def test_an_escape_sequence_loses_its_power_and_letters_stay() -> None:
    assert printable("\x1b[31mred\u202e ok 你好 é") == " [31mred  ok 你好 é"


def test_a_table_keeps_to_the_width_and_cuts_only_the_last_column(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    table(
        ("id", "text"),
        [(1, "short"), (12, "a text that is much longer than the line"), (3, "你好!" * 30)],
        numbers=("id",),
    )

    header, short, long, wide = capsys.readouterr().out.splitlines()
    assert header == "  id  text"
    assert short == "   1  short"
    assert long == "  12  a text that is much longer than t…"
    assert wide.endswith("…")
    assert cell_len(wide) <= 40


def test_a_long_field_goes_on_below_itself(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "30")

    fields([("name", "some words that need two lines"), ("", "x")])

    assert capsys.readouterr().out == (
        "  name      some words that\n"
        "            need two lines\n"
        "            x\n"
    )  # fmt: skip


def test_brackets_are_text_and_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    fields([("a", "[bold]b[/bold] :smile: 12")], indent=0)

    assert "[bold]b[/bold] :smile: 12" in capsys.readouterr().out


def test_json_stays_readable_in_every_language(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": "你好"})

    out = capsys.readouterr().out
    assert "你好" in out
    assert json.loads(out) == {"text": "你好"}


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_json_loses_nothing_where_the_stream_cannot_hold_it(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    monkeypatch.setattr("sys.stdout", stream)

    print_json({"text": "猫 \ud83d"})

    stream.seek(0)
    assert json.loads(stream.read()) == {"text": "猫 \ud83d"}


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (1234, "1,234"), (0.5, "0.50"), ("a", "a"), (True, "True")])
def test_cells_show_values_as_people_write_them(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_nouns_follow_their_numbers() -> None:
    assert [count(1, "turn"), count(0, "turn"), count(2000, "turn")] == ["1 turn", "0 turns", "2,000 turns"]
    assert count(2, "passage is", "passages are") == "2 passages are"
