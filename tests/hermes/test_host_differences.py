"""The same engines in both hosts: what is the same, and that the document names what is not."""

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby, pairwise

import pytest

from tests.hermes.conversation import Home, Played, Row, Speaker, do, turn
from tests.hermes.environment import ROOT
from tests.hermes.probe.recording import HOOKS
from tests.hermes.provider import ScriptedProvider
from tests.hermes.scripts import DECISIVE, RAISING_STEPS, STEPS, answer_anything, play_script, without_wording

HOSTS = ("hermes", "reference")
MALFORMED = ("empty", "text", "tuple", "mixed", "no_system", "more_system", "nameless_result", "edited")
TURNS = [step["do"] for step in RAISING_STEPS].count("turn")
REFUSED_BY_BOTH = ("empty", "text", "tuple", "mixed")
DOCUMENT = ROOT / "docs" / "host-differences.md"
Play = Callable[[str, str], Played]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    @cache
    def once(host: str, engine: str) -> Played:
        return play_script(tmp_path_factory.mktemp(host) / "home", host, engine)

    return once


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """What a host makes of an engine that raises in a hook: by host and hook."""
    found: dict[tuple[str, str], str] = {}
    for host in HOSTS:
        home = Home(
            tmp_path_factory.mktemp("raising") / "home", host, "raising", config={"agent": {"api_max_retries": 1}}
        )
        speakers = [Speaker(RAISING_STEPS, session_id=hook, engine=f"raising-{hook}") for hook in HOOKS]
        played = home.play(ScriptedProvider(answer_anything), *speakers)
        found |= {(host, hook): outcome(agent) for hook, agent in zip(HOOKS, played.agents, strict=True)}
    return found


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[Row]]:
    """What arrives when a selection is malformed: by host and selection."""
    found: dict[tuple[str, str], list[Row]] = {}
    for host in HOSTS:
        home = Home(tmp_path_factory.mktemp("malformed") / "home", host, "malformed")
        speakers = [Speaker([turn("Hello.")], session_id=name, engine=f"malformed-{name}") for name in MALFORMED]
        played = home.play(ScriptedProvider(answer_anything), *speakers)
        found |= {(host, name): request for name, request in zip(MALFORMED, played.requests, strict=True)}
    return found


@pytest.mark.parametrize("engine", ["trivial", "vecctx"])
def test_both_hosts_call_the_decisive_hooks_in_the_same_order(play: Play, engine: str) -> None:
    hermes, reference = (play(host, engine) for host in HOSTS)

    assert decisive(hermes) == decisive(reference)
    assert len(decisive(hermes)) > 20


def test_both_hosts_send_the_same_requests_for_an_engine_that_changes_nothing(play: Play) -> None:
    hermes, reference = (play(host, "trivial") for host in HOSTS)

    assert [without_wording(rows) for rows in hermes.requests] == [without_wording(rows) for rows in reference.requests]


def test_both_hosts_send_what_vecctx_selects_from_equal_histories(play: Play) -> None:
    """After the compaction the histories differ: each host has its own built-in summarizer."""
    hermes, reference = ([without_wording(rows) for rows in play(host, "vecctx").requests] for host in HOSTS)

    assert hermes[:6] == reference[:6]
    assert hermes[-1] == reference[-1]
    assert len(hermes) == len(reference) == 9


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("engine", ["trivial", "vecctx"])
def test_what_arrives_is_what_the_engine_returned(play: Play, host: str, engine: str) -> None:
    played = play(host, engine)
    selections = [call["answer"] for call in played.calls if call["hook"] == "select_context"]

    assert [without_wording(rows) for rows in played.requests] == [without_wording(rows) for rows in selections]
    assert all(
        request[0]["content"] == rows[0]["content"] for request, rows in zip(played.requests, selections, strict=True)
    )


@pytest.mark.parametrize("engine", ["trivial", "vecctx"])
def test_both_hosts_end_the_steps_alike(play: Play, engine: str) -> None:
    hermes, reference = (play(host, engine) for host in HOSTS)
    ends = [
        [(step.get("reply") or None, step.get("failed"), step.get("interrupted")) for step in played.steps]
        for played in (hermes, reference)
    ]
    reset = STEPS.index(do("reset"))

    assert ends[0][:reset] == ends[1][:reset]
    assert ends[0][reset + 1 :] == ends[1][reset + 1 :]


def test_the_reference_host_swallows_whatever_an_engine_raises(outcomes: dict[tuple[str, str], str]) -> None:
    assert {outcomes["reference", hook] for hook in HOOKS} == {"goes on"}


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_both_hosts_refuse_what_is_no_list_of_messages(sent: dict[tuple[str, str], list[Row]], name: str) -> None:
    expected = [{"role": "user", "content": "Hello."}]

    assert [without_wording(sent[host, name]) for host in HOSTS] == [expected, expected]
    assert [sent[host, name][0]["role"] for host in HOSTS] == ["system", "system"]


