from vecctx.cli.evidence import Evidence, place_of

EVIDENCE = Evidence("m1", "27:12 in a charity run")


def rows(*contents: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content} for content in contents]


def test_a_passage_in_an_earlier_message_was_kept() -> None:
    assert place_of(EVIDENCE, rows("I ran 27:12 in a charity run.", "how fast was I?")) == "kept"


def test_a_passage_beside_the_question_was_recalled() -> None:
    assert (
        place_of(EVIDENCE, rows("hello", "<recalled> 27:12 in a charity run </recalled> how fast was I?")) == "recalled"
    )


def test_a_part_of_the_passage_is_not_enough() -> None:
    assert place_of(EVIDENCE, rows("27:12", "how fast was I?")) is None
