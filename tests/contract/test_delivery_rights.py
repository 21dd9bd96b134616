"""Who lost access while messages waited for them reads none of these over the wire of a real Bot API; who is still in, or just came in, reads all."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.access.access import Access, Person
from bot.access.access_file import FileNews
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.chats import NO_ACCESS
from orchestrator.domain.outputs import Notice
from orchestrator.features.people import screens
from orchestrator.sessions import outbox
from orchestrator.sessions.session import open_session
from state.clock import SystemClock, format_iso
from state.events.people import PersonDismissed, PersonJoined
from state.journal.store import OutboxRow
from state.model.card import Card
from state.model.registry import SESSION
from state.sql import build_sqlite_url
from tests.contract.sandbox_telegram_kit import BORIS, VERA, until
from tests.contract.test_delivery_sandbox import Bench, _benched, _row, _until

NEW = 2001
NAMES = {BORIS: "Борис", VERA: "Вера"}
CHANGED = {
    "what": "changed", "entity": "deal", "kind": "", "title": "Ромашка", "url": "", "who": [], "lines": [{"name": "Сумма", "before": "1", "after": "2"}],
}  # fmt: skip
CARD = {
    "confirmation_id": "0a1b2c3d4e", "nonce": "12345678", "method": "crm.deal.update", "taps": 1, "call_class": "W", "requested_by_name": "Вера",
    "preview": {"verb": "update", "entity": "deal", "title": "Ромашка", "lines": [{"field": "OPPORTUNITY", "name": "Сумма", "before": "1", "after": "2"}]},
}  # fmt: skip


def _listed() -> Access:
    return Access([Person(telegram_id=number, name=name, role="lead") for number, name in NAMES.items()])


def _without(person: int) -> FileNews:
    kept = tuple(Person(telegram_id=number, name=name, role="lead") for number, name in NAMES.items() if number != person)
    return FileNews(content="another", people=kept)


def _card(chat: int, status: str = "requested", **more: Any) -> OutboxRow:
    entry = CARD | {"status": status, "expires_at": format_iso(SystemClock().now())} | more
    row = outbox.build_card_row(f"tg:{chat}", Card.from_stored(entry), SystemClock().now())
    return replace(row, body={**row.body, "home": more["home"]}) if "home" in more else row


def _everything(chat: int) -> list[OutboxRow]:
    """One of each kind that holds what is the company's."""
    now, session = SystemClock().now(), f"tg:{chat}"
    return [
        outbox.build_news_row(session, {"items": [CHANGED], "more": 0}, now),
        outbox.build_code_row(session, "crm.deal.update\n{}", now),
        _row(chat, "Показано 10 из 137 " * 400, key="turn:t1"),
        _card(chat, home=f"tg:{BORIS}", lead=True, told_names=["Вера"], confirmation_id="f" * 10),
        screens.build_row(session, screens.build_message("people-file-taken", count=2, faults=""), now),
    ]


async def _happens(bench: Bench, event: Any) -> None:
    session = await open_session(bench.store, SystemClock(), SESSION, "one")
    await session.commit(event, actor="system")
    await session.close()


def _url(folder: Path) -> str:
    return build_sqlite_url(folder / "sdelka.db")


def _closed(folder: Path) -> list[str]:
    """Why each row that ops find closed was closed."""
    with closing(sqlite3.connect(folder / "sdelka.db")) as connection:
        return [note for (note,) in connection.execute("SELECT note FROM outbox WHERE status = 'failed'")]


async def _idle(bench: Bench) -> None:
    async def nothing_waits() -> bool:
        return not await bench.store.list_due_outbox("tg", SystemClock().now(), 500)

    await until(nothing_waits, 15)


