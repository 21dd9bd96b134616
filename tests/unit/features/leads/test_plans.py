"""A plan of which one step needs a lead: the requester cannot run it, the lead gets one card, and without that step the requester may."""

import re
from datetime import date, timedelta
from pathlib import Path

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.callbacks import ActionClick, CardClick, unpack
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.card_view import CardView
from state.journal.store import InboxRow
from tests.unit.features.cards.cards_kit import pressing
from tests.unit.features.leads.leads_kit import GLEB, LIMIT, PAIR, Department, a_department, by_chat, gone
from tests.unit.runtime.group_kit import last_card, read, statuses
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, command, message, press, raise_sum, reply
from tests.unit.spine_portal import Portal

STRICT, PLAIN = raise_sum(2_500_000), raise_sum(60_000, deal=482)
RU = Translator("ru")


async def ask_both(world: World, *steps: object, key: str = CHAT) -> tuple[dict[str, object], dict[str, object]]:
    """The plan's card in the requester's chat, and the lead's copy."""
    world.model.will(reply(*(steps or (STRICT, PLAIN)), text="Готовлю."))  # type: ignore[arg-type]
    await world.work(message("обе суммы", key=key))
    rows = world.outbox()
    assert sorted(row.session for row in rows if row.kind == "card") == sorted([key, VERA.key])
    return last_card(rows, key), last_card(rows, VERA.key)


def clicks(body: dict[str, object]) -> list[object]:
    markup = build_card_keyboard(CardView.from_body(body), RU)
    rows = markup.inline_keyboard if markup else []
    data = [str(button.callback_data) for row in rows for button in row if button.copy_text is None]
    assert all(len(one.encode()) <= 64 for one in data)
    return [unpack(one) for one in data]


async def test_the_requester_cannot_run_the_plan_and_reads_why(department: World) -> None:
    """Not even its harmless step by the button of the whole; who decides is named."""
    plan, _ = await ask_both(department)
    assert not [one for one in clicks(plan) if isinstance(one, CardClick) and one.approve]
    await department.work(press(plan))
    told = [row.body["notice"] for row in department.outbox() if row.kind == "toast"]
    assert [(one["code"], one["args"]) for one in told] == [("lead-only", {"who": "Вера"})]
    assert department.portal.written() == []


async def test_the_lead_gets_one_copy_whose_buttons_work(department: World) -> None:
    """One message for the plan in the lead's chat; its press runs both steps, and the requester hears it once."""
    plan, copy = await ask_both(department)
    (yes,) = [one for one in clicks(copy) if isinstance(one, CardClick) and one.approve]
    assert (yes.confirmation_id, yes.nonce, yes.home) == (plan["confirmation_id"], plan["nonce"], CHAT)
    await department.work(press(copy, actor=VERA))
    assert [params["id"] for _, params in department.portal.written()] == [481, 482]
    told = by_chat(department.outbox())
    assert told == {CHAT: ["card:executed", "lead-approved-plan"], VERA.key: ["toast:toast-running", "card:executed"]}


async def test_without_the_strict_step_the_requester_may(department: World) -> None:
    """Left out, the step needs no lead; the lead's copy shows that, and has no button that does more than the requester's."""
    plan, _ = await ask_both(department)
    await department.work(press(plan["members"][0], approve=False))  # type: ignore[index]
    rows = department.outbox()
    fresh, copy = last_card(rows), last_card(rows, VERA.key)
    assert statuses(copy) == statuses(fresh) == ["denied", "requested"]
    assert [one.nonce for one in clicks(fresh) if isinstance(one, CardClick) and one.approve] == [fresh["nonce"]]
    await department.work(press(fresh))
    assert [params["id"] for _, params in department.portal.written()] == [482]
    assert statuses(last_card(department.outbox(), VERA.key)) == ["denied", "executed"]


