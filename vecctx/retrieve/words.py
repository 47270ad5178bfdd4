"""Words that say nothing when they are searched for."""

_STOP = """
a about after again all also am an and any are as at be because been before being but by can could did do does doing
done for from get got had has have having he her here hers him his how i if in into is it its just know let like me more
most my no nor not now of off ok okay on once only or other our out over own please really same she should so some such
than thank thanks that the their them then there these they thing things this those through to too up us very was we
well were what when where which while who whom whose why will with would yeah yes you your
"""
_SMALL_TALK = """
hi hello hey bye goodbye good great nice cool perfect fine sure right alright awesome continue go ahead proceed next
much morning evening night sounds makes sense see hmm haha lol wow later tomorrow lets try cheers welcome
yep yup nope thx ty np lgtm
好 好的 的好 谢谢 多谢 继续 请继 你好 您好 嗯 嗯嗯 是 是的 对 对的 不 可以 行 再见 明白 了解 好吧 收到 没事
谢谢你 谢谢您 非常感谢 多谢了 可以的 没问题 知道了 明白了 好的呀 不用了 不客气 辛苦了 早上好 晚上好
"""
STOP_WORDS = frozenset(_STOP.split())
"""English words that every text has. Dropping them: LoCoMo +2.2."""
SMALL_TALK = frozenset(_SMALL_TALK.split())
"""Words that only keep a talk going. A message of nothing else recalls nothing: in meaning every "bye" is close."""
