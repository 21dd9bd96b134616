"""What the demo offers it does: voice is heard, its examples end in the act they promise, a scene finds what it needs, all can begin anew."""

from pathlib import Path

import pytest

from tests.e2e.demo_kit import Demo, running_demo
from tests.e2e.e2e_people import Person, Shown, until

pytestmark = pytest.mark.long  # processes of its own

REFUSALS = ("⚠️", "Не выполнено", "Not done", "Не нашёл", "не подключён", "Этого я не понял", "did not understand", "временно недоступны")


async def prepare(demo: Demo, *deals: int) -> None:
    """What the page asks for before a scene of Boris."""
    await demo.post("/demo/prepare", {"scene": "s", "person": 1007, "deals": list(deals), "reason": "Сцена началась заново"})


async def last_word(demo: Demo, person: Person, after: int) -> list[Shown]:
    """What the bot answered; where it proposes something, with the card."""

    async def over() -> bool:
        chat = (await demo.page.get(f"/sandbox/chats/{person.chat}/messages", params={"after": after})).json()
        final = [message for message in chat["messages"] if message["from"] == "bot" and not message.get("draft")]
        proposed = any("карточку ниже" in message["text"] or "card below" in message["text"] for message in final)
        return bool(final) and (not proposed or any(message["buttons"] for message in final))

    await until(over, f"an answer to {person.name}")
    return await person.seen(after)


async def test_voice_deletion_handing_over_and_subscriptions_end_in_the_act(tmp_path: Path) -> None:
    """Seen: «Голос не подключён», «Удаление выключено», «только через приложение». A card, and a second tap to delete, are the price."""
    async with running_demo(tmp_path) as demo:
        boris = demo.person(1007)
        spoken = (await demo.post("/sandbox/users/1007/voice", {"words": "подними сумму сделки Ромашка до 150 000"}))["message_id"]
        await demo.told(boris, spoken, "Услышал: «подними сумму сделки Ромашка до 150 000»")
        card = await demo.told(boris, spoken, "Сумма: 120 000 ₽ → 150 000 ₽")
        await demo.approve(boris, card, "Выполнить")

        deletion = await demo.ask(boris, "удали сделку Ромашка", "Удалить сделку «Ромашка»")
        again = await demo.approve(boris, deletion, "Да, выполнить", done="Точно выполнить?")
        assert await demo.deal(481) is not None, "the first tap deletes nothing"
        await demo.approve(boris, again, "Точно, выполнить")

        subscriptions = await demo.ask(boris, "покажи подписки", "Подписки:")
        hand = await demo.ask(boris, "передай все мои сделки Вере", "Ответственный: Борис Смирнов → Вера Лебедева")
        await boris.press(hand.number, hand.data("Подробнее"))
        whole = await demo.told(boris, hand.number, "Остальное — в сообщениях выше")
        await demo.approve(boris, whole, "Выполнить")
        left = [
            row for row in (await demo.portal.get("/sandbox/records/deal")).json() if row["ASSIGNED_BY_ID"] == "7" and row["CLOSED"] == "N"
        ]
        gone = await demo.deal(481)

    assert (gone, left) == (None, [])
    assert "• сделка: изменение" in subscriptions.text


async def test_a_conversation_goes_on_from_what_was_shown_and_made(tmp_path: Path) -> None:
    """A row of the list by its number, who changed it, counts for a lead, a new deal with its task, and a second wish after the card."""
    async with running_demo(tmp_path) as demo:
        boris, anna = demo.person(1007), demo.person(1006)
        await demo.ask(boris, "покажи мои сделки", "3. Вектор: сервисный договор")
        card = await demo.ask(boris, "третью переведи в Финальный счёт", "Стадия: Новая → Финальный счёт")
        await demo.approve(boris, card, "Выполнить")
        history = await demo.ask(boris, "кто менял третью?", "Изменения:")

        people = await demo.ask(anna, "сколько сделок по менеджерам?", "Открытые сделки по менеджерам:")
        stages = await demo.ask(anna, "а по стадиям?", "Открытые сделки по стадиям:")

        made = await demo.ask(
            boris, "создай сделку «Лютик» на 300 000 и поставь задачу подготовить договор завтра", "Создать сделку «Лютик»"
        )
        await demo.approve(boris, made, "Выполнить")
        task = await demo.told(boris, made.number, "Создана задача «Подготовить договор»")

        raised = await demo.ask(boris, "увеличь сумму сделки 481 на 10% и подними сумму сделки 413 до 90 000", "120 000 ₽ → 132 000 ₽")
        await demo.approve(boris, raised, "Выполнить")
        following = await demo.told(boris, raised.number, "85 000 ₽ → 90 000 ₽")
        await demo.approve(boris, following, "Выполнить")
        moved = await demo.deal(413)

    assert "Вектор: сервисный договор" in card.text
    assert "Стадия: Новая → Финальный счёт" in history.text
    assert "Борис Смирнов" in people.text
    assert "Вера Лебедева" in people.text
    assert "Новая" in stages.text
    assert "сделка «Лютик»" in task.text
    assert moved is not None
    assert (moved["STAGE_ID"], float(moved["OPPORTUNITY"])) == ("FINAL_INVOICE", 90_000)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "language", "question"), [(1006, "ru", "что ты умеешь?"), (1008, "en", "what can you do?")])
