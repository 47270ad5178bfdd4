import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, reject
from hypothesis import strategies as st

from agent.config_edit import with_enabled, with_engine, write_engine
from agent.yaml_text import ConfigEditError
from tests.agent.support import relaxed

USERS = """\
# My settings, by hand.
model: gpt-x   # the big one

context:
    # engine: lcm
    engine: 'compressor'   # was lcm once
    depth: 0x1F
list: [1,   2,
   three]
"""


def test_only_the_name_changes() -> None:
    assert with_engine(USERS, "mine") == USERS.replace("'compressor'", "'mine'")


def test_the_engine_that_is_named_already_changes_nothing() -> None:
    assert with_engine(USERS, "compressor") == USERS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "context:\n  engine: mine\n"),
        ("# nothing\n", "# nothing\ncontext:\n  engine: mine\n"),
        ("---\n", "---\ncontext:\n  engine: mine\n"),
        ("{}\n", "context:\n  engine: mine\n"),
        ("--- {}", "--- {context: {engine: mine}}"),
        ("a: 1", "a: 1\ncontext:\n  engine: mine\n"),
        ("a: 1\r\n", "a: 1\r\ncontext:\r\n  engine: mine\r\n"),
        ("  a: 1\n", "  a: 1\n  context:\n    engine: mine\n"),
        ("a: |+\n  x", "context:\n  engine: mine\na: |+\n  x"),  # at the end it would change `a`
        ("a: 1\n...\n", "context:\n  engine: mine\na: 1\n...\n"),
        ("context:\na: 1\n", "context:\n  engine: mine\na: 1\n"),
        ("context: ~  # c\n", "context:  # c\n  engine: mine\n"),
        ("context:", "context:\n  engine: mine"),
        ("context: {}\n", "context: {engine: mine}\n"),
        ("context:\n      depth: 1\n", "context:\n      engine: mine\n      depth: 1\n"),
        ("context:\n  engine:   # c\n", "context:\n  engine: mine   # c\n"),
        ("context:\n  engine: null\n", "context:\n  engine: mine\n"),
        ("context:\n  engine: 3\n", "context:\n  engine: mine\n"),
        ("context:\n  engine: >\n    x\na: 1\n", "context:\n  engine: mine\na: 1\n"),
        ("context: {depth: 1,engine: x}\n", "context: {depth: 1,engine: mine}\n"),
        ("context: { depth: 1 }\n", "context: { engine: mine, depth: 1 }\n"),
        ('{"a": 1}', '{"context": {"engine": "mine"}, "a": 1}'),
        ('{"context": {"engine": "x"}}', '{"context": {"engine": "mine"}}'),
        ("{a: 1}", "{context: {engine: mine}, a: 1}"),
        ("\ufeffa: 1\n", "\ufeffa: 1\ncontext:\n  engine: mine\n"),
        ("context: &c {engine: x}\nb: *c\n", None),
        ("context:\n  engine: &e x\nb: *e\n", None),
        ("base: &b {context: {engine: x, depth: 1}}\n<<: *b\n", None),
        ("context: some words\n", None),
        ("context: [a]\n", None),
        ("context: {engine: {a: 1}}\n", None),
        ("- a\n", None),
        ("a: [\n", None),
        ("a: 1\n---\nb: 2\n", None),
    ],
)
def test_each_form_is_changed_in_place_or_refused(before: str, after: str | None) -> None:
    if after is None:
        with pytest.raises(ConfigEditError):
            with_engine(before, "mine")
    else:
        assert with_engine(before, "mine") == after


@pytest.mark.parametrize("name", ["true", "12", "0x1F", "1e3", "null", "2024-01-01", "no"])
@pytest.mark.parametrize("text", ["", "context: {engine: x}", 'context: {engine: "x"}', "context:\n  engine: x\n"])
def test_a_name_that_looks_like_something_else_is_quoted(name: str, text: str) -> None:
    assert yaml.safe_load(with_engine(text, name))["context"]["engine"] == name


_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["engine", "a: b", "# c"]),
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_engines = st.sampled_from(["old", "other-engine", "true", None, 3, ""])
_contexts = st.none() | st.tuples(
    st.dictionaries(st.sampled_from(["mine", "depth"]), _scalars), st.dictionaries(st.just("engine"), _engines)
).flatmap(lambda parts: st.sampled_from([{**parts[0], **parts[1]}, {**parts[1], **parts[0]}]))


