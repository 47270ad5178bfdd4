"""The pieces of a content, whatever its shape."""

import pytest

from tests import weird
from vecctx.adapters.message_parts import Parts, as_json, read_parts


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("plain", ["plain"]),
        (None, []),
        (42, ["42"]),
        ([], []),
        (["a", {"type": "text", "text": "b"}, None], ["a", "b"]),
        ({"type": "text", "text": "alone"}, ["alone"]),
        ([{"text": "no type"}], ["no type"]),
        ([{"type": "refusal", "refusal": "no"}, {"type": "input_text", "input_text": "in"}], ["no", "in"]),
        ([weird.thinking("thought")], ["thought"]),
        ([{"type": "tool_result", "content": "out"}], ["out"]),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "nested"}]}], ["nested"]),
        ([{"type": "tool_result", "content": []}], [""]),
    ],
)
def test_readable_text_is_found_in_order(content: object, texts: list[str]) -> None:
    assert read_parts(content) == Parts(texts=texts)


@pytest.mark.parametrize("image", weird.images())
def test_a_picture_is_media_and_never_text(image: dict[str, object]) -> None:
    assert read_parts([image]) == Parts(media=1)


def test_pictures_in_an_unknown_part_are_media_too() -> None:
    parts = read_parts([{"type": "function_call_output", "output": list(weird.images())}])

    assert parts.media == len(weird.images())
    assert weird.BASE64[:40] not in "".join(parts.unknown)


def test_a_call_among_the_parts_counts_with_its_input() -> None:
    parts = read_parts([{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.md"}}])

    assert parts == Parts(extra=['read {"path": "a.md"}'])


def test_an_unknown_part_keeps_its_text_without_what_is_encoded() -> None:
    wrapped = "\n".join(weird.BASE64[start : start + 76] for start in range(0, 760, 76))
    values = {"note": "seen", "blob": weird.BASE64, "wrapped": wrapped, "url": weird.DATA_URL, "raw": b"bytes"}

    (text,) = read_parts([{"type": "vendor", **values}]).unknown

    assert text == '{"note": "seen", "blob": null, "wrapped": null, "url": null, "raw": null}'


def test_what_json_cannot_hold_is_described() -> None:
    circle: list[object] = []
    circle.append(circle)

    assert as_json({"a": 1}) == '{"a": 1}'
    assert as_json({(1, 2): "tuple as a key"}).startswith("{(1, 2)")
    assert as_json(circle)