def test_the_document_shows_what_is_recorded(
    play: Play, outcomes: dict[tuple[str, str], str], sent: dict[tuple[str, str], list[Row]]
) -> None:
    """With RENEW_DOCUMENT=1 it is written anew; the sentences around the tables are for a person to check then."""
    trivial = play("hermes", "trivial"), play("reference", "trivial")
    tables = {
        "| step | Hermes | reference host |": calls_table(*trivial),
        "| hook | only Hermes | only the reference host |": keywords_table(*trivial),
        "| hook | Hermes | reference host |": [
            f"| `{hook}` | {outcomes['hermes', hook]} | {outcomes['reference', hook]} |" for hook in HOOKS
        ],
        "| selection | Hermes | reference host |": [
            f"| `{name}` | {shown(sent['hermes', name])} | {shown(sent['reference', name])} |" for name in MALFORMED
        ],
    }
    before = DOCUMENT.read_text(encoding="utf-8")
    recorded = with_tables(before, tables)
    if os.environ.get("RENEW_DOCUMENT"):
        DOCUMENT.write_text(recorded, encoding="utf-8")

    assert recorded == before


def decisive(played: Played) -> list[str]:
    return [hook for hook in played.hooks if hook in DECISIVE]


def outcome(agent: dict[str, object]) -> str:
    """In the words of the document."""
    steps = agent["steps"]
    assert isinstance(steps, list)
    if agent["construction_error"]:
        return "no agent"
    broken = [
        step["do"]
        for step, brought in zip(RAISING_STEPS, steps, strict=True)
        if "raised" in brought or brought.get("failed")
    ]
    turns = broken.count("turn")
    found = [f"{turns} of {TURNS} turns fail"] if turns else []
    found += [f"`{name}` fails" for name in broken if name != "turn"]
    return ", ".join(found) or "goes on"


def with_tables(text: str, tables: dict[str, list[str]]) -> str:
    """A document with these lines below the head of each table."""
    lines = iter(text.splitlines())
    renewed: list[str] = []
    for line in lines:
        renewed.append(line)
        if line in tables:
            renewed += [next(lines), *tables[line]]
            renewed += lines_after_table(lines)
    return "\n".join(renewed) + "\n"


def lines_after_table(lines: Iterator[str]) -> Iterator[str]:
    """The one line that ends a table; its old lines are gone."""
    for line in lines:
        if not line.startswith("|"):
            yield line
            return


def calls_table(hermes: Played, reference: Played) -> list[str]:
    """A line for each step: what each host asked, consecutive repeats counted."""
    names = ["construction", *(step.get("text", "")[:16].partition(" Re")[0] or step["do"] for step in STEPS)]
    columns = (steps_of(hermes), steps_of(reference))
    return [f"| {name} | {h} | {r} |" for name, h, r in zip(names, *columns, strict=True)]


def keywords_table(hermes: Played, reference: Played) -> list[str]:
    """A line for each hook that gets more in one of the hosts."""
    ours, theirs = keywords(reference), keywords(hermes)
    return [
        f"| `{hook}` | {listed(theirs[hook] - ours[hook])} | {listed(ours[hook] - theirs[hook])} |"
        for hook in HOOKS
        if hook in theirs and hook in ours and theirs[hook] != ours[hook]
    ]


def steps_of(played: Played) -> list[str]:
    starts = [0, *(step["calls_before"] for step in played.steps), len(played.hooks)]
    return [counted(played.hooks[start:end]) for start, end in pairwise(starts)]


def counted(hooks: list[str]) -> str:
    groups = [(hook, len(list(group))) for hook, group in groupby(hooks)]
    return ", ".join(f"`{hook}`" + (f" x{count}" if count > 1 else "") for hook, count in groups)


def keywords(played: Played) -> dict[str, set[str]]:
    """All keywords that a host passes to a hook."""
    found: dict[str, set[str]] = {}
    for call in played.calls:
        found.setdefault(call["hook"], set()).update(call["keywords"])
    return found


def listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "-"


def shown(rows: list[Row]) -> str:
    """A request in a few words."""
    return " ".join(shown_row(row) for row in rows)


def shown_row(row: Row) -> str:
    content = json.dumps(row["content"]) if isinstance(row["content"], list) else str(row["content"])
    is_prompt = row["role"] == "system" and "And one more" not in content
    return "system" if is_prompt else f"{row['role']}: {content!r}"
