"""A step may use the record that an earlier step of its plan makes: it waits with that step, is shown on its card, and runs after it."""

from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from state.events.confirmations import KEEP_DECIDED
from tests.unit.spine_kit import World, a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost

LEAD = {**step("crm.lead.add", {"fields": {"TITLE": "Заявка с сайта", "NAME": "Пётр"}}), "requires_confirmation": True}
FREE = step("crm.lead.add", {"fields": {"TITLE": "Заявка с сайта"}})
REMINDER = step("reminder.add", {"at": "2026-11-22T10:00:00+03:00", "text": "перезвонить", "lead": "@created:1"})
TASK = step("tasks.task.add", {"fields": {"TITLE": "КП", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:1"]}})
COMMENT = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": "@created:1", "ENTITY_TYPE": "lead", "COMMENT": "Просил скидку"}})


async def card_text(world: World) -> str:
    """The last card as its reader sees it."""
    row = [row for row in world.outbox() if row.kind == "card"][-1]
    return to_plain_text(render_message("card", row.body, Translator("ru")))


async def approve(world: World) -> None:
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}))


async def test_what_follows_stands_on_the_card_and_runs_after_it(world: World) -> None:
    """«Создай лид и перезвони завтра в 10»: one card, and after one press the lead, the reminder, the task and the comment are there."""
    world.model.will(reply(LEAD, REMINDER, TASK, COMMENT, text="Прошу подтвердить."))
    await world.work(message("создай лид и перезвони завтра в 10"))
    text = await card_text(world)
    assert "Затем: Поставить напоминание — Когда: вс, 22 ноября, 10:00; Что: перезвонить" in text
    assert "Затем: Поставить задачу «КП»" in text
    assert text.count("КП") == 1
    assert "лид «Заявка с сайта»" in text
    assert "999" not in text
    assert world.portal.written() == []
    await approve(world)
    assert "Затем" not in await card_text(world)
    assert [method for method, _ in world.portal.written()] == ["crm.lead.add", "tasks.task.add", "crm.timeline.comment.add"]
    written = dict(world.portal.written())
    assert written["tasks.task.add"]["fields"]["UF_CRM_TASK"] == ["L_9001"]
    assert written["crm.timeline.comment.add"]["fields"]["ENTITY_ID"] == 9001
    assert [one.target for one in ((await world.session()).state.reminders or {}).values()] == ["lead:9001"]
    assert world.types().count("ConfirmationRequested") == 1


async def test_what_follows_a_planned_step_is_planned_as_well(tmp_path: Path) -> None:
    """Failed before in shadow mode: «Шаг не начат: запись, к которой он относится, не создана», though the plan was right."""
    async with a_world(tmp_path, mode="shadow") as world:
        world.model.will(reply(FREE, REMINDER, TASK, text="Делаю."))
        await world.work(message("создай лид, перезвони завтра в 10 и поставь задачу"))
        (row,) = [row for row in world.outbox() if row.kind == "reply"]
        text = to_plain_text(render_message("reply", row.body, Translator("ru")))
        assert "не создана" not in text
        assert "• Затем: Поставить напоминание — Когда: вс, 22 ноября, 10:00; Что: перезвонить" in text
        assert "• Затем: Поставить задачу «КП»" in text
        assert "999" not in text
        assert world.portal.written() == []


CHAIN = [
    step("crm.company.add", {"fields": {"TITLE": "Гранит"}}),
    step("crm.contact.add", {"fields": {"NAME": "Пётр", "COMPANY_ID": "@created:1"}}),
    step("crm.deal.add", {"fields": {"TITLE": "Щебень", "CONTACT_ID": "@created:2"}}),
    step("tasks.task.add", {"fields": {"TITLE": "Договор", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:3"]}}),
]


async def test_a_whole_chain_is_planned(tmp_path: Path) -> None:
    """Failed before: of what follows a step that follows, nothing was shown."""
    async with a_world(tmp_path, mode="shadow") as world:
        world.model.will(reply(*CHAIN, text="Делаю."))
        await world.work(message("заведи компанию, контакт, сделку и задачу"))
        (row,) = [row for row in world.outbox() if row.kind == "reply"]
        lines = to_plain_text(render_message("reply", row.body, Translator("ru"))).splitlines()
        chain = [line.partition(" — ")[0] for line in lines if line.startswith("• ")]
        assert chain == [
            "• Создать компанию «Гранит»",
            "• Затем: Создать контакт «Пётр»",
            "• Затем: Создать сделку «Щебень»",
            "• Затем: Поставить задачу «Договор»",
        ]
        assert any("Щебень" in line and "Контакт: «Пётр»" in line for line in lines), lines
        assert "999" not in "".join(lines)
        assert world.portal.written() == []


async def test_a_whole_chain_stands_on_the_card_of_its_first_step(world: World) -> None:
    """One press makes all four, each for the record before it."""
    first = {**CHAIN[0], "requires_confirmation": True}
    world.model.will(reply(first, *CHAIN[1:], text="Прошу подтвердить."))
    await world.work(message("заведи компанию, контакт, сделку и задачу"))
    text = await card_text(world)
    assert text.count("Затем: ") == 3
    assert "999" not in text
    await approve(world)
    assert [method for method, _ in world.portal.written()] == [one["method"] for one in CHAIN]
    assert world.portal.written("tasks.task.add")[0][1]["fields"]["UF_CRM_TASK"] == ["D_9003"]
    assert world.types().count("ConfirmationRequested") == 1


async def test_a_record_made_at_once_is_used_at_once(world: World) -> None:
    """Nothing has to be asked: both run in one iteration."""
    world.model.will(reply(FREE, TASK, text="Готово."), reply(text="Лид и задача созданы."))
    await world.work(message("создай лид и поставь задачу"))
    assert [method for method, _ in world.portal.written()] == ["crm.lead.add", "tasks.task.add"]


async def test_after_a_denial_nothing_follows(world: World) -> None:
    """No record, so its reminder is not set; the person reads why."""
    world.model.will(reply(LEAD, REMINDER, text="Прошу подтвердить."))
    await world.work(message("создай лид и перезвони завтра в 10"))
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}, approve=False))
    assert not (await world.session()).state.reminders
    assert "created-none" in world.codes()


