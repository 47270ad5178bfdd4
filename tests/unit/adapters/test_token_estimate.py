"""The estimate is near the true count in every script, and seldom below it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import weird
from vecctx.adapters.token_counter import TiktokenCounter
from vecctx.adapters.token_estimate import estimate_tokens

EXACT = TiktokenCounter()

# Scripts where an estimate by characters alone goes far astray: here it must not fall short by more than a tenth.
DENSE = {
    "simplified Chinese": (
        "今天早上我在公园里散步的时候，遇到了一位多年不见的老朋友。我们坐在长椅上聊了很久，谈到了工作和孩子的教育。"
    ),
    "traditional Chinese": (
        "臺灣的夜市有許多美食，像是蚵仔煎、臭豆腐和珍珠奶茶，觀光客總是排很長的隊伍等待品嚐這些道地小吃。"
    ),
    "Japanese": (
        "昨日の会議では、来年度の予算について長い議論がありました。"
        "結局、広告費を削減して開発チームを増やすことにしました。"
    ),
    "Korean": (
        "어제 친구와 함께 시장에 가서 과일과 채소를 샀습니다. 날씨가 너무 더워서 집에 돌아오자마자 물을 마셨습니다."
    ),
    "Thai": ("เมื่อวานนี้ฉันไปตลาดกับแม่เพื่อซื้อผักและผลไม้สำหรับทำอาหารเย็น หลังจากนั้นเราก็กลับบ้านและทำความสะอาดห้องครัว"),
    "Arabic": "ذهبت أمس إلى السوق مع والدتي لشراء الخضروات والفواكه، ثم عدنا إلى المنزل وساعدتها في تنظيف المطبخ.",
    "emoji": "😀😂🥰👍🎉🔥🚀💡✅❌🙏🤔😭💯🌍🍕🐶 👨‍👩‍👧‍👦🏳️‍🌈👍🏽❤️‍🔥🇩🇪🇯🇵✨⭐️☀️",
}
OTHERS = {
    "English": (
        "Yesterday I went to the market with my mother to buy vegetables "
        "and fruit, and afterwards we cleaned the house."
    ),
    "German": (
        "Gestern war ich mit meiner Mutter auf dem Markt, um Gemüse zu kaufen; danach haben wir die Küche geputzt."
    ),
    "French": (
        "Hier, je suis allé au marché avec ma mère pour acheter des légumes et des fruits, puis nous sommes rentrés."
    ),
    "Polish": "Wczoraj poszedłem z mamą na targ, żeby kupić warzywa i owoce, a potem wróciliśmy do domu.",
    "Vietnamese": (
        "Hôm qua tôi đã đi chợ với mẹ để mua rau và trái cây, sau đó chúng tôi về nhà và cùng nhau dọn dẹp nhà bếp."
    ),
    "Russian": (
        "Вчера мы с мамой ходили на рынок за овощами и фруктами, а потом вернулись домой и вместе убрали кухню."
    ),
    "Greek": (
        "Χθες πήγα στην αγορά με τη μητέρα μου για να αγοράσουμε λαχανικά και φρούτα, και μετά γυρίσαμε στο σπίτι."
    ),
    "Hebrew": "אתמול הלכתי לשוק עם אמא שלי כדי לקנות ירקות ופירות, ואחר כך חזרנו הביתה.",
    "Hindi": "कल मैं अपनी माँ के साथ बाज़ार गया था ताकि हम सब्ज़ियाँ और फल खरीद सकें, फिर हम घर लौटे।",
    "code": (
        "def total(rows):\n    return sum(row['price'] * row.get('count', "
        "1) for row in rows if row)\n\n\nprint(total([]))\n"
    ),
    "JSON": (
        '{"id": "call_8f3a", "type": "function", "function": {"name": '
        '"read_file", "arguments": {"path": "src/app.py"}}}'
    ),
    "log": (
        "2026-12-01 15:29:03,221 ERROR [worker-3] db.pool: connection to 10.0.0.7:5432 lost (errno=104), retry 3/5\n"
    ),
    "hash": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}


@pytest.mark.parametrize("text", [*DENSE.values(), *OTHERS.values()], ids=[*DENSE, *OTHERS])
def test_the_estimate_is_within_thirty_percent(text: str) -> None:
    assert estimate_tokens(text) == pytest.approx(EXACT.count_text(text), rel=0.3)


@pytest.mark.parametrize("text", DENSE.values(), ids=DENSE)
def test_the_estimate_falls_short_by_no_more_than_a_tenth(text: str) -> None:
    assert estimate_tokens(text) >= 0.9 * EXACT.count_text(text)


@given(st.text(st.characters(codec=None)) | st.sampled_from([*weird.SCRIPTS, *weird.LONE_SURROGATES]))
def test_any_text_has_an_estimate(text: str) -> None:
    assert (estimate_tokens(text) > 0) == bool(text.strip(" "))


@pytest.mark.parametrize("unit", [" ", "^", "aA", "中", "a-", "aé", "word "])
def test_a_megabyte_is_estimated_in_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()

    estimate_tokens(text)

    assert time.process_time() - started < 5  # it takes 0.3 seconds at most
