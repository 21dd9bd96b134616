"""One card, one decision, one call: the portal's ledger never holds more than what a person approved."""

import asyncio
from datetime import timedelta

import pytest

from tests.e2e.e2e_kit import MovedClock, World, change_sum, plan, step, texts

RAISE = "подними сумму сделки Ромашка до 150 000"
UPDATE = "crm.deal.update"


@pytest.mark.req("S004-9", "S004-10", "S004-29", "S004-31", "G1", "G2")
async def test_a_sum_changes_after_one_press_and_only_once(world: World) -> None:
    """The card says before → after; one press makes one call; five more, and one after a restart, make none."""
    async with world.bot():
        card = await world.boris.card(RAISE)
        assert "Сумма: 120 000 ₽ → 150 000 ₽" in card.text
        assert "Просит Борис Смирнов" in card.text
        assert await world.writes() == []

        approve = card.data("Выполнить")
        presses = await asyncio.gather(*(world.boris.press(card.number, approve) for _ in range(6)))
        toasts = [await world.boris.toast(press) for press in presses]
        await world.settled()
        done = await world.boris.sees(card.number, "Выполнено")
        assert toasts.count("Принято, проверяю…") == 1
        assert all(toast.startswith(("Принято, проверяю…", "Уже")) for toast in toasts)
        assert "решение: Борис Смирнов" in done.text
        assert list(done.buttons) == ["↩ Отменить"]

    async with world.bot():
        late = await world.boris.toast(await world.boris.press(card.number, approve))
        assert late.startswith("Уже выполнено: Борис Смирнов, ")
        assert await world.writes() == [UPDATE]
        assert (await world.record("deal", 481))["OPPORTUNITY"] == "150000.00"


@pytest.mark.req("S004-A2")
async def test_a_card_that_no_longer_fits_gives_way_to_a_new_one(world: World) -> None:
    """When the sum changed while the card waited, nothing is sent and a new card shows the new before → after."""
    async with world.bot():
        old = await world.boris.card(RAISE)
        await world.edit("deal", 481, OPPORTUNITY=130_000)
        await world.boris.decide(old, "Выполнить")
        assert "Заменено. Пока карточка ждала: сумма изменилась: 120 000 → 130 000 ₽" in (await world.boris.message(old.number)).text
        new = (await world.boris.answered(old.number))[-1]
        assert "130 000 ₽ → 150 000 ₽" in new.text
        assert "Пока карточка ждала: сумма изменилась: 120 000 → 130 000 ₽" in new.text
        assert await world.writes() == []

        assert "заменила новая" in await world.boris.toast(await world.boris.press(old.number, old.data("Выполнить")))
        await world.boris.decide(new, "Выполнить")
        assert await world.writes() == [UPDATE]


@pytest.mark.req("S004-12", "S004-32", "S004-A11")
async def test_a_denied_change_is_not_made_and_asked_anew_only_on_a_new_wish(world: World) -> None:
    """Deny closes the card without a call; the same wish in a later message is a new card that names the denial."""
    async with world.bot():
        card = await world.boris.card(RAISE)
        assert await world.boris.decide(card, "Отклонить") == "Отклонено"
        assert "Отклонено в " in (await world.boris.message(card.number)).text
        assert (await world.boris.toast(await world.boris.press(card.number, card.data("Выполнить")))).startswith("Уже отклонено")
        assert await world.writes() == []

        again = await world.boris.card(RAISE)
        assert "Раньше это отклонили" in again.text
        await world.boris.decide(again, "Выполнить")
        assert await world.writes() == [UPDATE]


