"""A model that needs no network: it quotes what it was sent that fits the question best, or says that nothing does."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .context_engine import Message
from .messages import calls_of, text_of
from .testing import Reply, ScriptedModel, call

MARK = "[offline]"
_ENOUGH = 0.34  # share of the question's weight that a quoted line must hold
_QUESTION_WEIGHT = 0.5  # a line that asks the same does not answer it
_STEM_CHARACTERS = 5  # "deployed" and "deploying" are both "deplo"
_LONGEST_QUOTE_CHARACTERS = 300
_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u2e80-\ud7ff\uf900-\ufaff]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_ARITHMETIC = re.compile(
    r"(?:what is|calculate|how much is)?\s*([-+(]*\d[\d\s.+*/()%-]*[+*/%-][\d\s.()+*/%-]*)[=?\s]*", re.IGNORECASE
)
_TIME = re.compile(r"what (?:time|day) is it|what is the (?:time|date)", re.IGNORECASE)
_COMMON = frozenset(
    _WORD.findall(
        "the a an is are was were of to in on at for and or it its we you i my me our your what which who where when "
        "how do does did that this with about can please tell"
    )
)


class OfflineModel:
    """Answers the same request with the same words, always."""

    def __init__(self) -> None:
        self._model = ScriptedModel(answer)

    def begin(self) -> None:
        """Nothing to forget: each answer is there at once."""

    def cancel(self) -> None:
        """Nothing to stop."""

    def wait(self, seconds: float) -> None:
        """Nothing to wait for: this model never fails."""

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response to a request."""
        self._model.bodies.clear()
        return self._model.complete(body)


def answer(body: dict[str, Any]) -> Reply:
    """A tool's result, a call of the clock or the calculator, or the best quote from the messages."""
    rows: list[Message] = body["messages"]
    if rows[-1].get("role") == "tool":
        return Reply(f"{MARK} The tool says: {_short(text_of(rows[-1]))}")
    question = _question(rows)
    tools = {tool["function"]["name"] for tool in body.get("tools", ())}
    expression = _ARITHMETIC.fullmatch(question[:_LONGEST_QUOTE_CHARACTERS].strip())
    if expression and "calculator" in tools:
        return Reply(calls=[call(_call_id(rows), "calculator", expression=expression[1].strip())])
    if _TIME.search(question) and "clock" in tools:
        return Reply(calls=[call(_call_id(rows), "clock")])
    return Reply(f"{MARK} {_quote(rows, question)}")


def _quote(rows: Sequence[Message], question: str) -> str:
    lines = list(_lines(rows, question))
    counts = Counter(term for _, _, line in lines for term in _terms(line))
    wanted = {term: 1.0 / (1 + counts[term]) for term in _terms(question)}
    total = sum(wanted.values())

    def score(line: str) -> float:
        weight = _QUESTION_WEIGHT if line.rstrip().endswith(("?", "？")) else 1.0
        return weight * sum(wanted[term] for term in sorted(_terms(line) & wanted.keys())) / total

    # Of equals the newest: what was said last holds.
    best = max(lines, key=lambda found: (score(found[2]), found[0]), default=None) if total else None
    if best is None or score(best[2]) < _ENOUGH:
        return f"Nothing in the {len(rows)} messages that I was sent is about that."
    return f'Message {best[0] + 1} of {len(rows)} ({best[1]}) says: "{_short(best[2])}"'


def _lines(rows: Sequence[Message], question: str) -> Iterator[tuple[int, str, str]]:
    """Each sentence with its message's number and role, but not the question and not this model's own words."""
    for number, row in enumerate(rows):
        text = text_of(row)
        if number == _question_at(rows):
            text = text.strip().removesuffix(question)
        if row.get("role") != "system" and not text.startswith(MARK):
            pieces = (piece.strip() for piece in _SENTENCE_END.split(text))
            yield from ((number, str(row.get("role")), piece) for piece in pieces if piece and MARK not in piece)


def _question(rows: Sequence[Message]) -> str:
    """The last paragraph of the user's newest message: what was recalled for it may stand above."""
    at = _question_at(rows)
    return text_of(rows[at]).strip().rpartition("\n\n")[2] if at >= 0 else ""


def _question_at(rows: Sequence[Message]) -> int:
    return max((number for number, row in enumerate(rows) if row.get("role") == "user"), default=-1)


def _terms(text: str) -> set[str]:
    runs = _CJK.findall(text)
    pairs = {run[i : i + 2] for run in runs for i in range(max(len(run) - 1, 1))}
    words = {word.lower() for word in _WORD.findall(_CJK.sub(" ", text))} - _COMMON
    return pairs | {word[:_STEM_CHARACTERS] for word in words}


def _call_id(rows: Sequence[Message]) -> str:
    return f"offline_{sum(len(calls_of(row)) for row in rows) + 1}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE_CHARACTERS else f"{text[:_LONGEST_QUOTE_CHARACTERS]}…"
