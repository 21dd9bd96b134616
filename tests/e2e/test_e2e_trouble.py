"""When a party fails or the input is bad: a clear sentence to the right person, nothing lost, nothing doubled, the bot alive."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.e2e.e2e_kit import MovedClock, World, plan, texts
from tests.e2e.e2e_people import until

RAISE = "подними сумму сделки Ромашка до 150 000"
UPDATE = "crm.deal.update"
DEGRADED = "Автоматические действия временно недоступны"
UNREADABLE = 'ACTION: [{"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1}}'


@pytest.mark.req("S004-6", "S004-20", "S004-54", "S004-55", "S004-36", "S004-X6", "S004-A7")
async def test_an_unreadable_answer_is_asked_about_once_then_given_up(world: World) -> None:
    """A broken answer is sent back once with the reason; a second one ends the turn with the fixed sentence, and nothing runs."""
    async with world.bot():
        await world.script(UNREADABLE, plan(say="Теперь верно."))
        assert texts(await world.boris.ask("привет, как дела с 481")) == "Теперь верно."
        first, second = await world.prompts()
        assert len(second["messages"]) == len(first["messages"]) + 2
        assert "could not be read" in second["messages"][-1]["content"]

        await world.script(UNREADABLE, UNREADABLE)
        seen = await world.boris.ask("сделка 481: сумма 1")
        assert seen[0].text.startswith(DEGRADED)
        assert "Повторите запрос позже" in seen[0].text
        assert len(seen) == 1
        assert len(await world.prompts()) == 4
        assert await world.writes() == []
        assert "Ваши открытые сделки" in texts(await world.boris.ask("покажи мои сделки"))


@pytest.mark.req("S004-21", "S004-54", "S004-55")
@pytest.mark.parametrize("kind", ["500", "drop", "drop_mid_stream", "garbage", "truncated", "empty"])
async def test_a_model_that_fails_means_the_fixed_sentence_and_a_bot_that_lives(world: World, kind: str) -> None:
    """However the model fails, nothing runs, the person is told to try later, and the next request works."""
    async with world.bot():
        await world.break_model(kind, times=4)
        seen = await world.boris.ask(RAISE)
        assert [message.text[: len(DEGRADED)] for message in seen] == [DEGRADED]
        assert await world.writes() == []
        await world.model.delete("/sandbox/faults")
        await world.boris.card(RAISE)
        degraded = next(event for event in await world.events(world.boris) if event.type == "TurnFinished")
        assert degraded.data["reason"] == "degraded"


UNKNOWN: dict[str, tuple[str, bool]] = {
    "HTML instead of an answer": ("html_200", False),
    "504 after the work was done": ("504_html", True),
    "the line cut after the work was done": ("commit_then_drop", True),
    "500 after the work was done": ("500_after", True),
    "a redirect": ("302", False),
}


@pytest.mark.req("S004-36", "S004-X8", "S004-A2")
@pytest.mark.parametrize("name", UNKNOWN)
async def test_an_unknown_outcome_is_shown_never_repeated_and_can_be_checked(world: World, name: str) -> None:
    """The card says that nobody knows; pressing it again sends nothing; «Проверить» looks and tells what is there."""
    kind, carried_out = UNKNOWN[name]
    clock = MovedClock()
    async with world.bot(clock=clock):
        card = await world.boris.card(RAISE)
        await world.break_portal(kind, UPDATE)
        await world.boris.decide(card, "Выполнить")
        unknown = await world.boris.message(card.number)
        assert "Исход неизвестен" in unknown.text, unknown.text
        assert list(unknown.buttons) == ["🔍 Проверить"]
        toast = await world.boris.toast(await world.boris.press(card.number, card.data("Выполнить")))
        assert toast.startswith("Уже отправлено"), toast

        await _check(world, unknown)
        if not carried_out:  # the portal may still be at work: too early to call it not done
            assert "исход пока неизвестен" in texts(await world.boris.seen(card.number))
            clock.ahead = timedelta(seconds=90)
            await _check(world, unknown)
        assert f"в Битрикс24 {'' if carried_out else 'не '}выполнен" in (await world.boris.seen(card.number))[-2].text
        final = await world.boris.message(card.number)
        assert ("✅ Выполнено" if carried_out else "Не выполнено") in final.text
        assert list(final.buttons) == ["↩ Отменить" if carried_out else "↻ Повторить"]
        assert len(await world.calls(UPDATE)) == 1


async def _check(world: World, card: Any) -> None:
    await world.boris.toast(await world.boris.press(card.number, card.data("Проверить")))
    await world.boris.ask("/mode")  # worked after the press


@pytest.mark.req("S004-36")
async def test_a_free_write_whose_answer_is_lost_is_told_and_not_repeated(world: World) -> None:
    """A task that needs no card and whose answer never came: the person reads it, the portal has one."""
    async with world.bot():
        await world.break_portal("commit_then_drop", "tasks.task.add")
        seen = await world.boris.ask("создай задачу мне на завтра: позвонить клиенту")
        assert "Исход неизвестен" in texts(seen)
        assert await world.writes() == ["tasks.task.add"]
        assert "Исход неизвестен: 1" in texts(await world.boris.ask("/status"))


async def test_a_telegram_in_trouble_delays_answers_and_loses_none(world: World) -> None:
    """HTML at the start, an undecodable update, then 429 and HTML on sending: all waited out, the answer arrives once."""
    await _break_telegram(world, method="setMyCommands", kind="html", times=4)
    async with world.bot():
        broken = {"message": {"message_id": "not a number", "date": [], "chat": "nowhere"}}
        assert (await world.telegram.post("/sandbox/updates", json=broken)).is_success
        await _break_telegram(world, method="sendMessage", kind="429", chat_id=world.boris.number, retry_after=1)
        await _break_telegram(world, method="sendMessage", kind="html", chat_id=world.boris.number)
        (seen,) = await world.boris.ask("/mode")
        assert "Режим: полный" in seen.text


async def _break_telegram(world: World, **fault: Any) -> None:
    assert (await world.telegram.post("/sandbox/faults", json=fault)).is_success


async def test_an_edited_message_is_not_taken_twice(world: World) -> None:
    """Changing a message after it was sent does not repeat the request; the person is told to send a new one."""
    async with world.bot():
        sent = await world.boris.say("создай задачу мне на завтра: позвонить клиенту")
        await world.boris.answered(sent)
        answer = await world.telegram.post(f"/sandbox/users/{world.boris.number}/edit", json={"message_id": sent, "text": "создай задачу"})
        assert answer.is_success
        assert "Вы изменили сообщение" in texts(await world.boris.answered(sent, 2))
        assert await world.writes() == ["tasks.task.add"]


class Disk:
    """Makes every database of this process take nothing, until it is mended."""

    def __init__(self) -> None:
        self._connections: list[Any] = []
        self._full = False
        self._order = threading.Lock()
        """Held while a connection is told its state: one that its thread closes at this moment would end the whole process."""

    def opened(self, connection: Any, _record: Any) -> None:
        """A new connection begins in the present state."""
        with self._order:
            self._connections.append(connection)
            self._set(connection)

    def closing(self, connection: Any, _record: Any) -> None:
        """A connection that is about to be closed is left alone."""
        with self._order:
            self._connections = [one for one in self._connections if one is not connection]

    def full(self, *, now: bool) -> None:
        """Let writing fail from now on, or work again."""
        with self._order:
            self._full = now
            for connection in self._connections:
                with suppress(sqlite3.ProgrammingError):  # closed meanwhile
                    self._set(connection)

    def _set(self, connection: Any) -> None:
        connection.execute(f"PRAGMA query_only = {int(self._full)}")


@pytest.fixture
def disk() -> Iterator[Disk]:
    """The disk under the journal."""
    made = Disk()
    event.listen(Engine, "connect", made.opened)
    event.listen(Engine, "close", made.closing)
    yield made
    event.remove(Engine, "connect", made.opened)
    event.remove(Engine, "close", made.closing)


async def test_a_journal_that_cannot_be_written_stops_the_call_and_loses_nothing(world: World, disk: Disk) -> None:
    """Without a stored intent there is no call; the person is told once; when the disk is mended the approved call runs, once."""
    async with world.bot():
        card = await world.boris.card(RAISE)
        await world.break_portal("delay", "crm.deal.get", seconds=1)
        looks = len(await world.calls("crm.deal.get"))
        await world.boris.press(card.number, card.data("Выполнить"))

        async def looked() -> bool:
            return len(await world.calls("crm.deal.get")) > looks

        await until(looked, "the last look before the call")
        disk.full(now=True)

        async def told() -> bool:
            return "Не могу записать журнал" in texts(await world.boris.seen(card.number))

        await until(told, "a sentence about the journal")
        asked = await world.boris.say("/mode")
        assert await world.writes() == []

        async def not_confirmed() -> bool:
            return "Не могу записать журнал" in texts(await world.boris.seen(asked))

        await until(not_confirmed, "the same about the command")
        disk.full(now=False)
        await world.boris.sees(card.number, "✅ Выполнено")
        assert "Режим: полный" in texts(await world.boris.answered(asked, 2))
        assert await world.writes() == [UPDATE]
        assert texts(await world.boris.seen(card.number)).count("Не могу записать журнал") == 2