async def test_what_may_have_been_created_is_not_said_to_be_missing(world: World) -> None:
    """The lead is there and its answer was lost: what belongs to it is not begun, and nobody is told that there is no lead."""
    world.portal.will("crm.lead.add", lost)
    world.model.will(reply(FREE, TASK, text="Готово."))
    await world.work(message("создай лид и поставь задачу"))
    assert [method for method, _ in world.portal.written()] == ["crm.lead.add"]
    codes = world.codes()
    assert "created-unnamed" in codes
    assert "created-none" not in codes


async def test_a_step_that_follows_and_asks_gets_a_card_of_its_own(world: World) -> None:
    """What the gate would ask about is asked when the record is there: one approval never covers a call that nobody judged."""
    asks = {**COMMENT, "requires_confirmation": True}
    world.model.will(reply(LEAD, asks, text="Прошу подтвердить."))
    await world.work(message("создай лид с комментарием"))
    await approve(world)
    assert [method for method, _ in world.portal.written()] == ["crm.lead.add"]
    await approve(world)
    assert [method for method, _ in world.portal.written()] == ["crm.lead.add", "crm.timeline.comment.add"]
    assert [event.data["reason"] for event in world.events("TurnFinished")] == ["waiting", "waiting", "answered"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (step("crm.deal.update", {"id": "@created:1", "fields": {"TITLE": "x"}}), "created-misplaced"),
        (step("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:3"]}}), "created-none"),
        (step("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["@created:2"]}}), "created-none"),
    ],
    ids=["another kind", "a later step", "itself"],
)
async def test_a_wrong_place_is_refused(world: World, wrong: dict[str, object], told: str) -> None:
    """The number of a lead never becomes that of a deal, and only earlier steps count; what a step refused for itself needs waits with it."""
    world.model.will(reply(FREE, wrong, text="Делаю."), reply(text="Не вышло."))
    await world.work(message("создай лид и поставь задачу"))
    assert [method for method, _ in world.portal.written()] == ([] if told == "created-misplaced" else ["crm.lead.add"])
    assert told in world.codes()


async def test_a_step_that_changed_nothing_makes_no_record(world: World) -> None:
    """An update is no creation."""
    world.model.will(reply(raise_sum(), TASK, text="Прошу подтвердить."))
    await world.work(message("сумма сделки 481 и задача"))
    await approve(world)
    assert [method for method, _ in world.portal.written()] == ["crm.deal.update"]


@pytest.mark.long
async def test_a_decided_step_stays_known_as_long_as_its_plan_waits(world: World) -> None:
    """However much is decided meanwhile: the card of the plan keeps its place and all its steps."""
    world.model.will(reply(raise_sum(), raise_sum(deal=482), text="Прошу подтвердить."))
    await world.work(message("обе сделки 481 и 482"))
    first, second = [event.data for event in world.events("ConfirmationRequested")]
    await world.work(press({**first, "status": "requested"}, approve=False))
    for amount in range(KEEP_DECIDED + 2):
        world.model.will(reply(raise_sum(2_000_000 + amount), text="Прошу подтвердить."))
        await world.work(message(f"сумма сделки 481, раз {amount}"))
        await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}, approve=False))
    cards = (await world.session()).state.cards
    assert {first["confirmation_id"], second["confirmation_id"]} <= cards.keys()
