"""The access file is followed while the bot runs: rights, leads and deputies hold at once, a faulty file changes nothing and is told."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.access import access as module
from bot.access.access import Access, load_access
from bot.access.access_file import AccessFile, read_people
from orchestrator.features.leads.approvers import LeadApprovers
from tests.unit.features.people.people_kit import ANNA, OLGA, Office
from tests.unit.spine_kit import CHAT, NOW, effect, until

ADMIN = "  - {telegram_id: 1001, name: Ольга, role: admin, bitrix_user_id: 1}\n"
VERA = "  - {telegram_id: 1006, name: Вера, role: lead, bitrix_user_id: 6%s}\n"
ANNA_LINE = "  - {telegram_id: 1007, name: Анна, bitrix_user_id: 7, lead: 1006%s}\n"
BORIS_LINE = "  - {telegram_id: 1008, name: Борис, bitrix_user_id: 8%s}\n"


def _written(path: Path, *lines: str, minute: int = 0) -> Path:
    """The file as somebody saved it some minutes ago."""
    path.write_text("people:\n" + "".join(lines), encoding="utf-8")
    os.utime(path, (NOW.timestamp() - 3600 + 60 * minute,) * 2)
    return path


@contextlib.asynccontextmanager
async def _followed(access: Access, office: Office) -> Any:
    """The list that the running bot works with, followed."""
    object.__setattr__(office.desk, "staff", access)
    task = asyncio.ensure_future(access.watch_registry(office.world.store))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    return _written(tmp_path / "access.yaml", ADMIN, VERA % "", ANNA_LINE % "", BORIS_LINE % "")


def _told(office: Office) -> list[tuple[str, str, dict[str, Any]]]:
    return [(row.session, row.body["code"], row.body["args"]) for row in office.world.outbox() if row.kind == "people"]


async def test_a_lead_who_goes_away_is_stood_in_for_without_a_restart(path: Path, office: Office) -> None:
    """`away` and `deputy` were read at the start only: a lead who fell ill blocked every request above the limit."""
    access = load_access(path)
    leads = LeadApprovers(access, lambda: NOW)
    anna = access.find_actor_by_key(CHAT)
    assert anna is not None
    assert [lead.name for lead in leads.find_leads(anna, lambda _: True)] == ["Вера"]
    async with _followed(access, office):
        _written(path, ADMIN, VERA % ", away: 2026-11-30, deputy: 1008", ANNA_LINE % "", BORIS_LINE % "", minute=1)
        await until(lambda: access.find_absence("tg:1006") is not None)
    assert [lead.name for lead in leads.find_leads(anna, lambda _: True)] == ["Борис"]
    assert leads.apply_delegation(_actor(access, "tg:1008")).role == "lead"
    await office.work()
    assert ("tg:1001", "people-file-taken", {"count": 4, "faults": ""}) in _told(office)


def _actor(access: Access, key: str) -> Any:
    """The actor as the list has them now."""
    actor = access.find_actor_by_key(key)
    assert actor is not None
    return actor


async def test_whoever_is_taken_out_of_the_file_has_no_access_and_no_open_card(path: Path, office: Office) -> None:
    access = load_access(path)
    session = await office.world.session(CHAT)
    what = effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5_000_000}})
    await office.world.asked(session, what, actor=_actor(access, CHAT))
    await session.close()
    async with _followed(access, office):
        _written(path, ADMIN, VERA % "", BORIS_LINE % ", role: lead", minute=1)
        await until(lambda: access.find_actor(ANNA) is None)
        await until(lambda: ("access", "express") in office.world.sql.list_ready_sessions())
    assert _actor(access, "tg:1008").role == "lead"
    await office.work()
    assert "ConfirmationSuperseded" in office.world.types()
    told = _told(office)
    assert (CHAT, "people-lost-admin", {"cards": 1}) in told
    assert ("tg:1001", "people-file-taken", {"count": 3, "faults": ""}) in told


FAULTS: list[tuple[Callable[[Path], Any], str]] = [
    (lambda path: path.write_text("people: [", encoding="utf-8"), "no valid YAML at line 1, column 10: look at indents"),
    (lambda path: path.write_text("", encoding="utf-8"), "nobody is listed"),
    (lambda path: path.write_bytes(b"people: [\xff\xfe]"), "no UTF-8 text"),
    (lambda path: path.write_text("people: [{telegram_id: 1, name: А, role: boss}]", encoding="utf-8"), "people.0.role"),
    (lambda path: path.write_text("people:\n" + ADMIN + ADMIN, encoding="utf-8"), "listed twice"),
    (lambda path: path.unlink(), "cannot be read"),
]


@pytest.mark.parametrize(("spoil", "fault"), FAULTS, ids=[fault for _, fault in FAULTS])
async def test_a_faulty_file_changes_nothing_and_is_told_once(path: Path, office: Office, spoil: Callable[[Path], Any], fault: str) -> None:
    """The list that was good stays in force, with a sentence for the administrators; mended, it holds again."""
    access = load_access(path)
    async with _followed(access, office):
        spoil(path)
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (NOW.timestamp() - 60,) * 2)
        await until(lambda: ("access", "express") in office.world.sql.list_ready_sessions())
        assert len(access) == 4
        await asyncio.sleep(0.05)
    await office.work()
    (one,) = _told(office)
    assert one[:2] == ("tg:1001", "people-file-faulty")
    assert fault in one[2]["faults"]
    assert str(path) not in one[2]["faults"]
    assert "unicode string" not in one[2]["faults"], "the parser's own words"


def test_a_file_that_is_being_written_waits_until_it_is_whole(path: Path) -> None:
    """Half a list would shut people out."""
    now = NOW.timestamp()
    followed = AccessFile(path, wall=lambda: now)
    path.write_text("people:\n" + ADMIN, encoding="utf-8")
    os.utime(path, (now - 0.4,) * 2)
    assert followed.poll() is None
    os.utime(path, (now - 1.5,) * 2)
    news = followed.poll()
    assert [person.telegram_id for person in news.people] == [OLGA]
    assert followed.poll() is None


def test_a_file_that_was_only_touched_is_no_news(path: Path) -> None:
    followed = AccessFile(path)
    os.utime(path, (NOW.timestamp() - 30,) * 2)
    assert followed.poll() is None
    assert read_people(path)[1].away is None


async def test_who_comes_with_the_file_has_the_zone_of_the_portal_at_once(path: Path, office: Office) -> None:
    """Not Moscow's for an hour."""
    access = load_access(path)

    async def zone_of(*, user_id: int | None) -> str:
        return "Asia/Vladivostok" if user_id == 9 else "Europe/Moscow"

    await access.fetch_zones(zone_of)
    async with _followed(access, office):
        _written(path, ADMIN, "  - {telegram_id: 1009, name: Глеб, bitrix_user_id: 9}\n", minute=1)
        await until(lambda: access.find_actor(1009) is not None and _actor(access, "tg:1009").time_zone == "Asia/Vladivostok")