@pytest.mark.req("G2")
async def test_only_the_right_person_with_the_right_card_decides(world: World) -> None:
    """A colleague, a stranger, forged data and another card's nonce are answered and change nothing."""
    async with world.bot():
        card = await world.boris.card(RAISE)
        approve = card.data("Выполнить")
        kind, number, nonce, verdict = approve.split(":")
        vera = (await world.vera.ask("/help"))[-1]
        assert await world.vera.toast(await world.vera.press(vera.number, approve)) == "Карточка устарела: посмотрите /pending"
        assert "нет в списке" in await world.guest.toast(await _press_somewhere(world, approve))
        forged = {
            f"{kind}:{number}:00000000:{verdict}": "Карточка устарела",
            f"{kind}:ffffffffff:{nonce}:{verdict}": "Карточка устарела",
            "c1:": "",
            "crm.deal.delete": "",
            f"{kind}:{number}:ключ:{verdict}": "",
        }
        for data, words in forged.items():
            toast = await world.boris.toast(await world.boris.press(card.number, data))
            assert toast.startswith(words), (data, toast)
        assert await world.writes() == []
        assert (await world.boris.message(card.number)).is_card


async def _press_somewhere(world: World, data: str) -> str:
    told = (await world.guest.ask("привет"))[-1]
    return await world.guest.press(told.number, data)


@pytest.mark.req("G2", "S004-31")
async def test_in_a_group_the_one_who_asked_or_a_lead_decides(world: World) -> None:
    """A colleague's press is told who decides and changes nothing; a lead who may see the record approves, and is named."""
    group = await world.group(world.boris, world.vera, world.anna)
    boris, vera, anna = (person.within(group) for person in (world.boris, world.vera, world.anna))
    async with world.bot():
        card = await boris.card(f"@sdelka_sandbox_bot {RAISE}")
        assert await vera.decide(card, "Выполнить") == "Решает Борис Смирнов"
        assert await vera.decide(card, "Отклонить") == "Решает Борис Смирнов"
        assert await world.writes() == []
        assert await anna.decide(card, "Выполнить") == "Принято, проверяю…"
        assert "решение: Анна Ковалёва" in (await boris.message(card.number)).text
        assert await world.writes() == [UPDATE]


@pytest.mark.req("S004-A2")
async def test_an_expired_card_says_so_and_does_nothing(world: World) -> None:
    """After CONFIRMATION_TTL the press is told when the time ended, and the card closes itself."""
    clock = MovedClock()
    async with world.bot(clock=clock, confirmation_ttl="90m"):
        card = await world.boris.card(RAISE)
        clock.ahead = timedelta(minutes=91)
        toast = await world.boris.toast(await world.boris.press(card.number, card.data("Выполнить")))
        assert toast.startswith("Срок истёк "), toast
        closed = await world.boris.sees(card.number, "Срок истёк ")
        assert list(closed.buttons) == ["↻ Запросить заново"]
        assert await world.writes() == []


@pytest.mark.req("G2")
async def test_a_deletion_is_closed_unless_the_policy_opens_it_and_then_needs_two_taps(world: World) -> None:
    """Shipped: refused. Opened by POLICY_FILE: a card whose first press only asks again; the second deletes once."""
    async with world.bot():
        refused = await world.olga.ask("удали сделку 413")
        assert "Удаление выключено" in texts(refused)
        assert not any(message.is_card for message in refused)

    policy = world.folder / "policy.yaml"
    policy.write_text("open_methods: [crm.deal.delete]\n", encoding="utf-8")
    async with world.bot(policy_file=policy):
        card = await world.olga.card("удали сделку 413")
        first = card.data("Да, выполнить")
        assert "Нажмите ещё раз" in await world.olga.toast(await world.olga.press(card.number, first))
        sure = await world.olga.sees(card.number, "Точно выполнить?")
        assert "Нажмите ещё раз" in await world.olga.toast(await world.olga.press(card.number, first))
        assert await world.writes() == []
        await world.olga.decide(sure, "Точно")
        assert await world.writes() == ["crm.deal.delete"]
        assert await world.record("deal", 413) == {}


