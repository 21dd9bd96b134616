"""Scenes of cards: one change, many, those that a lead decides, and taking back."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from tests.e2e.e2e_kit import plan, step
from tests.e2e.e2e_people import until
from tests.pictures.studio import Scene, Studio, says


async def card(studio: Studio) -> None:
    """A change: asked, carried out, taken back."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await studio.shoot("card", boris)
    await boris.decide(found, "Выполнить")
    await studio.shoot("card-done", boris)
    seen = await boris.message(found.number)
    await boris.decide(seen, "Отменить")
    await studio.shoot("undo-asked", boris)
    undo = (await boris.seen())[-1]
    await boris.decide(undo, "Выполнить")
    await studio.shoot("undo-done", boris)
    await boris.ask("/history 481")
    await studio.shoot("history", boris, last=2)


async def undo_refused(studio: Studio) -> None:
    """Somebody changed the field since."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await boris.decide(found, "Выполнить")
    await studio.world.edit("deal", 481, OPPORTUNITY="175000", MODIFY_BY_ID="8")
    await boris.decide(await boris.message(found.number), "Отменить")
    await studio.shoot("undo-refused", boris)


async def drift(studio: Studio) -> None:
    """The record changed while the card waited."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await studio.world.edit("deal", 481, OPPORTUNITY="140000")
    await boris.decide(found, "Выполнить")
    await studio.shoot("drift", boris)


async def edit(studio: Studio) -> None:
    """A value changed on the card."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await boris.decide(found, "Изменить")
    await studio.shoot("edit-asked", boris)
    question = (await boris.seen())[-1]
    await boris.ask("165 тысяч", reply_to=question.number)
    await studio.shoot("edit-done", boris)


async def stage(studio: Studio) -> None:
    """Several fields of one deal, and an ambiguous name."""
    boris = studio.world.boris
    fields = {"STAGE_ID": "@stage:Финальный счёт", "CLOSEDATE": "@date:пятница", "ASSIGNED_BY_ID": "@user:Вера Лебедева"}
    await studio.world.script(plan(step("crm.deal.update", {"id": "@deal:Ромашка", "fields": fields})))
    await boris.ask("Ромашку на финальный счёт, закрытие в пятницу, отдай Вере")
    await studio.shoot("card-fields", boris)
    await boris.ask("перенеси сделку Вектор на стадию Финальный счёт")
    await studio.shoot("which-deal", boris, last=2)


async def danger(studio: Studio) -> None:
    """A sum ten times as large, which asks twice."""
    boris = studio.world.boris
    found = await boris.card("подними сумму сделки Ромашка до 1 500 000")
    await studio.shoot("danger", boris)
    await boris.decide(found, "выполнить")
    await studio.shoot("danger-second", boris)


def _batch(changes: Mapping[int, Mapping[str, Any]]) -> str:
    commands = {
        f"c{number}": f"crm.deal.update?id={number}&" + "&".join(f"fields[{name}]={value}" for name, value in fields.items())
        for number, fields in changes.items()
    }
    return plan(step("batch", {"cmd": commands}))


async def batch(studio: Studio) -> None:
    """Five commands, of which one is turned down; then twenty."""
    boris, world = studio.world.boris, studio.world
    await world.script(_batch({481: {"OPPORTUNITY": 150_000}, **{n: {"STAGE_ID": "FINAL_INVOICE"} for n in (410, 412, 413, 423)}}))
    found = await boris.card("Ромашка 150 тысяч, остальные четыре на финальный счёт")
    await studio.shoot("batch", boris)
    await boris.decide(found, "Выполнить")
    await studio.shoot("batch-done", boris)


async def batch_many(studio: Studio) -> None:
    """Twenty commands of the lead."""
    anna, world = studio.world.anna, studio.world
    await world.script(_batch({n: {"ASSIGNED_BY_ID": 8} for n in (481, 410, 412, 413, 415, 417, 419, 423, *range(424, 455, 3))}))
    found = await anna.card("передай все сделки Бориса Вере")
    await studio.shoot("batch-many", anna)
    await anna.decide(found, "Подробнее")
    opened = next(message for message in reversed(await anna.seen()) if any(text.endswith("Выполнить") for text in message.buttons))
    await anna.decide(opened, "Выполнить")
    await studio.shoot("batch-many-done", anna, last=1)


def _raise(amount: int) -> dict[str, Any]:
    return step("crm.deal.update", {"id": "@deal:Ромашка", "fields": {"OPPORTUNITY": amount}})


async def lead(studio: Studio) -> None:
    """A change that the lead decides: denied with a reason, then approved."""
    boris, anna, world = studio.world.boris, studio.world.anna, studio.world
    await world.script(plan(_raise(2_500_000)))
    await boris.ask("Ромашка теперь 2,5 млн")
    await studio.shoot("lead-waits", boris)
    await until(anna.seen, "the lead's copy")
    await world.settled()
    await studio.shoot("lead-card", anna)
    await boris.ask("/pending")
    await studio.shoot("pending", boris, last=2)
    copy = (await anna.seen())[-1]
    await anna.decide(copy, "причиной")
    await studio.shoot("lead-why", anna)
    await anna.ask("Нет подписанного договора, вернёмся после встречи")
    await studio.shoot("lead-denied", anna)
    await studio.shoot("lead-denied-requester", boris)
    await world.script(plan(_raise(2_400_000)))
    await boris.ask("договор подписан, поставь Ромашке 2,4 млн")
    await until(lambda: anna.seen(copy.number + 2), "the lead's second copy")
    await world.settled()
    await anna.decide(next(m for m in reversed(await anna.seen()) if m.buttons), "выполнить")
    await anna.decide((await anna.seen())[-1], "выполнить")
    await studio.shoot("lead-approved", anna, last=1)
    await studio.shoot("lead-approved-requester", boris, last=3)


async def unknown(studio: Studio) -> None:
    """The portal's answer was lost."""
    boris, world = studio.world.boris, studio.world
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await world.break_portal("commit_then_drop", "crm.deal.update", times=1)
    await boris.decide(found, "Выполнить")
    await studio.shoot("unknown", boris)
    unknown = await boris.message(found.number)
    await boris.decide(unknown, "Проверить")
    await studio.shoot("unknown-checked", boris)


