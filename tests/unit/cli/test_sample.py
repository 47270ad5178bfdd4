from importlib.resources import files

from vecctx.cli.sample import conversation, questions


def test_the_conversation_is_one_whole_haystack_in_order() -> None:
    rows = conversation()

    assert len(rows) == 413
    assert {row["role"] for row in rows} == {"user", "assistant"}
    assert len({row["message_uid"] for row in rows}) == 413
    assert [row["timestamp"] // 86_400 for row in rows] == sorted(row["timestamp"] // 86_400 for row in rows)


def test_each_piece_of_evidence_stands_in_its_message_and_in_no_other() -> None:
    texts = {row["message_uid"]: row["content"] for row in conversation()}
    pieces = [piece for question in questions() for piece in question.evidence]

    holders = [[uid for uid, text in texts.items() if piece.says in text] for piece in pieces]

    assert holders == [[piece.turn] for piece in pieces]


def test_no_question_or_answer_gives_its_evidence_away() -> None:
    """What is asked and answered becomes part of the conversation: it must not pass for the evidence."""
    spoken = " ".join(text for question in questions() for text in (question.text, question.answer))

    assert not [piece for question in questions() for piece in question.evidence if piece.says in spoken]


def test_the_first_question_is_the_benchmarks_own_and_five_are_ours() -> None:
    origins = [question.origin for question in questions()]

    assert origins == ["LongMemEval 6a1eabeb (knowledge-update)", *["written for this demo"] * 5]
    assert any(len(question.evidence) > 1 for question in questions()[1:])


def test_the_conversation_ships_with_its_licence_and_authors() -> None:
    notice = (files("vecctx.cli") / "data" / "NOTICE").read_text(encoding="utf-8")

    assert "Permission is hereby granted, free of charge" in notice
    assert "Di Wu, Hongwei Wang, Wenhao Yu, Yuwei Zhang, Kai-Wei Chang, Dong Yu" in notice