@pytest.mark.req("S004-11", "S004-12", "S004-A1", "S004-A10")
async def test_confirmed_true_of_the_model_is_only_a_claim(world: World) -> None:
    """`confirmed: true` and `confirmation_decision: approve` ask like any other step; the card of an equal call is reused."""
    claimed = change_sum(481, 150_000, confirmed=True, confirmation_decision="approve")
    await world.script(plan(claimed), plan(claimed), plan(change_sum(481, 150_000, confirmation_decision="deny")))
    async with world.bot():
        card = await world.boris.card("сделка 481: сумма 150 000")
        again = await world.boris.ask("сделка 481: сумма 150 000, я же сказал")
        assert await world.writes() == []
        assert [message.number for message in again if message.is_card] in ([], [card.number])

        withdrawn = await world.boris.ask("не надо менять сделку 481")
        assert "Снято" in texts(withdrawn)
        assert "Отклонено" in (await world.boris.message(card.number)).text
        await world.boris.decide(card, "Выполнить")
        assert await world.writes() == []

        await world.script(plan(change_sum(413, 90_000, confirmation_decision="deny")))
        assert "Снято" in texts(await world.boris.ask("и сделку 413 не надо"))
        denied = [event for event in await world.events(world.boris) if event.type == "ConfirmationDenied"]
        assert [event.data["method"] for event in denied] == [UPDATE, UPDATE]


@pytest.mark.req("S004-X7", "S004-A4", "S004-10", "S004-22", "S004-23")
async def test_a_plan_runs_its_free_steps_and_keeps_the_others(world: World) -> None:
    """Of a read, a change and a forbidden step, the read runs, the change waits, the forbidden one is told; the rest stays planned."""
    steps = [
        {**step("crm.deal.get", {"id": 481}), "http_method": "GET"},
        change_sum(481, 150_000),
        step("crm.deal.delete", {"id": 481}),
        step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "ждём договор"}}),
    ]
    await world.script(plan(*steps))
    async with world.bot():
        seen = await world.boris.ask("подними сумму сделки 481 до 150 000, удали её и добавь комментарий «ждём договор»")
        assert len([message for message in seen if message.is_card]) == 1
        assert "Удаление выключено" in texts(seen)
        assert await world.writes() == ["crm.timeline.comment.add"]
        assert {call["http"] for call in await world.calls()} == {"POST"}
        finished = next(event for event in await world.events(world.boris) if event.type == "TurnFinished")
    left = [action["method"] for action in finished.data["next_planned_actions"]]
    assert left == ["crm.deal.update", "crm.deal.delete"]


TYPED: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "a reply «да» to the card": ({"reply": "yes"}, "да", [UPDATE]),
    "«Да.» right after the card": ({}, "Да.", [UPDATE]),
    "«нет» right after the card": ({}, "нет", []),
    "a forwarded «да»": ({"forward_from": "Клиент"}, "да", []),
    "«да» through another bot": ({"via_bot": "gif_bot"}, "да", []),
}


@pytest.mark.req("S004-A1")
async def test_a_typed_yes_counts_only_where_it_is_bound_to_the_card(world: World) -> None:
    """In a reply to the card or right after it; not forwarded, not through a bot, not for two cards at once."""
    async with world.bot():
        for name, (more, word, expected) in TYPED.items():
            await world.portal.post("/sandbox/reset")
            card = await world.boris.card(RAISE)
            await world.boris.say(word, **({"reply_to": card.number} if "reply" in more else more))
            await _until_quiet(world)
            assert await world.writes() == expected, name
            await world.boris.press(card.number, card.data("Отклонить"))
            await _until_quiet(world)
        await world.boris.card(RAISE)
        await world.boris.card("поставь сумму сделки 413 90 000")
        asked = await world.boris.ask("да")
        assert "нажмите кнопку" in texts(asked)
        assert await world.writes() == []


async def _until_quiet(world: World) -> None:
    """Decisions and commands are worked in order, so an answered command means that the word before it was worked."""
    await world.boris.ask("/status")
    await world.settled()