async def test_no_example_of_the_help_ends_in_a_refusal(tmp_path: Path, number: int, language: str, question: str) -> None:
    """Every example that the demo names to a manager and to a lead leads to an answer or a card."""
    async with running_demo(tmp_path) as demo:
        await demo.post("/demo/language", {"language": language})
        person = demo.person(number)
        known = await demo.ask(person, question, "• ")
        examples = [part for line in known.text.splitlines() if line.startswith("• ") for part in line.removeprefix("• ").split(" · ")]
        answers = {}
        for example in examples:
            seen = await last_word(demo, person, await person.say(example))
            answers[example] = "\n".join(message.text for message in seen)

    assert len(examples) > 12
    assert {example: text for example, text in answers.items() if any(word in text for word in REFUSALS)} == {}


async def test_a_scene_finds_what_it_needs_whatever_was_done_before(tmp_path: Path) -> None:
    """Changed, handed over, deleted, frozen, waiting, in the wrong mode: the next scene begins with its deal, and a card comes."""
    async with running_demo(tmp_path, "--mode", "shadow") as demo:
        boris, olga = demo.person(1007), demo.person(1001)
        await demo.ask(boris, "подними сумму сделки Ромашка до 150 000", "Теневой режим")
        await prepare(demo, 481)
        first = await demo.ask(boris, "подними сумму сделки Ромашка до 150 000", "Сумма: 120 000 ₽ → 150 000 ₽")
        await demo.approve(boris, first, "Выполнить")
        hand = await demo.ask(boris, "передай сделку Ромашка Вере", "→ Вера Лебедева")
        await demo.approve(boris, hand, "Выполнить")
        waiting = await demo.ask(boris, "создай сделку «Ромашка» на 300 000", "Создать сделку")
        await demo.ask(olga, "/freeze", "остановлена")
        await prepare(demo, 481)

        closed = await boris.sees(waiting.number, "Сцена началась заново")
        card = await demo.ask(boris, "подними сумму сделки Ромашка до 151 000", "Сумма: 120 000 ₽ → 151 000 ₽")
        done = await demo.approve(boris, card, "Выполнить")
        news = [message.text for message in await boris.seen() if message.text.startswith("🔔")]

        deletion = await demo.ask(boris, "удали сделку Ромашка", "Удалить сделку «Ромашка»")
        await demo.approve(boris, deletion, "Да, выполнить", done="Точно выполнить?")
        await demo.approve(boris, await boris.message(deletion.number), "Точно, выполнить")
        await prepare(demo, 481)
        back = await demo.ask(boris, "покажи сделку Ромашка", "120 000 ₽")
        assert not closed.is_card
        assert "Раньше это отклонили" not in done.text
        assert back.text.startswith("Ромашка")
        assert news == [], "what a scene restores is no news to the person it is played for"


async def test_everything_begins_anew(tmp_path: Path) -> None:
    """Chats, records, journal and audit log are as in the first minute, the mode is the one of the start, and the bot answers.

    As then, leads and administrators may have been told of the examples that were published.
    """
    async with running_demo(tmp_path, "--mode", "shadow") as demo:
        boris = demo.person(1007)
        await prepare(demo, 481)
        card = await demo.ask(boris, "подними сумму сделки Ромашка до 150 000", "→ 150 000 ₽")
        await demo.approve(boris, card, "Выполнить")
        await demo.ask(boris, "подними сумму сделки Ромашка до 160 000", "→ 160 000 ₽")
        await demo.post("/demo/restart")

        chats = (await demo.page.get("/sandbox/chats")).json()["chats"]
        audit = (await demo.page.get("/demo/audit")).json()["records"]
        deal = await demo.deal(481)
        mode = await demo.ask(boris, "/mode", "Режим")
        pending = await demo.ask(boris, "/pending", "")
        await prepare(demo)
        subscriptions = await demo.ask(boris, "покажи подписки", "Подписки:")

    assert {chat["last"]["text"].partition(" ")[0] for chat in chats if chat["last"] is not None} <= {"📄"}
    assert audit == []
    assert deal is not None
    assert float(deal["OPPORTUNITY"]) == 120_000
    assert "теневой" in mode.text
    assert not pending.is_card
    assert subscriptions.text.count("•") == 9
