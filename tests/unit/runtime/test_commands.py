"""Typed commands: fixed code in every mode; the model is never asked, nothing is written."""

from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.runtime.commands import COMMANDS
from tests.unit.spine_kit import ANNA, BORIS, CHAT, World, a_world, command, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost


async def said(world: World, name: str, **more: Any) -> list[Any]:
    """The notices of the answer to a command."""
    await world.work(command(name, **more))
    return [(notice["code"], notice["args"]) for row in world.outbox() for notice in row.body.get("notices") or ()]


def test_the_list_of_first_commands_is_closed() -> None:
    """A command is registered by its feature, the one way that CONTRIBUTING tells: nothing is added here."""
    own = "start help new stop pending today history reminders mode status language settings"
    assert " ".join(COMMANDS) == own


@pytest.mark.parametrize("mode", ["shadow", "canary", "full"])
async def test_every_command_answers_in_every_mode(tmp_path: Path, mode: Any) -> None:
    """No command asks the model or writes to the portal."""
    async with a_world(tmp_path, mode=mode) as world:
        for name in COMMANDS:
            await world.work(command(name))
            assert world.outbox(), name
        assert world.portal.ledger == []
        assert world.model.prompts == []


@pytest.mark.parametrize(
    ("name", "code", "args"),
    [
        ("start", "welcome", {"name": "Анна", "role": "manager", "mode": "full"}),
        ("help", "help", {"role": "manager", "private": True}),
        ("new", "cleared", {"waiting": 0}),
        ("stop", "nothing-to-stop", {}),
        ("pending", "pending", {"count": 0}),
        ("mode", "mode", {"mode": "full", "installed": "full"}),
        ("status", "status", {"mode": "full", "waiting": 0, "unknown": 0, "running": "no", "done": 0}),
        ("quit", "unknown-command", {"commands": " ".join(f"/{name}" for name in (*COMMANDS, "orders", "ask"))}),
        ("", "unknown-command", {"commands": " ".join(f"/{name}" for name in (*COMMANDS, "orders", "ask"))}),
    ],
)
async def test_what_a_command_says(world: World, name: str, code: str, args: dict[str, Any]) -> None:
    """Code and arguments."""
    assert await said(world, name) == [(code, args)]


@pytest.mark.parametrize("name", ["help", "quit"])
async def test_an_administrator_reads_of_the_switch_and_nobody_of_what_does_not_work_here(world: World, name: str) -> None:
    """/freeze and /unfreeze are an administrator's; /settings and /language work in one's own chat, not in a group."""
    for actor in (ANNA, ANNA.model_copy(update={"role": "admin"})):
        for key in (CHAT, "tg:-100500"):
            await world.work(command(name, actor=actor, key=key))
            (row,) = world.outbox()
            said = " ".join(Translator("ru").translate(notice["code"], **notice["args"]) for notice in row.body["notices"])
            found = {word for word in ("/freeze", "/unfreeze", "/settings", "/language", "/new") if f"{word} " in f"{said} "}
            admins = {"/freeze", "/unfreeze"} if actor.role == "admin" else set()
            assert found == {"/new", *admins, *({"/settings", "/language"} if key == CHAT else ())}


async def test_pending_shows_the_open_cards_again(world: World) -> None:
    """Those that wait, and only those."""
    world.model.will(reply(raise_sum(1), raise_sum(2)))
    await world.work(message("две суммы сделки 481"))
    (plan,) = [row.body for row in world.outbox() if row.kind == "card"]
    await world.work(press(plan["members"][0], approve=False))
    world.outbox()
    await world.work(command("pending"))
    rows = world.outbox()
    assert rows[0].body["notices"] == [{"code": "pending", "args": {"count": 1}}]
    (again,) = [row.body for row in rows[1:]]
    assert [one["status"] for one in again["members"]] == ["denied", "requested"]
    assert (again["confirmation_id"], again["anew"]) == (plan["confirmation_id"], True)


@pytest.mark.req("S004-X4")
async def test_new_forgets_the_talk_and_keeps_what_waits(world: World) -> None:
    """Goals, history and current objects begin anew; the card stays and can be pressed."""
    world.model.will(reply(raise_sum(), text="Жду."), reply(text="Чем помочь?"))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = next(row.body for row in world.outbox() if row.kind == "card")
    assert await said(world, "new") == [("cleared", {"waiting": 1})]
    await world.work(message("привет"))
    assert "подними" not in str(world.model.prompts[-1][1:])
    await world.work(press(entry))
    assert len(world.portal.ledger) == 1


async def test_status_counts_what_is_unknown(world: World) -> None:
    """A lost answer shows until it is settled."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = next(row.body for row in world.outbox() if row.kind == "card")
    world.portal.will("crm.deal.update", lost)
    await world.work(press(entry))
    world.outbox()
    found = await said(world, "status")
    assert (found[0][1]["unknown"], found[0][1]["waiting"]) == (1, 0)


async def test_the_check_button_looks_at_the_portal(world: World) -> None:
    """On an unknown card it settles; on any other nothing happens; on none it says so."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = next(row.body for row in world.outbox() if row.kind == "card")
    world.portal.will("crm.deal.update", lost)
    await world.work(press(entry))
    world.outbox()
    await world.work(command("check", confirmation_id=entry["confirmation_id"]))
    assert world.codes() == ["recovered-done", "card:executed"]
    await world.work(command("check", confirmation_id=entry["confirmation_id"]))
    assert world.codes() == []
    await world.work(command("check", confirmation_id="nothing"))
    assert world.codes() == ["details-none"]
    await world.work(command("check"), command("details"))  # typed, not pressed
    assert world.codes() == ["details-none", "details-none"]
    assert len(world.portal.ledger) == 1


async def test_a_call_without_a_card_is_looked_at_by_its_own_number(world: World) -> None:
    """Of this chat only."""
    world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}})))
    world.portal.will("tasks.task.add", lost)
    await world.work(message("создай задачу"))
    (unknown,) = [event.data["effect_id"] for event in world.events("CallOutcomeUnknown")]
    world.outbox()
    await world.work(command("check", confirmation_id=unknown))
    assert world.codes()[0].startswith("recovered-")
    await world.work(command("check", confirmation_id=unknown, key="tg:1"))
    assert world.codes() == ["details-none"]


async def test_details_show_the_exact_call(world: World) -> None:
    """In words for everybody; method and params as they will be sent, in code, for an admin only."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = next(row.body for row in world.outbox() if row.kind == "card")
    await world.work(command("details", confirmation_id=entry["confirmation_id"]))
    (words,) = world.outbox()
    assert (words.kind, words.body["preview"]["title"]) == ("details", "Ромашка")
    await world.work(command("details", confirmation_id=entry["confirmation_id"], actor=ANNA.model_copy(update={"role": "admin"})))
    assert [(row.kind, row.body.get("text")) for row in world.outbox()] == [
        ("details", None),
        ("code", 'crm.deal.update\n{"fields":{"OPPORTUNITY":1200000},"id":481}'),
    ]


async def test_the_lower_mode_is_told(world: World) -> None:
    """A person limited to canary hears canary."""
    limited = BORIS.model_copy(update={"max_mode": "canary"})
    assert await said(world, "mode", actor=limited, key="tg:1008") == [("mode", {"mode": "canary", "installed": "full"})]
    assert ANNA.max_mode == "full"
