"""Long polling: confirmed means stored, and one bad update stops nobody."""

import asyncio
from typing import Any

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramConflictError, TelegramNetworkError, TelegramUnauthorizedError
from aiogram.methods import GetMe
from aiogram.types import Update

from bot.telegram.intake.ingest import ALLOWED_UPDATES, CONFLICT_WINDOW, PAUSES, STORE_PAUSE, Poller, UpdateIntake
from state.journal.store import StoreUnwritable
from tests.unit.bot.telegram.door_kit import TOKEN, Wire, raw_message, refused


class Door:
    """Keeps what it accepts; ends the polling when the script is over."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.accepted: list[int] = []
        self.quarantined: list[tuple[int, str]] = []
        self.faults: dict[int, list[Exception]] = {}
        self.full: list[Exception] = []
        self.waited: list[float] = []
        self.polls_while_waiting: set[int] = set()
        bot = Bot(TOKEN, session=self.wire)
        self.leads: list[bool] = []
        self.poller = Poller(bot, UpdateIntake(bot, self.accept, self.quarantine), may_poll=self.may_poll)

    async def accept(self, update: Update) -> None:
        if self.faults.get(update.update_id):
            raise self.faults[update.update_id].pop(0)
        self.accepted.append(update.update_id)

    def may_poll(self) -> bool:
        return self.leads.pop(0) if self.leads else True

    async def quarantine(self, update_id: int, why: str) -> None:
        if self.full:
            raise self.full.pop(0)
        self.quarantined.append((update_id, why))

    def answers(self, *updates: Any) -> None:
        self.wire.will({"ok": True, "result": list(updates)})

    async def run(self) -> None:
        """Poll until the script is at its end; "unauthorised" ends it."""
        self.wire.will(refused(401, "Unauthorized"))
        with pytest.raises(TelegramUnauthorizedError):
            await asyncio.wait_for(self.poller.run(), 30)

    def offsets(self) -> list[int | None]:
        return [body.get("offset") for body in self.wire.calls("getUpdates")]


def _update(number: int, **more: Any) -> dict[str, Any]:
    return {"update_id": number, "message": raw_message("привет")} | more


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    """A door whose pauses take no time."""
    made = Door()

    async def at_once(seconds: float) -> None:
        made.waited.append(seconds)
        made.polls_while_waiting.add(len(made.offsets()))

    monkeypatch.setattr("bot.telegram.intake.ingest.asyncio.sleep", at_once)
    return made


async def test_updates_are_taken_in_order_and_confirmed_by_the_next_poll(door: Door) -> None:
    door.answers(_update(5), _update(6))
    door.answers()
    door.answers(_update(9))
    await door.run()
    assert door.accepted == [5, 6, 9]
    assert door.offsets() == [None, 7, 7, 10]
    assert door.wire.calls("getUpdates")[0]["allowed_updates"] == ALLOWED_UPDATES


async def test_no_chat_waits_until_the_updates_of_another_are_stored(door: Door) -> None:
    """Failed before: of 200 people who write at once the last turn began after 7.9 s, since each update was stored after the one before."""
    first_is_stored, others = asyncio.Event(), []

    async def accept(update: Update) -> None:
        chat = update.callback_query.message.chat if update.callback_query and update.callback_query.message else update.message.chat
        if chat.id == 1:
            await first_is_stored.wait()
            door.accepted.append(update.update_id)
            return
        others.append(update.update_id)
        if len(others) == 3:
            first_is_stored.set()

    def says(number: int, chat: int) -> dict[str, Any]:
        return _update(number, message=raw_message("привет", chat=chat))

    press = {"id": "1", "from": raw_message("")["from"], "chat_instance": "1", "data": "x", "message": says(0, 2)["message"]}
    bot = Bot(TOKEN, session=door.wire)
    door.poller = Poller(bot, UpdateIntake(bot, accept, door.quarantine), may_poll=door.may_poll)
    door.answers(says(5, 1), says(6, 1), says(7, 2), {"update_id": 8, "callback_query": press}, says(9, 2))
    await door.run()
    assert (door.accepted, others) == ([5, 6], [7, 8, 9])
    assert door.offsets() == [None, 10]


@pytest.mark.parametrize(
    "bad",
    [
        {"update_id": 6, "message": {"text": "без чата"}},
        {"update_id": 6, "message": raw_message("x", date="вчера")},
        {"update_id": 6, "callback_query": {"id": "1"}},
        {"update_id": 6, "message": "строка"},
        {"update_id": 6, "message": raw_message("секрет", via={"id": "не число"})},
    ],
)
async def test_a_bad_update_is_quarantined_without_its_content_and_the_next_accepted(door: Door, bad: dict[str, Any]) -> None:
    door.answers(_update(5), bad, _update(7))
    await door.run()
    assert door.accepted == [5, 7]
    ((number, why),) = door.quarantined
    assert number == 6
    assert "faults, first at" in why
    assert "секрет" not in why
    assert door.offsets() == [None, 8]


@pytest.mark.req("S004-1")
async def test_an_update_is_not_confirmed_before_it_is_stored(door: Door) -> None:
    """While the store is broken nothing is polled; then the same update is stored, once, before the later ones."""
    door.faults = {6: [StoreUnwritable("disk full"), StoreUnwritable("disk full")]}
    door.answers(_update(5), _update(6), _update(7))
    await door.run()
    assert door.accepted == [5, 6, 7]
    assert door.waited == [STORE_PAUSE, STORE_PAUSE]
    assert door.polls_while_waiting == {1}
    assert door.offsets() == [None, 8]


async def test_who_is_stopped_while_the_store_is_broken_has_confirmed_nothing(door: Door) -> None:
    door.faults = {6: [asyncio.CancelledError()]}  # type: ignore[list-item]
    door.answers(_update(5), _update(6))
    with pytest.raises(asyncio.CancelledError):
        await door.poller.run()
    door.answers(_update(6))
    await door.run()
    assert door.accepted == [5, 6]
    assert door.offsets() == [None, None, 7]


async def test_an_update_nothing_can_be_made_of_blocks_nobody(door: Door) -> None:
    door.faults = {6: [ValueError("секрет"), ValueError("секрет")]}
    door.full = [StoreUnwritable("disk full")]
    door.answers(_update(5), _update(6), _update(7))
    await door.run()
    assert (door.accepted, door.quarantined) == ([5, 7], [(6, "ValueError")])
    assert door.waited == [STORE_PAUSE]


@pytest.mark.parametrize("odd", [{"message": raw_message("без номера")}, {"update_id": "шесть"}])
async def test_what_is_no_update_stops_nobody(door: Door, odd: dict[str, Any]) -> None:
    door.answers(_update(5), odd, _update(7))
    await door.run()
    assert (door.accepted, door.offsets()) == ([5, 7], [None, 8])


async def test_kinds_of_update_that_we_do_not_know_are_taken_and_passed(door: Door) -> None:
    door.answers({"update_id": 5, "a_kind_of_tomorrow": {"x": 1}}, _update(6, a_field_of_tomorrow=1))
    await door.run()
    assert (door.accepted, door.quarantined) == ([5, 6], [])


@pytest.mark.parametrize(
    "trouble",
    [
        refused(502, "Bad Gateway"),
        refused(400, "Bad Request: odd"),
        {"status": 200, "nonsense": True},
        TelegramNetworkError(GetMe(), "reset"),
        refused(429, "Too Many Requests: retry after 1", retry_after=1),
    ],
)
async def test_telegrams_troubles_are_waited_out_with_the_offset_kept(door: Door, trouble: Any) -> None:
    door.answers(_update(5))
    door.wire.will(trouble)
    door.answers(_update(6))
    await door.run()
    assert door.accepted == [5, 6]
    assert door.offsets() == [None, 6, 6, 7]
    assert door.waited == [1]


async def test_who_the_bot_is_is_known_before_the_first_update_and_asked_once(door: Door) -> None:
    """Telegram does not say it at first: nothing is polled until it does, since a command could be another bot's."""
    door.wire.will(refused(502, "Bad Gateway"), when=lambda name, _: name == "getMe")
    door.answers(_update(5))
    await door.run()
    assert [name for name, _ in door.wire.sent] == ["getMe", "getMe", "getUpdates", "getUpdates"]
    assert (door.accepted, door.waited) == ([5], [1])


