"""Invitations: used once, in time, by whoever brings the link; every other link is one clear sentence."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.features.people.registry import STREAM, build_proof, create_token, open_name, seal_name
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.features.people.people_kit import (
    ANNA,
    GLEB,
    IRINA,
    LENA,
    OLGA,
    Office,
    an_office,
    brings,
    given,
    invitation,
    presses,
    writes,
)
from tests.unit.spine_kit import until


async def test_who_brings_a_link_joins_and_is_welcomed(office: Office) -> None:
    """Rights as invited, name and zone as in the portal; role, mode, three examples and the switch; the administrators know."""
    assert office.access.find_actor(GLEB) is None
    await office.joined(role="lead")
    actor = office.access.find_actor(GLEB)
    assert (actor.key, actor.name, actor.role, actor.sees, actor.bitrix_user_id) == ("tg:666", "Глеб Седов", "lead", "all", 8)
    assert actor.time_zone == "Asia/Vladivostok"
    told = {chat: (words, data) for chat, words, data in office.said()}
    words, data = told["tg:666"]
    assert "Глеб Седов" in words
    assert "руководитель" in words
    assert "полный режим" in words
    assert [item.partition(":")[0] for item in data] == ["e1", "e1", "e1", "p1"]
    assert data[3].startswith("p1:pref:digest:on:w")
    assert told["tg:1001"][0] == "Глеб Седов теперь работает со мной: руководитель, сотрудник Битрикс24 №8, Telegram ID 666."
    assert [item.rpartition(":")[0] for item in told["tg:1001"][1]] == ["p1:revoke:666"]
    assert told["tg:1002"][0].startswith("Глеб Седов now works with me: head")


async def test_the_name_that_ops_gave_wins_and_is_readable_with_the_link_only(office: Office) -> None:
    """Before somebody joins, no text in the database tells whom it is for; the token is never there."""
    token, row = invitation(office, name="Глеб Андреевич")
    await office.work(row)
    assert "Андреевич" not in office.world.stored_text()
    await office.work(brings(token, language_code="en-GB"))
    actor = office.access.find_actor(GLEB)
    assert (actor.name, actor.locale) == ("Глеб Андреевич", "en")
    assert token not in office.world.stored_text()


def test_a_sealed_name_opens_with_its_own_token_only() -> None:
    first, second = build_proof(create_token()), build_proof(create_token())
    assert open_name(seal_name("Глеб", first), first) == "Глеб"
    assert open_name(seal_name("Глеб", first), second) == ""
    assert open_name(seal_name("", first), first) == ""
    assert len(create_token()) == 64


async def test_a_link_works_once(office: Office) -> None:
    """The second one reads so; the first, pressing again, is welcomed again."""
    token = await office.joined()
    office.said()
    await office.work(brings(token, LENA), brings(token, GLEB))
    assert office.access.find_actor(LENA) is None
    assert [(chat, words[:30]) for chat, words, _ in office.said()] == [
        ("tg:667", "Эта ссылка уже использована. П"),
        ("tg:666", "Здравствуйте, Глеб Седов! Я по"),
    ]
    assert office.types() == ["PersonInvited", "PersonJoined", "InvitationRefused"]


@pytest.mark.parametrize("late", [timedelta(hours=48), timedelta(hours=47, minutes=59)])
async def test_a_link_expires_by_the_clock(office: Office, late: timedelta) -> None:
    """At its last moment it is over, a minute before it is not; made again it is not younger."""
    token, row = invitation(office)
    await office.work(row)
    office.world.clock.advance(late)
    await office.work(brings(token))
    joined = late < timedelta(hours=48)
    assert (office.access.find_actor(GLEB) is not None) == joined
    assert joined or office.said() == [("tg:666", "Срок этой ссылки истёк. Попросите администратора о новой.", [])]


async def test_wrong_links_are_refused_five_times_an_hour(office: Office) -> None:
    """Then nothing is looked up, not even the right one, until the hour is over; others are not held up."""
    token, row = invitation(office)
    await office.work(row, *(brings(f"deal_{number}") for number in range(5)))
    assert {words for _, words, _ in office.said()} == {"Эта ссылка не подходит. Попросите администратора о новой."}
    await office.work(brings(token))
    assert [words[:23] for _, words, _ in office.said()] == ["Слишком много попыток. "]
    assert office.types().count("InvitationRefused") == 5
    await office.work(brings(create_token(), LENA))
    assert [words[:23] for _, words, _ in office.said()] == ["Эта ссылка не подходит."]
    office.world.clock.advance(timedelta(hours=1))
    await office.work(brings(token))
    assert office.access.find_actor(GLEB) is not None


async def test_a_dismissed_employee_does_not_join_and_a_portal_that_is_down_keeps_nobody_out(office: Office) -> None:
    office.portal.dismiss(8)
    token, row = invitation(office)
    await office.work(row, brings(token))
    assert office.access.find_actor(GLEB) is None
    office.portal.down = True
    token, row = invitation(office, 6)
    await office.work(row, brings(token))
    actor = office.access.find_actor(GLEB)
    assert (actor.name, actor.time_zone) == ("Gleb (@user666)", "Europe/Moscow")


async def test_who_has_access_needs_no_link_and_spends_none(office: Office) -> None:
    token, row = invitation(office)
    await office.work(row, brings(token, ANNA), brings(token, GLEB))
    assert office.access.find_actor(GLEB) is not None
    assert office.access.find_actor(ANNA).name == "Анна Ковалёва"  # type: ignore[union-attr]


async def test_a_link_that_ops_took_back_is_used_up(office: Office) -> None:
    token, row = invitation(office)
    mark = build_proof(token).fingerprint[:8]
    await office.work(row, given("person_removed", {"person": f"invite:{mark}"}, actor={"key": "cli:ops", "name": "ops"}))
    await office.work(row, brings(token))
    assert office.access.find_actor(GLEB) is None
    assert [words for _, words, _ in office.said()] == ["Эта ссылка уже использована. Попросите администратора о новой."]


async def test_two_processes_and_two_people_and_one_link(tmp_path: Path) -> None:
    """Whichever process works which press: one joins, the other reads that the link is used, and both processes know it after a look."""
    url = build_sqlite_url(tmp_path / "sdelka.db")
    async with (
        an_office(tmp_path / "1", store=open_store(url), owner="one") as one,
        an_office(tmp_path / "2", store=open_store(url), owner="two") as two,
    ):
        token, row = invitation(one)
        await one.work(row)
        await asyncio.gather(one.insist(brings(token, GLEB)), two.insist(brings(token, LENA)))
        events = [(event.type, event.data["person"]) for event in one.world.sql.read_events(STREAM)[1:]]
        assert sorted(kind for kind, _ in events) == ["InvitationRefused", "PersonJoined"]
        [winner] = [int(person[3:]) for kind, person in events if kind == "PersonJoined"]
        for office in (one, two):
            await office.access.reload_registry(office.world.store)
            assert [number for number in (GLEB, LENA) if office.access.find_actor(number)] == [winner]


async def test_a_restart_forgets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots included: the people, their wishes, the used links."""
    monkeypatch.setattr("orchestrator.sessions.session.SNAPSHOT_EVERY", 5)
    url = build_sqlite_url(tmp_path / "sdelka.db")
    async with an_office(tmp_path / "1", store=open_store(url)) as office:
        token = await office.joined()
        await office.work(*(presses("p1:pref:locale:en:l1", office.access.find_actor(GLEB)) for _ in range(10)))  # type: ignore[arg-type]
    async with an_office(tmp_path / "2", store=open_store(url)) as again:
        actor = again.access.find_actor(GLEB)
        assert (actor.name, actor.locale, actor.time_zone) == ("Глеб Седов", "en", "Asia/Vladivostok")
        assert again.world.sql.load_snapshot(STREAM) is not None
        await again.work(brings(token, LENA))
        assert again.access.find_actor(LENA) is None


