"""Errors carry their facts, say what to do next, and have one root."""

import inspect
import re

import pytest

from vecctx import errors
from vecctx.errors import (
    OptionalDependencyError,
    SettingsError,
    StoreDamagedError,
    StoreError,
    StoreNewerError,
    TranscriptError,
    VecctxError,
)

CLASSES = [one for _, one in inspect.getmembers(errors, inspect.isclass) if one.__module__ == errors.__name__]


def test_all_have_one_root_and_stand_in_the_tree_at_the_top() -> None:
    drawn = re.findall(r"(\w+Error)\b", errors.__doc__ or "")

    assert all(issubclass(one, VecctxError) for one in CLASSES)
    assert sorted(drawn) == sorted(one.__name__ for one in CLASSES)


def test_the_tree_is_drawn_as_it_is() -> None:
    lines = (errors.__doc__ or "").splitlines()
    depth_of = {found[0]: line.index(found[0]) for line in lines if (found := re.findall(r"\w+Error", line))}

    for one in CLASSES:
        parent = one.__mro__[1]
        if one is not VecctxError:
            assert depth_of[one.__name__] == depth_of[parent.__name__] + 4


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SettingsError("scope", "x", "one of a, b"), "setting 'scope' is 'x'; expected one of a, b"),
        (
            SettingsError("scop", 1, "a known setting", "scope"),
            "setting 'scop' is 1; expected a known setting; did you mean 'scope'?",
        ),
        (TranscriptError("chat.jsonl", "no JSON", line=3), "chat.jsonl, line 3: no JSON"),
        (TranscriptError("chat.jsonl", "is empty"), "chat.jsonl: is empty"),
        (StoreError("/db", "is locked"), "store /db: is locked"),
        (
            StoreDamagedError("/db", "malformed", "/db.corrupt"),
            "store /db: malformed; a copy is at /db.corrupt. Move the store away to start a new one",
        ),
        (
            StoreNewerError("/db", 9, 2),
            "store /db: made by a newer vecctx (format 9, this one knows 2); upgrade vecctx",
        ),
        (
            OptionalDependencyError("torch", "sentence-transformers"),
            "torch is not installed; run: pip install 'vecctx[sentence-transformers]'",
        ),
    ],
)
def test_a_message_says_what_is_wrong_and_what_to_do(error: VecctxError, message: str) -> None:
    assert str(error) == message


def test_the_facts_are_attributes() -> None:
    assert vars(SettingsError("a", 1, "b", "c")) == {"setting": "a", "value": 1, "expected": "b", "nearest": "c"}
    assert vars(TranscriptError("s", "p", line=2)) == {"source": "s", "problem": "p", "line": 2}
    assert vars(StoreNewerError("p", 2, 1))["found"] == 2
    assert vars(StoreDamagedError("p", "x", "c"))["copy"] == "c"
    assert vars(OptionalDependencyError("p", "e")) == {"package": "p", "extra": "e"}
