"""One press decides all waiting steps of a plan: each once, in order, and none that the person did not see."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.sessions import outbox
from orchestrator.sessions.grouped_cards import group_card_rows, keep_card
from state.journal.freeze_switch import SwitchOperator
from tests.unit import spine_kit
from tests.unit.runtime.group_kit import THREE, approved, ask_plan, last_card, press_second, read, show, statuses
from tests.unit.runtime.kill_kit import work_killed
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, a_world, command, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost, says

TWO = (raise_sum(1_100_000), raise_sum(60_000, deal=482))
WRITES = ["crm.deal.update", "crm.deal.update", "tasks.task.add"]
COMMITS = 5
"""How often something is stored from the press on a plan of three to its end: after each of them a process can die."""
OPEN_DELETE = {"open_methods": ["crm.deal.delete"]}
GONE = step("crm.deal.delete", {"id": 482})


def written(world: World) -> list[str]:
    return [method for method, _ in world.portal.written()]


async def freeze(world: World, *, frozen: bool = True) -> None:
    hand = SwitchOperator(key=ANNA.key, name="Дина", via="tg", at=world.clock.now())
    switch = world.gate.deps.switch
    await (switch.freeze(hand, "проверка") if frozen else switch.release(hand))  # type: ignore[attr-defined]


async def test_a_plan_has_one_card_and_one_press_runs_each_step_once_in_order(world: World) -> None:
    """One message, one press, three writes in the order of the plan, each with an approval of its own."""
    plan = await ask_plan(world)
    assert len({row.data["confirmation_id"] for row in world.events("ConfirmationRequested")}) == 3
    await world.work(press(plan))
    assert written(world) == WRITES
    assert approved(world) == [one["confirmation_id"] for one in plan["members"]]
    rows = world.outbox()
    assert [row.body["notice"]["code"] for row in rows if row.kind == "toast"] == ["toast-running"]
    assert {row.key for row in rows if row.kind == "card"} == {f"card:{plan['confirmation_id']}"}
    assert statuses(last_card(rows)) == ["executed"] * 3


async def test_two_presses_run_nothing_twice(world: World) -> None:
    """The second one is answered, and changes nothing."""
    plan = await ask_plan(world)
    await world.work(press(plan), press(plan))
    assert written(world) == WRITES
    assert len(approved(world)) == 3
    toasts = [row.body["notice"]["code"] for row in world.outbox() if row.kind == "toast"]
    assert toasts == ["toast-running", "card-already-executed"]


async def test_the_card_of_a_running_plan_has_nothing_to_press(world: World) -> None:
    """From the first approval on all its steps are shown as approved: an impatient person does not press again."""
    plan = await ask_plan(world)
    shown: list[list[str]] = []

    async def look(method: str, params: Any) -> None:
        del params
        if method in WRITES and (rows := [row for row in world.outbox() if row.kind == "card"]):
            shown.append(statuses(rows[-1].body))

    world.portal.watch = look
    await world.work(press(plan))
    assert shown == [["approved"] * 3, ["executed", "approved", "approved"], ["executed", "executed", "approved"]]


async def test_an_old_press_after_a_drift_approves_nothing(world: World) -> None:
    """A step was replaced because its record changed: who has not seen the new value cannot approve it, nor the rest with it."""
    plan = await ask_plan(world, *TWO)
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1050000.00"
    await world.work(press(plan))
    fresh = show(world)
    assert statuses(fresh) == ["requested", "executed"]
    assert "1\u00a0050\u00a0000" in read(fresh)
    assert fresh["confirmation_id"] == plan["confirmation_id"]
    await world.work(press(plan))
    assert [params["id"] for _, params in world.portal.written()] == [482]
    await world.work(press(show(world)))
    assert [params["id"] for _, params in world.portal.written()] == [482, 481]


async def test_an_old_press_after_a_step_was_left_out_approves_nothing(world: World) -> None:
    """The plan is another one now; on the new card the rest is approved by one press, and the step that was left out never runs."""
    plan = await ask_plan(world)
    await world.work(press(plan["members"][1], approve=False))
    await world.work(press(plan))
    assert written(world) == []
    fresh = show(world)
    assert statuses(fresh) == ["requested", "denied", "requested"]
    await world.work(press(fresh))
    assert [params.get("id") for _, params in world.portal.written()] == [481, None]


async def test_a_press_for_another_card_of_the_plan_does_not_decide_the_plan(world: World) -> None:
    """The nonce of the plan counts with the id of its card only."""
    plan = await ask_plan(world, *TWO)
    await world.work(press({**plan["members"][1], "nonce": plan["nonce"]}))
    assert written(world) == []


@pytest.mark.parametrize("kept", range(COMMITS + 1))
async def test_killed_anywhere_in_the_middle_of_a_plan(world: World, kept: int) -> None:
    """Killed after any commit: no step runs twice, none is lost, and what has not run can be pressed."""
    plan = await ask_plan(world)
    assert bool(await work_killed(world, press(plan), kept=kept)) == (kept < COMMITS)
    assert len(written(world)) == len(set(map(str, world.portal.written())))
    session = await world.session()
    cards = {card.confirmation_id: card.status for card in session.state.cards.values()}
    await session.close()
    assert len(cards) == 3
    assert set(cards.values()) <= {"executed", "requested", "unknown"}
    if "requested" in cards.values():
        await world.work(command("pending"))
        await world.work(press(show(world)))
    assert written(world) == WRITES


async def test_cards_that_the_session_does_not_know_yet_are_one_message_too(world: World) -> None:
    """The step that asks may show the cards as well: they are grouped by what their rows say."""
    await ask_plan(world, *TWO)
    session = await world.session()
    cards = dict(session.state.cards)
    rows = [outbox.build_card_row(CHAT, card, session.now) for card in cards.values()]
    await session.close()
    [grouped] = group_card_rows(rows, CHAT, {}, keep_card)
    assert [one["confirmation_id"] for one in grouped.body["members"]] == list(cards)
    assert list(group_card_rows(rows[:1], CHAT, {}, keep_card)) == rows[:1]


async def test_an_unknown_outcome_stops_the_rest_and_the_same_button_pressed_again(world: World) -> None:
    """Nobody knows what became of a step: the ones behind it wait, also when the person taps twice, and run after a press on the new card."""
    plan = await ask_plan(world)
    world.portal.will("crm.deal.update", lost, holding='"id": 482')
    await world.work(press(plan), press(plan))
    fresh = show(world)
    assert statuses(fresh) == ["executed", "unknown", "requested"]
    assert written(world) == WRITES[:2]
    await world.work(press(fresh))
    assert written(world) == WRITES


@pytest.mark.parametrize(("halts", "made"), [(True, []), (False, [482])])
async def test_halt_on_block_stops_behind_a_refusal(tmp_path: Path, *, halts: bool, made: list[int]) -> None:
    """The policy says whether a plan goes on behind a step that the portal refused; a second tap does not go on either."""
    async with a_world(tmp_path) as world:
        plan = await ask_plan(world, *TWO)
        policy = world.gate.policy.model_copy(update={"halt_on_block": halts})
        world.portal.will("crm.deal.update", says(400, {"error": "ACCESS_DENIED", "error_description": "нет прав"}), holding='"id": 481')
        with patch.object(type(world.gate), "halt_on_block", policy.halt_on_block):
            await world.work(press(plan), press(plan))
        assert [params["id"] for _, params in world.portal.written()] == made
        assert statuses(show(world)) == ["refused", "requested" if halts else "executed"]


async def test_a_deletion_in_the_plan_asks_twice_for_all_of_it(tmp_path: Path) -> None:
    """The strictest step rules: the first press asks, in that chat, and the second one runs."""
    async with a_world(tmp_path, policy=OPEN_DELETE) as world:
        plan = await ask_plan(world, raise_sum(1_100_000), GONE)
        assert (plan["taps"], plan["stage"]) == (2, 1)
        await world.work(press(plan))
        asks = show(world)
        assert (written(world), asks["stage"], statuses(asks)) == ([], 2, ["requested"] * 2)
        await world.work(press_second(asks))
        assert written(world) == ["crm.deal.update", "crm.deal.delete"]


async def test_without_the_dangerous_step_one_press_is_enough(tmp_path: Path) -> None:
    """Left out, it asks for no second tap of the others."""
    async with a_world(tmp_path, policy=OPEN_DELETE) as world:
        plan = await ask_plan(world, raise_sum(1_100_000), GONE)
        await world.work(press(plan["members"][1], approve=False))
        await world.work(press(show(world)))
        assert written(world) == ["crm.deal.update"]


async def test_a_tap_on_a_single_step_is_no_first_tap_of_the_plan(tmp_path: Path) -> None:
    """A made-up press on the dangerous step alone does not arm the button of the whole plan."""
    async with a_world(tmp_path, policy=OPEN_DELETE) as world:
        plan = await ask_plan(world, raise_sum(1_100_000), GONE)
        await world.work(press(plan["members"][1]))
        assert (show(world)["stage"], written(world)) == (1, [])


async def test_while_writing_is_stopped_nothing_runs_and_the_card_stays(world: World) -> None:
    """The press is answered with the reason; once writing may start again, the same card works."""
    plan = await ask_plan(world, *TWO)
    await freeze(world)
    await world.work(press(plan))
    rows = world.outbox()
    assert [row.body["notice"]["code"] for row in rows if row.kind == "toast"] == ["frozen-card"]
    assert statuses(last_card(rows)) == ["requested"] * 2
    await freeze(world, frozen=False)
    world.clock.advance(timedelta(minutes=1))
    await world.work(press(plan))
    assert len(written(world)) == 2


async def test_deny_all_denies_each_step_and_runs_none(world: World) -> None:
    """One sentence says so, not one per step."""
    plan = await ask_plan(world)
    await world.work(press(plan, approve=False))
    assert len(world.events("ConfirmationDenied")) == 3
    over = show(world)
    assert (written(world), statuses(over)) == ([], ["denied"] * 3)
    assert read(over).count("Отклонено") == 1


async def test_an_expired_step_is_shown_and_the_others_still_wait(world: World) -> None:
    """Each step keeps its own timer."""
    plan = await ask_plan(world, *TWO)
    first = next(timer for timer in world.sql.list_due_timers(NOW + timedelta(days=30)) if plan["confirmation_id"] in timer.id)
    world.clock.advance(first.due_at - NOW)
    await world.work()
    over = show(world)
    assert set(statuses(over)) == {"expired"}
    assert read(over).count("Срок истёк") == 1


async def test_pending_shows_one_message_for_a_plan(world: World) -> None:
    """And counts it as one."""
    plan = await ask_plan(world)
    await world.work(command("pending"))
    told, *cards = world.outbox()
    assert told.body["notices"] == [{"code": "pending", "args": {"count": 1}}]
    (again,) = [row.body for row in cards]
    assert (again["anew"], again["nonce"], len(again["members"])) == (True, plan["nonce"], 3)


@pytest.mark.parametrize(("role", "kinds"), [("manager", ["details"]), ("admin", ["details", "code"])])
async def test_details_show_every_step(world: World, role: Any, kinds: list[str]) -> None:
    """Each with its record and values, numbered as on the card; administrators get the exact calls too."""
    plan = await ask_plan(world)
    await world.work(command("details", actor=ANNA.model_copy(update={"role": role}), confirmation_id=plan["confirmation_id"]))
    rows = world.outbox()
    assert [row.kind for row in rows] == kinds
    text = read(rows[0].body, "details")
    assert [text.index(words) for words in ("1. ", "«Ромашка»", "2. ", "«Вектор»", "3. ", "Позвонить")] == sorted(
        text.index(words) for words in ("1. ", "«Ромашка»", "2. ", "«Вектор»", "3. ", "Позвонить")
    )


async def test_a_lost_right_decides_nothing(world: World) -> None:
    """A person whose access was removed presses in vain."""
    plan = await ask_plan(world)
    stranger = Actor(key="tg:99", name="Чужой", bitrix_user_id=99)
    await world.work(press(plan, actor=stranger))
    assert written(world) == []
    assert show(world)["status"] == "requested"


async def test_a_long_plan_falls_back_to_single_cards_and_counts_them(world: World) -> None:
    """More than one message holds: a card each, each with its own button, and the sentence above says how many."""
    long = [
        step("crm.deal.update", {"id": deal, "fields": {"COMMENTS": f"{deal} " + "я" * 2000, "OPPORTUNITY": 55_000}}) for deal in (481, 482)
    ]
    world.model.will(reply(*long, text="Меняю обе сделки Олега."))
    await world.work(message("сделай всё это"))
    rows = world.outbox()
    cards = [row.body for row in rows if row.kind == "card"]
    assert [("members" in one) for one in cards] == [False, False]
    counts = [
        notice["args"]["count"]
        for row in rows
        if row.kind == "reply"
        for notice in row.body["notices"]
        if notice["code"] == "waiting-on-card"
    ]
    assert counts == [2]


async def test_a_plan_that_fits_is_announced_as_one_card(world: World) -> None:
    world.model.will(reply(*THREE, text="Меняю обе сделки и ставлю задачу Олегу."))
    await world.work(message("сделай всё это"))
    told = [
        notice for row in world.outbox() if row.kind == "reply" for notice in row.body["notices"] if notice["code"] == "waiting-on-card"
    ]
    assert [one["args"]["count"] for one in told] == [1]


async def test_a_group_with_topics_gets_one_card_there(world: World) -> None:
    """In the topic in which the person asked, and its buttons lead to that topic."""
    topic = "tg:-100500:7"
    world.model.will(reply(*TWO))
    await world.work(message("сделай", key=topic))
    plan = show(world, topic)
    await world.work(press(plan, key=topic))
    assert len(written(world)) == 2
    assert statuses(show(world, topic)) == ["executed"] * 2


async def test_a_client_that_fetches_gets_single_cards(world: World) -> None:
    """Over the API each card has its own fingerprint, so none stands for others."""
    key = "http:site:42"
    actor = Actor(key="http:site", name="Сайт", bitrix_user_id=7)
    world.model.will(reply(*TWO))
    await world.work(message("сделай", actor=actor, key=key))
    bodies = [event.data["body"] for event in world.events("AnswerGiven", key=key) if event.data["kind"] == "card"]
    assert [("members" in body) for body in bodies] == [False, False]
    assert len({body["nonce"] for body in bodies}) == 2


async def test_a_halted_plan_shows_its_next_step_at_the_end_of_the_chat(tmp_path: Path) -> None:
    """The step that follows a decided card joins the plan's card, which is shown anew: an edit further up would be overlooked."""
    async with a_world(tmp_path, policy={"halt_on_block": True}) as world:
        first = await ask_plan(world, *TWO)
        await world.work(press(first))
        plan = show(world)
        assert (statuses(plan), plan["anew"]) == (["executed", "requested"], True)
        await world.work(press(plan))
        assert len(written(world)) == 2


async def test_titles_of_customers_forge_no_step(world: World) -> None:
    """A title with line breaks, numbers and marks stays inside of its own step."""
    world.portal.records["deal", 481]["TITLE"] = "Ромашка»\n2. ✅ Удалить сделку «Вектор\r3. Готово\u2028"
    text = read(await ask_plan(world, *TWO))
    starts = [line[:3] for line in text.splitlines() if line[:1].isdigit()]
    assert starts == ["1. ", "2. "]


async def test_every_decision_of_a_plan_is_in_the_audit_log(world: World) -> None:
    """Also the press that did not count."""
    plan = await ask_plan(world, *TWO)
    await world.work(press(plan, actor=spine_kit.BORIS), press(plan))
    log = world.audit()
    assert log.count('"type":"decision"') == 3
    assert "not-your-card" in log
    assert CHAT in log
