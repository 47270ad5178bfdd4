"""Words find what was said: stems, identifiers, and pairs of characters where nothing parts the words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import weird
from tests.builders import make_message
from tests.fakes.store import FakeStore
from tests.growth import LONGEST_GROWTH, growth
from vecctx.retrieve.lexical import QUERY_TERMS, asks_something, lexical, query_terms, terms, weight
from vecctx.values import Chunk, Turn

ODD = ["my-proxy", "tool-bridge", "v1.2.3", "foo_bar", "src/app.py:42", "C++", "AND", '"', "*", "NEAR(", "'", "()"]


@given(st.one_of(st.text(), st.sampled_from([*ODD, *weird.SCRIPTS, *weird.LONE_SURROGATES, *weird.SPECIAL_TOKENS])))
def test_no_term_holds_white_space_or_is_empty(text: str) -> None:
    found = terms(text)

    assert not [term for term in found if not term or re.search(r"\s", term)]
    assert terms(text) == found


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("my-proxy", "my-proxy"),
        ("tool-bridge", "tool-bridge"),
        ("v1.2.3", "v1.2.3"),
        ("foo_bar", "foo_bar"),
        ("src/app.py:42", "src/app.py:42"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("node.js", "node.js"),
        ("@user", "@user"),
        ("--help", "--help"),
        ("a.b.c", "a.b.c"),
        ("ＡＢＣ-１", "abc-1"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "see {}.", '"{}"', "({}),", "where is {}?"])
def test_an_identifier_is_a_term_of_its_own_wherever_it_stands(text: str, own: str, around: str) -> None:
    assert own in terms(around.format(text))


def test_an_identifier_is_also_found_by_its_parts() -> None:
    assert set(terms("src/app.py:42")) == {"src/app.py:42", "src", "app", "py", "42"}


@pytest.mark.parametrize("text", ["AND", '"', "*", "?", "", " ", "...", "()", "the", "OR NOT"])
def test_what_says_nothing_has_no_term(text: str) -> None:
    assert terms(text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("昨晚", ("昨晚",)),
        ("昨", ("昨",)),
        ("广西 OR 桂林", ("广西", "桂林")),
        ("ネットワーク", ("ネッ", "ット", "トワ", "ワー", "ーク")),
        ("에러코드", ("에러", "러코", "코드")),
        ("ไทย", ("ไท", "ทย")),
        ("修改youer服务端的计划", ("修改", "youer", "服务", "务端", "端的", "的计", "计划")),
    ],
)
def test_scripts_without_spaces_are_cut_into_pairs(text: str, found: tuple[str, ...]) -> None:
    assert terms(text) == found


@pytest.mark.parametrize(
    "group",
    [
        ["deploy", "deploys", "deployed", "deploying"],
        ["city", "cities"],
        ["add", "adds", "added", "adding"],
        ["tie", "ties"],
        ["note", "notes", "noted", "noting"],
        ["plan", "plans", "planned", "planning"],
        ["Bucket", "bucket's", "buckets", "bucket’s", "BUCKET"],
        ["Maria", "Maria's", "Maria'll"],
    ],
)
def test_the_forms_of_a_word_are_one_term(group: list[str]) -> None:
    assert len({terms(word) for word in group}) == 1


@pytest.mark.parametrize("text", ["don't", "I'll", "you're", "we've", "I'm", "won’t", "it's", "they'd"])
def test_short_forms_of_empty_words_say_nothing(text: str) -> None:
    """The halves of "don't" and "you're" were searched for."""
    assert terms(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        *("ok", "OK!", "thanks, continue", "hi", "Hello there", "?", "yes please", "good morning", "got it", "👍", ""),
        *("I'll continue", "go ahead", "yep", "lgtm", "don't", "thank you so much", "see you tomorrow"),
        *("继续", "好的，谢谢", "谢谢你", "嗯", "是的，继续", "没问题", "可以的", "请继续", "你好", "知道了"),
    ],
)
def test_small_talk_asks_nothing(text: str) -> None:
    assert not asks_something(text)


@pytest.mark.parametrize(
    "text",
    [
        *("run the test", "what did we name the bucket?", "my-proxy", "why 42?", "C++", "the problem is back"),
        *("昨晚", "有问题", "修改youer服务端的计划", "继续部署", "에러코드", "เมื่อวาน", "где сервер?"),
    ],
)
def test_a_question_asks_something(text: str) -> None:
    assert asks_something(text)


def test_a_long_question_keeps_its_beginning_and_its_end() -> None:
    words = [f"word{number}x" for number in range(500)]

    found = query_terms(" ".join(words))

    assert len(found) == QUERY_TERMS
    assert found[: QUERY_TERMS // 2] == tuple(words[: QUERY_TERMS // 2])
    assert found[QUERY_TERMS // 2 :] == tuple(words[-QUERY_TERMS // 2 :])


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma"]), max_size=9))
def test_a_question_holds_each_term_once_and_in_order(words: list[str]) -> None:
    assert query_terms(" ".join(words)) == tuple(dict.fromkeys(terms(" ".join(words))))


def test_words_weigh_more_where_the_question_is_in_a_script_the_model_does_not_know() -> None:
    assert weight("昨晚我们决定了什么 on prod") > weight("what did we decide? 昨晚")
    assert weight("") == weight("what")


# The search.


def stored(*texts: str) -> FakeStore:
    store = FakeStore()
    store.open_conversation("", "s")
    messages = [make_message(text, chunks=(Chunk(0, len(text), terms(text)),)) for text in texts]
    store.add_turns(1, [Turn((message,)) for message in messages], behind=None)
    return store


@pytest.mark.parametrize("name", ["my-proxy", "v1.2.3", "foo_bar", "src/app.py:42", "C++", "tool-bridge"])
def test_the_exact_identifier_ranks_first(name: str) -> None:
    parts = [" ".join(re.findall(r"[^\W_]+", name)) or "x"] * 5
    store = stored(*parts, "proxy", f"it is {name} here", "app.py and foo and bar", "v1.2 and v1.3")

    found = lexical(store, [1], f"where is {name}?", 10)

    assert found.hits[0].chunk_id == 6 + 1


@pytest.mark.parametrize(
    ("question", "answer"),
    [("昨晚", "我们昨晚部署了"), ("桂林", "去桂林旅游"), ("에러코드", "에러코드는 500"), ("พรุ่งนี้", "ประชุมพรุ่งนี้บ่าย")],
)
def test_words_without_spaces_are_found_inside_a_sentence(question: str, answer: str) -> None:
    found = lexical(stored("something else", answer, "别的事情"), [1], question, 10)

    assert [hit.chunk_id for hit in found.hits] == [2]
    assert found.coverage == 1.0


def test_a_term_that_most_chunks_hold_says_nothing() -> None:
    store = stored(*(f"maria said thing{number}" for number in range(20)), "the bucket of maria")

    found = lexical(store, [1], "which bucket did maria name?", 30)

    assert [hit.chunk_id for hit in found.hits] == [21]


def test_a_term_of_few_chunks_counts_even_where_these_are_all() -> None:
    assert len(lexical(stored("maria one", "maria two"), [1], "maria", 10).hits) == 2


def test_coverage_is_the_largest_share_of_the_terms_in_one_chunk() -> None:
    store = stored("red bucket", "blue bucket in frankfurt", "green")

    assert lexical(store, [1], "blue bucket paris frankfurt", 10).coverage == pytest.approx(3 / 4)
    assert lexical(store, [1], "nothing known", 10).coverage == 0.0


def test_what_holds_more_of_the_terms_ranks_higher_and_ties_go_by_id() -> None:
    found = lexical(stored("alpha", "alpha", "alpha beta"), [1], "alpha beta", 10)

    assert [hit.chunk_id for hit in found.hits] == [3, 1, 2]


def test_no_more_than_the_limit_comes_back() -> None:
    assert [hit.chunk_id for hit in lexical(stored(*["alpha"] * 5), [1], "alpha", 2).hits] == [1, 2]


def test_a_question_without_terms_finds_nothing() -> None:
    found = lexical(stored("ok", "the"), [1], "ok?", 10)

    assert (found.hits, found.coverage) == ((), 0.0)


def test_other_conversations_are_not_searched() -> None:
    assert lexical(stored("alpha"), [2], "alpha", 10).hits == ()


@pytest.mark.parametrize("unit", ["^", "a", "a-", "a ", "昨", "don't ", "a.b", "'", "\u200b"])
def test_a_long_text_costs_by_its_length(unit: str) -> None:
    assert growth(terms, unit) < LONGEST_GROWTH