@pytest.mark.long
@pytest.mark.req("S004-15")
async def test_what_waits_for_somebody_who_is_removed_is_never_shown(tmp_path: Path) -> None:
    """A flood wait holds the chat; meanwhile the person leaves the list: of what waits only the sentence about that comes through."""
    access = _listed()
    async with _benched(tmp_path, ChatPeople(access), _url(tmp_path)) as bench:
        for person in (BORIS, VERA):
            await bench.kit.say("привет", person)
        await bench.put(_card(VERA))
        await _until(bench, VERA, lambda seen: len(seen) > 1)
        await bench.kit.control(
            "/sandbox/faults", {"method": "sendMessage", "chat_id": VERA, "kind": "429", "retry_after": 3, "hold": True}
        )
        await bench.put(*_everything(VERA), _row(BORIS, "иной"))
        await _until(bench, BORIS, lambda seen: seen[-1] == "иной")
        before = await bench.texts(VERA)
        access.apply_file_news(_without(VERA))
        now = SystemClock().now()
        lost = screens.build_row(f"tg:{VERA}", screens.build_message("people-lost-admin", cards=1), now)
        await bench.put(_card(VERA, "superseded", why="no-access"), lost)
        seen = await _until(bench, VERA, lambda seen: seen[-1].startswith("Ваш доступ закрыт"))
        await _idle(bench)
        assert len(seen) == len(before) + 1, seen[len(before) :]
        assert not any("inline_keyboard" in (message.get("reply_markup") or {}) for message in await bench.kit.seen(VERA)), (
            "the card is closed"
        )
        assert _closed(tmp_path) == [NO_ACCESS] * len(_everything(VERA))
        assert (await bench.counted())["early"] == 0


async def test_who_joined_a_moment_ago_is_no_stranger(tmp_path: Path) -> None:
    """Another process let them in: the memory of this one is seconds old, and is not what a message is closed upon."""
    async with _benched(tmp_path, ChatPeople(_listed()), _url(tmp_path)) as bench:
        await bench.kit.control("/sandbox/users", {"id": NEW, "first_name": "Олег"})
        await bench.kit.say("привет", NEW)
        await bench.put(_row(NEW, "никто ещё не впущен"))
        await _idle(bench)
        assert _closed(tmp_path) == [NO_ACCESS]
        await _happens(bench, PersonJoined(person=f"tg:{NEW}", name="Олег", role="manager", bitrix_user_id=9, by="tg:1"))
        await bench.put(_row(NEW, "добро пожаловать"))
        assert await _until(bench, NEW, lambda seen: len(seen) > 1) == ["привет", "добро пожаловать"]
        assert _closed(tmp_path) == [NO_ACCESS]


@pytest.mark.long
async def test_who_was_dismissed_in_the_portal_is_a_stranger_and_reads_about_links(tmp_path: Path) -> None:
    access = _listed()
    async with _benched(tmp_path, ChatPeople(access), _url(tmp_path)) as bench:
        await bench.kit.say("привет", VERA)
        await _happens(bench, PersonDismissed(person=f"tg:{VERA}", why="portal", by="system"))
        await access.reload_registry(bench.store)
        now, session = SystemClock().now(), f"tg:{VERA}"
        codes = ("people-link-wrong", "people-link-used", "people-link-expired", "people-link-often")
        await bench.put(_row(VERA, "итоги дня"), *(screens.build_row(session, screens.build_message(code), now) for code in codes))
        seen = await _until(bench, VERA, lambda seen: len(seen) == 1 + len(codes))
        assert "итоги дня" not in seen
        await bench.delivery.report_trouble(session, Notice(code="stranger", args={"id": str(VERA)}))
        assert str(VERA) in (await _until(bench, VERA, lambda seen: len(seen) == 2 + len(codes)))[-1]


async def test_a_groups_message_is_the_groups(tmp_path: Path) -> None:
    """No one person's access opens or shuts what a whole group reads."""
    access = _listed()
    async with _benched(tmp_path, ChatPeople(access), _url(tmp_path)) as bench:
        group = (await bench.kit.control("/sandbox/chats", {"title": "Продажи", "members": [BORIS, VERA]}))["chat_id"]
        access.apply_file_news(_without(VERA))
        await bench.put(_row(group, "ответ", key="turn:t1"))
        assert "ответ" in await _until(bench, group, lambda seen: "ответ" in seen)
        assert _closed(tmp_path) == []