@st.composite
def configs(draw: st.DrawFn) -> str:
    """A config in any form that YAML's writer has, with comments and blank lines somewhere."""
    keys = st.sampled_from(["model", "context", "compression", "plugins", "naïve key", "日本"])
    content: dict[str, Any] = draw(st.dictionaries(keys, _values, max_size=4))
    if "context" in content:
        content["context"] = draw(_contexts)
    text: str = yaml.safe_dump(
        content,
        default_flow_style=draw(st.sampled_from([None, True, False])),
        default_style=draw(st.sampled_from([None, None, '"', "'"])),
        indent=draw(st.integers(2, 7)),
        width=draw(st.sampled_from([10, 80])),
        allow_unicode=draw(st.booleans()),
        explicit_start=draw(st.booleans()),
        sort_keys=False,
        line_break=draw(st.sampled_from(["\n", "\r\n"])),
    )
    lines = text.splitlines(keepends=True)
    for comment in draw(st.lists(st.sampled_from(["# a comment\n", "    # engine: old\n", "\n"]), max_size=3)):
        lines.insert(draw(st.integers(0, len(lines))), comment)
    return "".join(lines)[: None if draw(st.booleans()) else -1]


def _parsed_without_engine(text: str) -> tuple[str, object]:
    content = yaml.safe_load(text) or {}
    context = content.pop("context", None) or {}
    engine = context.pop("engine", None)
    return repr((content, context)), engine


@relaxed
@given(configs(), st.sampled_from(["mine", "compressor", "12"]))
def test_any_config_says_the_new_engine_and_all_else_as_before(text: str, name: str) -> None:
    try:
        rest, _ = _parsed_without_engine(text)
    except (yaml.YAMLError, AttributeError):
        reject()  # a comment fell into a text

    edited = with_engine(text, name)

    assert _parsed_without_engine(edited) == (rest, name)
    start = next((i for i, (a, b) in enumerate(zip(text, edited, strict=False)) if a != b), min(len(text), len(edited)))
    rest_length = min(len(text), len(edited)) - start
    end = next((i for i in range(rest_length) if text[-1 - i] != edited[-1 - i]), rest_length)
    touched = text[start : len(text) - end]
    assert len(touched.splitlines()) <= 1, "one value lies on one line"


def test_a_missing_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.yaml"

    assert write_engine(path, "mine")
    assert path.read_text() == "context:\n  engine: mine\n"
    assert not write_engine(path, "mine")


def test_a_file_keeps_its_mode_its_link_and_its_line_ends(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_bytes(b"a: 1\r\nb: 2\n")
    real.chmod(0o640)
    link = tmp_path / "config.yaml"
    link.symlink_to(real)

    write_engine(link, "mine")

    assert link.is_symlink()
    assert real.read_bytes().startswith(b"a: 1\r\nb: 2\n")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config.yaml", "real.yaml"]


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe", b"- a"])
def test_a_file_that_cannot_be_changed_stays_and_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content)

    with pytest.raises(ConfigEditError, match=r"config\.yaml"):
        write_engine(path, "mine")

    assert path.read_bytes() == content


def test_a_directory_in_its_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigEditError, match="directory"):
        write_engine(tmp_path, "mine")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("context: {engine: jev}\n", "context: {engine: jev}\nplugins:\n  enabled: [jev-pkg]\n"),
        ("plugins:  # none yet\na: 1", "plugins: {enabled: [jev-pkg]}  # none yet\na: 1"),
        ("plugins:\n  x: 1\n", "plugins:\n  enabled: [jev-pkg]\n  x: 1\n"),
        ("plugins:\n  enabled:  # none\n", "plugins:\n  enabled: [jev-pkg]  # none\n"),
        ("plugins: {enabled: []}\n", "plugins: {enabled: [jev-pkg]}\n"),
        ("plugins:\n  enabled: [ a, b ]  # two\n", "plugins:\n  enabled: [ jev-pkg, a, b ]  # two\n"),
        ("plugins:\n  enabled:\n  # mine\n  - a\n", "plugins:\n  enabled:\n  # mine\n  - jev-pkg\n  - a\n"),
        ("plugins:\r\n  enabled:\r\n    - a\r\n", "plugins:\r\n  enabled:\r\n    - jev-pkg\r\n    - a\r\n"),
        ('{"plugins": {"enabled": ["a"]}}', '{"plugins": {"enabled": ["jev-pkg", "a"]}}'),
        ('{"context": {"engine": "x"}}', '{"plugins": {"enabled": ["jev-pkg"]}, "context": {"engine": "x"}}'),
        ("plugins: {enabled: [jev-pkg]}", "plugins: {enabled: [jev-pkg]}"),
    ],
)
def test_a_plugin_is_enabled_in_the_style_of_the_file(before: str, after: str) -> None:
    assert with_enabled(before, "jev-pkg") == after


@pytest.mark.parametrize("text", ["plugins: 7\n", "plugins: {enabled: one}\n", "plugins: &p {enabled: [a]}\nq: *p\n"])
def test_where_enabling_would_change_something_else_nothing_is_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)

    with pytest.raises(ConfigEditError, match=r"list jev-pkg in plugins\.enabled by hand"):
        write_engine(path, "jev", plugin="jev-pkg")

    assert path.read_text() == text
