"""A card that expires as the last one of its turn: what was to follow on cards approved before is named, and nothing else."""

from datetime import timedelta

from bot.i18n.translate import Translator
from orchestrator.domain.outputs import Notice
from state.journal.store import OutboxRow
from tests.unit.runtime.test_covered_steps import REMINDER, ask, list_methods
from tests.unit.spine_kit import World, command, press, raise_sum, reply


async def approve_first(world: World) -> None:
    """Approve a plan of which the second change drifts meanwhile, so that its new card waits alone."""
    await ask(world, REMINDER, raise_sum())
    shown = next(row.body for row in world.outbox() if row.kind == "card")
    world.portal.records["deal", 481]["OPPORTUNITY"] = "777"
    await world.work(press(shown))
    assert list_methods(world) == ["crm.lead.add"]


async def let_expire(world: World) -> list[Notice]:
    """Let the time of all cards pass; return what the person is told then."""
    world.outbox()
    world.clock.advance(timedelta(days=2))
    async with world.working():
        await world.idle()
    return [notice for row in world.outbox() for notice in list_notices(row)]


def list_notices(row: OutboxRow) -> list[Notice]:
    """The notices of a reply."""
    return [Notice.model_validate(one) for one in row.body["notices"]] if row.kind == "reply" else []


async def test_what_follows_on_an_approved_card_is_not_lost_in_silence(world: World) -> None:
    """The person approved the reminder with its lead, and nobody decided the other change: the reminder is named as not set."""
    await approve_first(world)
    told = await let_expire(world)
    assert [notice.code for notice in told] == ["left-undone"]
    said = {locale: Translator(locale).translate_notice(told[0]) for locale in ("ru", "en")}
    assert said["ru"].startswith(
        "⌛ Не сделано после «Заявка с сайта»: поставить напоминание — Когда: вс, 22 ноября, 10:00; Что: перезвонить. "
    )
    assert said["en"].startswith("⌛ Not done after “Заявка с сайта”: set ")


async def test_a_plan_that_expired_as_a_whole_says_so_on_its_card(world: World) -> None:
    """Nothing of it was approved, so nothing was to follow."""
    await ask(world, REMINDER, raise_sum())
    assert await let_expire(world) == []


async def test_what_the_turn_has_gone_on_with_is_not_called_undone(world: World) -> None:
    """The reminder is set; then a card of the second part expires."""
    world.model.will_go_on(reply(raise_sum(), text="Ещё сумма."))
    await ask(world, REMINDER)
    await world.work(press(next(row.body for row in world.outbox() if row.kind == "card")))
    assert (await world.session()).state.reminders
    assert world.events("ConfirmationRequested")[-1].data["method"] == "crm.deal.update"
    assert await let_expire(world) == []


async def test_a_stopped_turn_is_not_told_about_again(world: World) -> None:
    """The answer of /stop said already that nothing goes on after the cards."""
    await approve_first(world)
    await world.work(command("stop"))
    assert "left-undone" not in {notice.code for notice in await let_expire(world)}
