"""The state as it was: the fold up to a record or a moment, step by step, between two; and nothing of it can reach the portal."""

import json
import subprocess
import sys

import pytest

from orchestrator.reports.replay import compare_states, replay_state, replay_steps
from state.events.fold import fold_events
from state.journal.journal import load_state
from state.journal.store import Store
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, Told, rows_of

STREAM = f"session:{CHAT}"


@pytest.mark.req("S004-33", "S004-36")
def test_every_moment_is_the_fold_of_what_had_happened(store: Store) -> None:
    """At the head it is the state of today, before the first it is empty, a moment counts up to the record made then."""
    head, _ = store.read_head(STREAM)
    assert replay_state(store, STREAM, head).state == load_state(store, STREAM)[0]
    assert replay_state(store, STREAM, head + 99).seq == head
    before = replay_state(store, STREAM, 0)
    assert (before.seq, before.ts, before.state.agent.goals) == (0, "", [])
    events = store.read_events(STREAM)
    assert replay_state(store, STREAM, 6).state == fold_events(before.state, ((one.type, dict(one.data), one.ts) for one in events[:6]))


def test_replay_shows_what_stood_then(run: Run, told: Told) -> None:
    """While the first card waited: goals, the open card with who asked and until when; a time leads to the same place as a number."""
    card = told.cards["approved"]["confirmation_id"]
    by_number = run("replay", CHAT, "--until", 6).output.replace("\xa0", " ")
    assert f"{CHAT} after record #6, 2026-11-21 12:01:03Z" in by_number
    assert (
        f"open cards       crm.deal.update: «Ромашка» Сумма: 1 000 000 ₽ → 1 200 000 ₽ — asked by Анна (tg:1007), until 2026-11-22 12:01:03Z [{card}]"
        in by_number
    )
    assert "done             —" in by_number
    assert run("replay", CHAT, "--until", "2026-11-21 12:01:30").output.replace("\xa0", " ") == by_number
    after = run("replay", CHAT, "--until", "2026-11-21T12:01:43Z").output
    assert "open cards       —" in after
    assert "crm.deal.update deal 481" in after
    steps = rows_of(run("replay", CHAT, "--until", 60, "--step", "--json").output)
    unknown = next(one["seq"] for one in map(json.loads, steps) if one["type"] == "CallOutcomeUnknown")
    state = json.loads(run("replay", CHAT, "--until", unknown, "--json").output)["state"]
    assert [entry["method"] for entry in state["unknown"].values()] == ["crm.deal.update"]


def test_each_step_says_what_it_changed(run: Run, store: Store) -> None:
    """The changes of all steps together are the way from nothing to the state."""
    found = [json.loads(line) for line in rows_of(run("replay", CHAT, "--until", 9, "--step", "--json").output)]
    assert [step["seq"] for step in found] == list(range(1, 10))
    started = next(step for step in found if step["type"] == "CallStarted")
    assert ["+", "agent.in_progress[0]"] in [[change["sign"], change["path"]] for change in started["changes"]]
    text = run("replay", CHAT, "--until", 7, "--step").output
    assert "#7 2026-11-21 12:01:43Z card" in text
    assert ".status: requested → approved" in text
    assert all(
        step.changes or step.event.type in {"ModelAsked", "ModelAnswered", "PlanRecorded"} for step in replay_steps(store, STREAM, 9)
    )


def test_diff_says_what_came_went_and_changed(run: Run, told: Told) -> None:
    """Between the card and the call: its status, the current deal, the deed; the same two moments say that nothing changed."""
    card = told.cards["approved"]["confirmation_id"]
    lines = rows_of(run("diff", CHAT, 6, 9).output)
    assert lines[0] == "#6 (2026-11-21 12:01:03Z) → #9 (2026-11-21 12:01:43Z)"
    assert f"~ agent.confirmations.{card}.status: requested → executed" in lines
    assert "~ agent.objects.current_deal_id: nothing → 481" in lines
    assert any(line.startswith("+ agent.done[0]: ") for line in lines)
    assert any(line.startswith("- ") for line in rows_of(run("diff", CHAT, 9, 6).output))
    assert "nothing changed" in run("diff", CHAT, 6, 6).output


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 2}, ["~ a"]),
        ({"a": 1}, {"b": 1}, ["- a", "+ b"]),
        ({"a": ["x", "y"]}, {"a": ["new", "x", "y"]}, ["+ a[0]"]),
        ({"a": [{"id": 1, "s": "o"}]}, {"a": [{"id": 1, "s": "p"}]}, ["~ a[0].s"]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, ["- a[1]"]),
        ({"a": None}, {"a": {}}, ["~ a"]),
        ({}, {}, []),
    ],
)
def test_differences_name_the_smallest_place(before: dict[str, object], after: dict[str, object], expected: list[str]) -> None:
    """A list item that came in front moves no other one."""
    assert [f"{change.sign} {change.path}" for change in compare_states(before, after)] == expected


@pytest.mark.long
@pytest.mark.req("S004-48")
def test_a_replay_cannot_send() -> None:
    """Neither the replay nor any report it needs loads a performer, a client of the portal or of a model, or HTTP at all."""
    code = "import sys, orchestrator.reports.replay, orchestrator.reports.conversations, orchestrator.reports.why.call_search, bot.cli.journal.sessions; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout.split())
    assert "orchestrator.reports.replay" in loaded
    senders = (
        "orchestrator.performers",
        "orchestrator.model_client",
        "bitrix.client.client",
        "bitrix.bulk.bulk",
        "orchestrator.gate.execute.executor",
        "httpx",
        "aiogram",
    )
    assert [name for name in loaded if name.startswith(senders)] == []