async def test_four_eyes_of_one_step_hold_for_the_plan(tmp_path: Path) -> None:
    """Also a lead cannot approve a plan of their own in which one step needs a second person."""
    async with a_department(tmp_path, policy=PAIR) as world:
        plan, copy = await ask_both(world)
        await world.work(press(plan))
        assert [row.body["notice"]["code"] for row in world.outbox() if row.kind == "toast"] == ["four-eyes"]
        await world.work(press(copy, actor=BORIS))
        assert world.portal.written() == []
        world.outbox()
        await world.work(press(copy, actor=VERA))
        assert len(world.portal.written()) == 2


async def test_a_lead_denies_the_plan_with_a_reason(department: World) -> None:
    """One sentence with the reason to the requester, one answer to the lead, and every step keeps the reason."""
    _, copy = await ask_both(department)
    (why,) = [one for one in clicks(copy) if isinstance(one, ActionClick) and one.words[0] == "why"]
    await department.work(pressing(*why.words, actor=VERA, key=VERA.key))
    department.outbox()
    typed = {"text": "сначала договор", "origin": "typed"}
    await department.work(_typed(typed))
    rows = department.outbox()
    assert by_chat(rows) == {CHAT: ["card:denied", "lead-denied-plan"], VERA.key: ["card:denied", "lead-reason-sent"]}
    assert {event.data["reason"] for event in department.events("ConfirmationDenied")} == {"сначала договор"}
    assert read(last_card(rows)).count("сначала договор") == 1


def _typed(body: dict[str, str]) -> InboxRow:
    return message(body["text"], actor=VERA, key=VERA.key)


async def test_details_of_the_copy_show_all_steps(department: World) -> None:
    """The lead opens them from the copy."""
    _, copy = await ask_both(department)
    (wish,) = [one for one in clicks(copy) if isinstance(one, ActionClick) and one.words[0] == "details"]
    await department.work(pressing(*wish.words, actor=VERA, key=VERA.key))
    (body,) = [row.body for row in department.outbox() if row.kind == "details"]
    text = read(body, "details")
    assert ("«Ромашка»" in text, "«Вектор»" in text) == (True, True)
    assert not [name for one in body["members"] for name in ("params", "before", "nonce") if name in one]


async def test_pending_of_the_lead_shows_one_copy(department: World) -> None:
    """And counts one, also when both steps need the lead."""
    await ask_both(department, STRICT, raise_sum(3_000_000, deal=482))
    await department.work(command("pending", actor=VERA, key=VERA.key))
    rows = department.outbox()
    assert by_chat(rows) == {VERA.key: ["lead-pending", "card:requested"]}
    assert rows[0].body["notices"][0]["args"] == {"count": 1}
    assert len(last_card(rows, VERA.key)["members"]) == 2


async def test_the_plan_reaches_arrives_and_reminds_as_one(tmp_path: Path) -> None:
    """No word that the card did not arrive when it did; one reminder, one message that the time is over."""
    async with a_department(tmp_path, policy={**LIMIT, "remind_lead_after": "30m"}) as world:
        await ask_both(world, STRICT, raise_sum(3_000_000, deal=482))
        world.clock.advance(timedelta(seconds=91))
        await world.work()
        assert world.outbox() == []
        world.clock.advance(timedelta(minutes=30))
        await world.work()
        rows = world.outbox()
        assert by_chat(rows)[VERA.key].count("lead-remind") == 1
        world.clock.advance(timedelta(days=8))
        await world.work()
        rows = world.outbox()
        assert [code for code in by_chat(rows)[CHAT] if code.startswith("lead-")] == ["lead-expired"]
        (told,) = [row for row in rows if row.kind == "reply" and row.session == CHAT]
        assert told.body["notices"][0]["args"]["what"] == "Ромашка, Вектор"