async def test_the_stream_is_followed_from_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that works nothing of the registry knows who joined; one that cannot read it knows the file only, till it can again."""
    for name in ("LOOK_EVERY", "GRACE", "RELOAD"):
        monkeypatch.setattr(f"bot.access.access.{name}", 0.0)
    path = tmp_path / "sdelka.db"
    async with (
        an_office(tmp_path / "1", store=open_store(build_sqlite_url(path))) as office,
        an_office(tmp_path / "2", store=open_store(build_sqlite_url(path))) as other,
    ):
        following = asyncio.ensure_future(other.access.watch_registry(other.world.store))
        await office.joined()
        await until(lambda: other.access.find_actor(GLEB) is not None)
        with closing(sqlite3.connect(path)) as connection:
            [(whole,)] = connection.execute("SELECT data FROM events WHERE type = 'PersonJoined'").fetchall()
            for data, known in ((whole.replace('"sealed":"', '"sealed":"x'), False), (whole, True)):
                connection.execute("UPDATE events SET data = ? WHERE type = 'PersonJoined'", (data,))
                connection.commit()
                await until(lambda known=known: (other.access.find_actor(GLEB) is not None) == known)  # type: ignore[misc]
                assert other.access.find_actor(OLGA) is not None
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_a_link_gives_nobody_back_the_rights_of_the_file(office: Office) -> None:
    """A dismissed administrator of the file who gets hold of a manager's link was an administrator again, by their line in the file."""
    await office.start()
    office.portal.dismiss(1)
    office.world.clock.advance(timedelta(hours=1))
    await office.work()
    assert office.access.find_actor(OLGA) is None
    token, row = invitation(office, 8)
    office.said()
    await office.work(row, brings(token, OLGA))
    assert office.access.find_actor(OLGA) is None
    [(chat, words, _)] = office.said()
    assert (chat, words) == ("tg:1001", "Эта ссылка не подходит. Попросите администратора о новой.")
    await office.work(brings(token, GLEB))
    assert office.access.find_actor(GLEB) is not None, "the link is as good as before for whom it is meant"


async def test_no_button_gives_anybody_back_the_rights_of_the_file(office: Office) -> None:
    await office.start()
    office.portal.dismiss(1)
    office.world.clock.advance(timedelta(hours=1))
    await office.work()
    rows = writes("пустите", OLGA)
    await office.work(*rows)
    irina = office.access.find_actor(IRINA)
    assert irina is not None
    for data in ("p1:who:1001:m:0", "p1:admit:1001:m:8", "p1:admit:1001:l:8"):
        await office.work(presses(data, irina))
    assert office.access.find_actor(OLGA) is None
