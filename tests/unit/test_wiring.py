"""One set of parts for each store and process, opened once and closed by the last who uses it."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.embedder import FakeEmbedder
from tests.parts import make_parts
from vecctx import wiring
from vecctx.adapters.onnx_embedder import OnnxEmbedder
from vecctx.errors import ModelError, StoreError, StoreUnavailableError
from vecctx.settings import Settings
from vecctx.values import Message, Turn


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(wiring, "embedder_for", lambda settings: FakeEmbedder())
    yield
    assert wiring._open == {}, "a test left a store open"


def store_a_word(opened: wiring.Opened, word: str) -> None:
    store = opened.parts.store
    conversation_id = store.open_conversation("", "s1")
    newest = store.known(conversation_id, 1)
    message = Message("user", word, "", f"key of {word}")
    store.add_turns(conversation_id, [Turn((message,))], behind=newest[0].message_id if newest else None)


def test_a_store_is_opened_once_and_closed_by_the_last(tmp_path: Path) -> None:
    first = wiring.open_parts(Settings(), tmp_path)
    second = wiring.open_parts(Settings(), tmp_path)

    assert first is second
    first.close()
    store_a_word(second, "still open")
    second.close()
    with pytest.raises(StoreError):
        store_a_word(second, "closed")


def test_closing_too_often_closes_nobody_elses(tmp_path: Path) -> None:
    first = wiring.open_parts(Settings(), tmp_path)
    first.close()
    first.close()
    second = wiring.open_parts(Settings(), tmp_path)

    first.close()

    store_a_word(second, "still open")
    second.close()


def test_another_store_model_or_home_has_parts_of_its_own(tmp_path: Path) -> None:
    homes = [tmp_path / "a", tmp_path / "b"]
    variants = [Settings(), Settings(store="elsewhere"), Settings(model="another")]
    opened = [wiring.open_parts(settings, home) for home in homes for settings in variants]

    assert len({id(one) for one in opened}) == 6
    for number, one in enumerate(opened):
        home, settings = homes[number // 3], variants[number % 3]
        assert one.serves(settings, home)
        assert not one.serves(settings, tmp_path / "c")
        one.close()


def test_settings_that_are_no_matter_of_the_store_share_it(tmp_path: Path) -> None:
    first = wiring.open_parts(Settings(budget_tokens=5), tmp_path)
    second = wiring.open_parts(Settings(deadline_ms=0, scope="all"), tmp_path)

    assert first is second
    first.close()
    second.close()


@pytest.mark.parametrize("store", ["", "somewhere", "deep/down", "~/at-home"])
def test_the_store_lies_where_the_settings_say(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    opened = wiring.open_parts(Settings(store=store), tmp_path / "home")
    expected = {
        "": tmp_path / "home" / "vecctx",
        "somewhere": tmp_path / "home" / "somewhere",
        "deep/down": tmp_path / "home" / "deep" / "down",
        "~/at-home": tmp_path / "person" / "at-home",
    }[store]

    assert (expected / wiring.DATABASE_NAME).is_file()
    opened.close()


def test_a_store_that_cannot_be_opened_leaves_no_trace_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "vecctx").write_text("in the way", encoding="utf-8")

    with pytest.raises(StoreUnavailableError):
        wiring.open_parts(Settings(), tmp_path)
    (tmp_path / "vecctx").unlink()
    wiring.open_parts(Settings(), tmp_path).close()


def test_engines_that_open_at_once_share_one(tmp_path: Path) -> None:
    opened: list[wiring.Opened] = []
    start = threading.Barrier(8)

    def open_it() -> None:
        start.wait()
        opened.append(wiring.open_parts(Settings(), tmp_path))

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({id(one) for one in opened}) == 1
    for one in opened:
        one.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are a thing of Unix")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_opens_its_own(tmp_path: Path) -> None:
    parent = wiring.open_parts(Settings(), tmp_path)
    child = os.fork()
    if not child:
        is_right = False
        try:
            own = wiring.open_parts(Settings(), tmp_path)
            store_a_word(own, "from the child")
            is_right = own is not parent and not parent.serves(Settings(), tmp_path)
            own.close()
        finally:
            os._exit(0 if is_right else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    store_a_word(parent, "from the parent")
    assert len(parent.parts.store.known(1)) == 2
    parent.close()


def test_the_default_model_is_named_and_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    embedder = wiring.embedder_for(Settings())

    assert isinstance(embedder, OnnxEmbedder)
    assert embedder.identity.dimensions == 384


@pytest.mark.parametrize("model", ["no-such-model", "/no/such/folder"])
def test_a_model_that_is_not_here_costs_recall_by_meaning_and_not_the_store(
    model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()

    opened = wiring.open_parts(Settings(model=model), tmp_path)

    assert opened.parts.embedder.identity.model == model
    store_a_word(opened, "stored all the same")
    with pytest.raises(ModelError):
        opened.parts.embedder.embed_query("anything")
    opened.close()


def test_counters_are_shared_by_encoding_and_differ_in_the_price_of_pictures() -> None:
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}]}

    assert wiring.counter_for("gpt-4o", Settings()) is wiring.counter_for("openai/gpt-4o-mini", Settings())
    cheap, dear = (wiring.counter_for("", Settings(image_tokens=price)) for price in (100, 5_000))
    assert dear.count_message(picture) - cheap.count_message(picture) == 4_900


def test_parts_with_another_counter_are_the_same_parts_otherwise() -> None:
    parts, counter = make_parts(), wiring.counter_for("gpt-4o", Settings())

    changed = wiring.with_counter(parts, counter)

    assert changed.counter is counter
    assert (changed.store, changed.index, changed.embedder) == (parts.store, parts.index, parts.embedder)


def test_what_the_last_one_closes_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = wiring.open_parts(Settings(), tmp_path)
    saved: list[str] = []
    monkeypatch.setattr(opened.parts.index, "save", lambda: saved.append("index"))

    assert opened.flush(10)
    opened.close()

    assert saved == ["index", "index"]