async def test_a_plan_moves_to_the_lead_who_stands_in(tmp_path: Path) -> None:
    """One message there, one that closes the copy of the lead who is away, and one word to the requester."""
    department = Department(everybody=[ANNA, BORIS, VERA, GLEB])
    async with a_department(tmp_path, department=department) as world:
        await ask_both(world, STRICT, raise_sum(3_000_000, deal=482))
        department.absent[VERA.key] = gone(date(2026, 12, 1), GLEB)
        changed = InboxRow(
            id="moved",
            source="moved",
            session=CHAT,
            lane="express",
            kind="leads_changed",
            actor={"key": "system", "name": ""},
            body={},
            received_at=world.clock.now(),
        )
        await world.work(changed)
        rows = world.outbox()
        told = by_chat(rows)
        assert told[GLEB.key] == ["card:requested"]
        assert told[CHAT] == ["card:requested", "lead-moved"]
        assert len(last_card(rows, GLEB.key)["members"]) == 2


async def test_a_lead_reads_only_the_steps_whose_records_they_may_see(tmp_path: Path) -> None:
    """The other step is counted and not told, in no field of the message; who asked reads both, and the lead cannot decide for both."""
    half = VERA.model_copy(update={"sees": (7,)})
    portal = Portal()
    portal.records["deal", 482] |= {"ASSIGNED_BY_ID": "8", "TITLE": "Секретный Вектор"}
    portal.records["deal", 481]["ASSIGNED_BY_ID"] = "7"
    anna = ANNA.model_copy(update={"sees": "all"})
    staff = Department(everybody=[anna, half])
    async with a_department(tmp_path, department=staff, portal=portal) as world:
        world.model.will(reply(raise_sum(60_000, deal=482), STRICT, text="Готовлю."))
        await world.work(message("обе суммы сделок 481 и 482", actor=anna))
        rows = world.outbox()
        plan, copy = last_card(rows), last_card(rows, half.key)
        texts = {one["confirmation_id"]: to_plain_text(render_message("card", one, RU)) for one in (plan,)}
        assert "Секретный Вектор" in texts[plan["confirmation_id"]]
        assert "copies" not in plan
        assert "copies" not in copy
        assert "Секретный" not in str(copy)
        assert re.search(r"(?<![0-9a-f])482(?![0-9a-f])", str(copy)) is None  # ids and moments may hold these digits by chance
        told = to_plain_text(render_message("card", copy, RU))
        assert "План: 2 действия" in told
        assert "2. Изменить сделку «Ромашка»" in told
        assert "Ещё 1 шаг — не ваши записи" in told
        assert "1 more step concerns records that are not yours" in to_plain_text(render_message("card", copy, Translator("en")))
        assert "может только тот, кто видит все его записи" in told
        assert not [one for one in clicks(copy) if isinstance(one, CardClick)]
        assert (copy["nonce"], copy["confirmation_id"]) == (plan["nonce"], plan["confirmation_id"])
        await world.work(press(copy, actor=half))
        assert world.portal.written() == []
        assert [row.body["notice"]["code"] for row in world.outbox() if row.kind == "toast"] == ["plan-not-yours"]
        await world.work(press(plan["members"][0], actor=anna, approve=False))
        left = last_card(world.outbox(), half.key)
        assert "Секретный" not in str(left)
        assert [one.approve for one in clicks(left) if isinstance(one, CardClick)] == [True, False]
        assert "может только тот" not in to_plain_text(render_message("card", left, RU))
        await world.work(press(left, actor=half))
        assert [params["id"] for _, params in world.portal.written()] == [481]
        assert "Секретный" not in str([row.body for row in world.outbox() if row.session == half.key and row.kind == "card"])


async def test_the_steps_that_a_lead_may_see_are_shown_whole(department: World) -> None:
    """Nothing is left out of the copy of a lead who sees all."""
    plan, copy = await ask_both(department)
    assert "steps_hidden" not in copy
    assert len(copy["members"]) == len(plan["members"]) == 2  # type: ignore[arg-type]