@pytest.mark.parametrize(("named", "waited"), [(7, 7), (3600, 3600), (3601, 3600), (10**9, 3600), (0, 1), (None, 1), (-5, 1)])
async def test_a_nonsensical_wait_silences_nobody_for_years(door: Door, named: int | None, waited: int) -> None:
    door.wire.will(refused(429, "Too Many Requests: retry after", **({} if named is None else {"retry_after": named})))
    door.answers(_update(5))
    await door.run()
    assert (door.accepted, door.waited) == ([5], [waited])


async def test_a_second_poller_with_the_same_token_ends_this_one(door: Door) -> None:
    for _ in range(2):
        door.wire.will(refused(409, "Conflict: terminated by other getUpdates request"))
    with pytest.raises(TelegramConflictError):
        await door.poller.run()


async def test_one_poll_of_a_process_that_was_suspended_does_not_end_this_one(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of ours that lost its lease while it was suspended may poll once more; only who goes on polling is another program."""
    now = 1000.0
    monkeypatch.setattr("bot.telegram.intake.ingest.time.monotonic", lambda: now)
    door.wire.will(refused(409, "Conflict: terminated by other getUpdates request"))
    door.answers(_update(10))
    await door.run()
    assert door.accepted == [10]
    now += CONFLICT_WINDOW
    door.wire.will(refused(409, "Conflict: terminated by other getUpdates request"))
    door.answers(_update(11))
    await door.run()
    assert door.accepted == [10, 11]


async def test_who_does_not_lead_does_not_poll(door: Door) -> None:
    """A process that wakes up after its lease has ended must not end the poll of the new leader."""
    door.leads = [False, False, False, True]
    door.answers(_update(10))
    await door.run()
    assert (door.waited, door.polls_while_waiting, door.accepted) == ([PAUSES[0]] * 3, {0}, [10])
