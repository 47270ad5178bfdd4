"""Evidence recall at a token budget, through `select_context` itself.

python -m benchmarks.run DATA.jsonl [--budgets 1000,2000,4000] [--conversations N] [--questions N] [--half 1|2]
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contestants import Contestant, Oracle, SlidingWindow, Vecctx
from benchmarks.conversations import Conversation, Question, load
from vecctx.adapters.token_counter import TiktokenCounter
from vecctx.ports import TokenCounter
from vecctx.turns.content import text_of_row

SHORT_CHARACTERS = 20
"""Shorter evidence must be a whole message or line: "yes" is contained in anything."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How one question went."""

    found: float
    """Share of its evidence that is in the request; 0 if the request is over the budget."""
    tokens: int
    is_over: bool
    milliseconds: float


def main() -> int:
    """Measure and print the table; progress goes to stderr."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--budgets", default="1000,2000,4000,8000")
    parser.add_argument("--conversations", type=int, default=None, help="only the first N")
    parser.add_argument("--questions", type=int, default=None, help="only the first N of each conversation")
    parser.add_argument("--half", type=int, choices=(1, 2), default=None, help="even or odd conversations")
    parser.add_argument("--exclude", default="", help="a category to leave out")
    options = parser.parse_args()
    budgets = [int(budget) for budget in options.budgets.split(",")]
    conversations = load(options.data)[: options.conversations]
    if options.half:
        conversations = conversations[options.half - 1 :: 2]
    answers: dict[tuple[str, int], list[Answer]] = defaultdict(list)
    for conversation in conversations:
        print(f"{conversation.name}: {len(conversation.messages)} messages", file=sys.stderr)
        questions = [q for q in conversation.questions if q.category != options.exclude][: options.questions]
        measure(conversation, questions, budgets, answers)
    print(table(answers, budgets))
    return 0


def measure(
    conversation: Conversation,
    questions: Sequence[Question],
    budgets: Sequence[int],
    answers: dict[tuple[str, int], list[Answer]],
) -> None:
    """Ask every contestant every question at every budget."""
    counter = TiktokenCounter("cl100k_base")
    with ExitStack() as stack:
        contestants: list[Contestant] = [
            stack.enter_context(Vecctx(conversation)),
            SlidingWindow(conversation, counter),
            Oracle(conversation, counter),
        ]
        for contestant in contestants:
            for budget in budgets:
                answers[contestant.name, budget] += [
                    answer(contestant, conversation, question, budget, counter) for question in questions
                ]


def answer(
    contestant: Contestant, conversation: Conversation, question: Question, budget: int, counter: TokenCounter
) -> Answer:
    """Ask one question and look for its evidence in what would be sent."""
    start = time.perf_counter()
    sent = contestant.ask(question.text, budget)
    milliseconds = 1000 * (time.perf_counter() - start)
    tokens = sum(map(counter.count_message, sent))
    held = sum(holds(sent[:-1], text_of_row(conversation.messages[n])) for n in question.evidence)
    is_over = tokens > budget
    return Answer(0.0 if is_over else held / len(question.evidence), tokens, is_over, milliseconds)


def holds(sent: Sequence[dict[str, Any]], text: str) -> bool:
    """Whether a text is in the request as a whole, white space aside."""
    wanted = " ".join(text.split())
    if len(wanted) < SHORT_CHARACTERS:
        lines = (" ".join(line.split()) for row in sent for line in text_of_row(row).splitlines())
        return wanted in lines
    return any(wanted in " ".join(text_of_row(row).split()) for row in sent)


def table(answers: dict[tuple[str, int], list[Answer]], budgets: Sequence[int]) -> str:
    """Mean recall with its 95 % interval, all and any evidence, tokens, over the budget, median time."""
    lines = [
        "| | budget | recall % | ± | all % | any % | tokens | over | p50 ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(name for name, _ in answers):
        for budget in budgets:
            rows = answers[name, budget]
            found = [row.found for row in rows]
            spread = 1.96 * statistics.pstdev(found) / len(found) ** 0.5
            figures = (
                f"{100 * statistics.mean(found):.1f} | {100 * spread:.1f}",
                f"{100 * statistics.mean(share == 1 for share in found):.1f}",
                f"{100 * statistics.mean(share > 0 for share in found):.1f}",
                f"{statistics.mean(row.tokens for row in rows):.0f} | {sum(row.is_over for row in rows)}",
                f"{statistics.median(row.milliseconds for row in rows):.1f}",
            )
            lines.append(f"| {name} | {budget} | {' | '.join(figures)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
