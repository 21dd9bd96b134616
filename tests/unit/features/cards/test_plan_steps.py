"""Single steps on the card of a plan: edited, taken back, requested again; the card shows all of them each time."""

from datetime import timedelta

from tests.unit.features.cards.cards_kit import answer, opened, pressing
from tests.unit.runtime.group_kit import ask_plan, last_card, read, show, statuses
from tests.unit.spine_kit import World, press, raise_sum, step

TWO = (raise_sum(1_100_000), raise_sum(60_000, deal=482))


async def test_an_edited_step_stays_on_the_card_of_its_plan(world: World) -> None:
    """At its place, with the new value, in the same message; the old button approves nothing."""
    plan = await ask_plan(world, *TWO)
    question = await opened(world, plan["members"][0])
    await world.work(answer(question, "1 250 000"))
    rows = [row for row in world.outbox() if row.kind == "card"]
    assert {row.key for row in rows} == {f"card:{plan['confirmation_id']}"}
    fresh = last_card(rows)
    assert statuses(fresh) == ["requested", "requested"]
    assert "1\u00a0250\u00a0000" in read(fresh)
    await world.work(press(plan))
    assert world.portal.written() == []
    await world.work(press(fresh))
    assert [params["fields"]["OPPORTUNITY"] for _, params in world.portal.written()] == [1_250_000, 60_000]


async def test_a_step_is_taken_back_and_the_others_keep_their_buttons(world: World) -> None:
    """The card shows what was taken back; the other step can still be."""
    plan = await ask_plan(world, *TWO)
    await world.work(press(plan))
    done = show(world)
    assert all(one["undo_until"] for one in done["members"])
    await world.work(pressing("undo", done["members"][0]["effect_id"]))
    undo = show(world)
    await world.work(press(undo))
    over = next(
        row.body for row in reversed(world.outbox()) if row.kind == "card" and row.body["confirmation_id"] == plan["confirmation_id"]
    )
    assert [bool(one.get("undone_at")) for one in over["members"]] == [True, False]
    assert [bool(one.get("undo_until")) for one in over["members"]] == [False, True]
    assert "↩ Отменено" in read(over)


async def test_an_expired_step_is_requested_again(world: World) -> None:
    """As a card of its own; the plan's card keeps saying that the time is over."""
    plan = await ask_plan(world, *TWO)
    world.clock.advance(timedelta(days=8))
    await world.work()
    world.outbox()
    await world.work(pressing("again", plan["members"][0]["confirmation_id"]))
    fresh = show(world)
    assert ("members" in fresh, fresh["status"]) == (False, "requested")
    await world.work(press(fresh))
    assert [params["id"] for _, params in world.portal.written()] == [481]


async def test_an_edit_that_outgrows_the_message_breaks_the_plan_up(world: World) -> None:
    """Everything that waits is then shown for itself, complete and with buttons of its own."""
    comments = [step("crm.deal.update", {"id": deal, "fields": {"COMMENTS": "я" * 1100, "OPPORTUNITY": 55_000}}) for deal in (481, 482)]
    plan = await ask_plan(world, *comments)
    first, second = plan["members"]
    await world.work(pressing("edit", first["confirmation_id"]))
    world.outbox()
    await world.work(pressing("field", first["confirmation_id"], "1"))
    question = world.outbox()[-1]
    assert question.body["name"] == "Комментарий"
    await world.work(answer(question, "ю" * 1990))
    cards = [row for row in world.outbox() if row.kind == "card"]
    waiting = {row.body["confirmation_id"] for row in cards if row.body["status"] == "requested" and "members" not in row.body}
    assert second["confirmation_id"] in waiting
    assert len(waiting) == 2
    await world.work(press(plan))
    assert world.portal.written() == []