async def expired(studio: Studio) -> None:
    """A card nobody decided, a denied one, and /pending."""
    boris, world = studio.world.boris, studio.world
    found = await boris.card("подними сумму сделки Ромашка до 150 000")
    await boris.decide(found, "Отклонить")
    await boris.ask("подними сумму сделки Северный ветер до 300 000")
    await boris.ask("/pending")
    await studio.shoot("pending-own", boris)
    await studio.later(studio.clock.now() + timedelta(hours=26))
    await until(lambda: says(boris, "Срок"), "the card expired")
    await world.settled()
    await studio.shoot("expired", boris)


async def group(studio: Studio) -> None:
    """A group: the presser who is not entitled reads it alone."""
    boris, vera, world = studio.world.boris, studio.world.vera, studio.world
    chat = await world.group(boris, vera)
    await boris.within(chat).ask("@sdelka_sandbox_bot подними сумму сделки Ромашка до 150 000")
    await studio.shoot("group", boris.within(chat))


async def english(studio: Studio) -> None:
    """The most important cards in English."""
    boris = studio.world.boris
    settings = (await boris.ask("/settings"))[-1]
    await boris.decide(settings, "English")
    found = await boris.card("raise the sum of deal Ромашка to 150 000")
    await studio.shoot("en-card", boris, last=2)
    await boris.decide(found, "Run")
    await studio.shoot("en-done", boris, last=2)
    await boris.decide(await boris.message(found.number), "Undo")
    await studio.shoot("en-undo", boris, last=1)
    await boris.ask("/today")
    await studio.shoot("en-today", boris, last=1)
    await boris.ask("/history 481")
    await studio.shoot("en-history", boris, last=1)


_PLAN: Final = (
    step("crm.deal.update", {"id": "@deal:Ромашка", "fields": {"OPPORTUNITY": 150000, "CLOSEDATE": "@date:пятница"}}),
    step("crm.deal.update", {"id": 412, "fields": {"STAGE_ID": "@stage:Финальный счёт"}}),
    step(
        "tasks.task.add", {"fields": {"TITLE": "Подготовить договор", "RESPONSIBLE_ID": "@user:Вера Лебедева", "DEADLINE": "@date:завтра"}}
    ),
)


async def whole_plan(studio: Studio) -> None:
    """Several wishes of one message on one card: asked, one step left out, drifted, done, one step taken back."""
    boris = studio.world.boris
    await studio.world.script(plan(*_PLAN))
    await boris.ask("Ромашке сумму 150 000 и закрытие в пятницу, Вектор на финальный счёт, Вере задачу подготовить договор")
    await studio.shoot("plan", boris)
    found = (await boris.seen())[-1]
    await boris.decide(found, "Убрать 2")
    await studio.shoot("plan-left-out", boris)
    await studio.world.edit("deal", 481, OPPORTUNITY="140000")
    await boris.decide(await boris.message(found.number), "Выполнить")
    await studio.shoot("plan-drift", boris)
    await boris.decide(await boris.message(found.number), "Выполнить")
    await studio.shoot("plan-done", boris)


async def plan_of_lead(studio: Studio) -> None:
    """One of the steps must be decided by a lead."""
    boris, anna = studio.world.boris, studio.world.anna
    steps = [
        step("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": amount}}) for deal, amount in ((481, 2_500_000), (412, 700_000))
    ]
    await studio.world.script(plan(*steps))
    await boris.ask("Ромашке 2,5 млн, Вектору 700 тысяч")
    await studio.shoot("plan-lead-waits", boris)
    await until(anna.seen, "the lead's copy")
    await studio.world.settled()
    await studio.shoot("plan-lead-card", anna)
    await boris.decide((await boris.seen())[-1], "Убрать 1")
    await studio.shoot("plan-lead-left-out", boris)
    await studio.shoot("plan-lead-copy-left-out", anna)


SCENES: Final[Sequence[Scene]] = (
    whole_plan,
    plan_of_lead,
    card,
    undo_refused,
    drift,
    edit,
    stage,
    danger,
    batch,
    batch_many,
    lead,
    unknown,
    expired,
    group,
    english,
)
