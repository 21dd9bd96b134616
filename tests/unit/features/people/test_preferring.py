"""What people set for themselves holds at once, for file and link alike, and only for themselves."""

from typing import Any

import pytest

from bot.access.access import Access, Person
from bot.telegram.intake.people import ChatPeople
from orchestrator.domain.actor import Actor
from state.model.registry import JoinedPerson, Registry
from tests.unit.features.people.people_kit import ANNA, GLEB, OLGA, Office, build_preference_row, find_present, given, presses
from tests.unit.spine_kit import CHAT, codes_of


async def _command(office: Office, name: str, *, session: str = CHAT) -> None:
    actor = find_present(office, ANNA)
    await office.work(given("command", {"name": name}, actor=actor.model_dump(mode="json"), session=session))


async def test_a_switch_changes_at_once_and_its_message_with_it(office: Office) -> None:
    """The digest is off until it is wanted; each press shows the opposite next, in the same message."""
    await office.joined()
    *_, switch = next(data for chat, _, data in office.said() if chat == "tg:666")
    assert not office.access.is_subscribed(find_present(office, GLEB), "digest")
    for state in (True, False):
        await office.work(presses(switch, find_present(office, GLEB)))
        assert office.access.is_subscribed(find_present(office, GLEB), "digest") == state
        [row] = office.world.outbox()
        assert row.key == f"screen:{switch.rpartition(':')[2]}"
        _, words, [*_, switch] = office.shown(row)
        assert words.startswith("Здравствуйте, Глеб Седов!")
        assert f":{'off' if state else 'on'}:" in switch


async def test_the_language_is_the_persons_own(office: Office) -> None:
    """The choice stands on its screen, what comes afterwards is in that language; the file's rights stay."""
    await _command(office, "language")
    [(_, words, data)] = office.said()
    assert words == "На каком языке говорить?"
    await office.work(presses(data[1], find_present(office, ANNA)))
    [(_, words, _)] = office.said()
    assert words == "Which language shall I speak?"
    anna = find_present(office, ANNA)
    assert (anna.locale, anna.role, anna.name) == ("en", "manager", "Анна Ковалёва")
    assert office.access.refresh_actor(anna.model_copy(update={"role": "admin", "locale": "ru"})) == anna
    assert ChatPeople(office.access).build_translator(CHAT).locale == "en"


async def test_settings_are_shown_in_private_only_and_to_people_with_access(office: Office) -> None:
    await _command(office, "settings")
    [(_, _, data)] = office.said()
    assert [item.split(":")[2:4] for item in data] == [
        ["digest", "on"],
        ["evening", "on"],
        ["alerts", "on"],
        ["dark", "on"],
        ["locale", "ru"],
        ["locale", "en"],
    ]
    await _command(office, "settings", session="tg:-100500")
    [row] = office.world.outbox()
    assert (row.session, list(codes_of(row))) == ("tg:-100500", ["people-private-only"])


async def test_pictures_are_dark_in_the_chat_of_who_wants_them_so(office: Office) -> None:
    """And light for everybody else, and in groups."""
    people = ChatPeople(office.access)
    assert people.find_theme(CHAT) == "light"
    await office.work(presses("p1:pref:dark:on:s1", find_present(office, ANNA)))
    assert [people.find_theme(session) for session in (CHAT, "tg:1007:5", "tg:1006", "tg:-100123")] == ["dark", "dark", "light", "light"]


@pytest.mark.parametrize(
    ("name", "value", "counts"),
    [
        ("digest", "on", True), ("time_zone", "Asia/Omsk", True), ("alerts", "off", True), ("dark", "on", True), ("locale", "de", False), ("digest", "maybe", False),
        ("role", "admin", False), ("time_zone", "", False), ("time_zone", "x" * 41, False), ("", "", False),
    ],
)  # fmt: skip
async def test_only_what_can_be_set_is_set(office: Office, name: str, value: str, counts: bool) -> None:  # noqa: FBT001 - a column of the table
    """Rights are none of it."""
    await office.work(build_preference_row(name, value, f"s:{name}:{value}", find_present(office, ANNA), office.world.clock.now()))
    assert office.types() == (["PreferenceSet"] if counts else [])
    assert find_present(office, ANNA).role == "manager"
    if name == "time_zone" and counts:
        assert find_present(office, ANNA).time_zone == value


async def test_nobody_sets_anything_without_access(office: Office) -> None:
    stranger = Actor(key="tg:666", name="Gleb")
    await office.work(
        presses("p1:pref:digest:on:s1", stranger), build_preference_row("digest", "on", "s:1", stranger, office.world.clock.now())
    )
    assert office.types() == []


async def test_alerts_reach_those_who_want_them(office: Office) -> None:
    """The file's `notify: none` is what a person may change; the default is to be told."""
    assert office.access.find_subscribers(7) == []
    assert [actor.key for actor in office.access.find_subscribers(1)] == ["tg:1001"]
    for who, value in ((ANNA, "on"), (OLGA, "off")):
        await office.work(presses(f"p1:pref:alerts:{value}:s1", find_present(office, who)))
    assert [actor.key for actor in office.access.find_subscribers(7)] == ["tg:1007"]
    assert office.access.find_subscribers(1) == []
    assert office.access.list_watched_users() == [7]


def _registry(**more: Any) -> Registry:
    joined = JoinedPerson.create(name="Б", role="admin", bitrix_user_id=9, time_zone="Mars/Base", locale="ru", by="cli:ops", at="")
    return Registry(people={"tg:1": joined, "tg:2": joined}, **more)


def test_the_file_wins_over_the_registry_and_odd_wishes_change_nothing() -> None:
    """Who stands in both has the rights of the file; a zone that is none and an older registry are passed over."""
    access = Access([Person(telegram_id=1, name="А", bitrix_user_id=7)])
    access.apply_registry(_registry(preferences={"tg:1": {"time_zone": "Mars/Base", "locale": "xx"}}), 5)
    first, second = access.find_actor(1), access.find_actor(2)
    assert first == Actor(key="tg:1", name="А", bitrix_user_id=7)
    assert second == Actor(key="tg:2", name="Б", role="admin", sees="all", bitrix_user_id=9)
    access.apply_registry(Registry(), 4)
    assert access.find_actor(2) == second
    access.apply_registry(_registry(out={"tg:1": "", "tg:2": ""}), 6)
    assert (access.find_actor(1), access.find_actor(2), access.map_employees()) == (None, None, {"tg:1": 7, "tg:2": 9})
    access.discard_registry()
    assert (access.find_actor(1), access.find_actor(2)) == (None, None), (
        "whom the portal dismissed stays out while the registry is unreadable"
    )


@pytest.mark.parametrize("who", [ANNA, GLEB], ids=["of the file", "joined"])
@pytest.mark.parametrize(("name", "begins"), [("start", "Здравствуйте, "), ("help", "Пишите обычными словами")])
async def test_the_first_screen_is_everybodys_who_has_access(office: Office, who: int, name: str, begins: str) -> None:
    """Role, mode, three examples and the digest switch were shown to those only who had joined by a link; the switch works on each of them."""
    await office.joined()
    office.said()
    actor = find_present(office, who)
    await office.work(given("command", {"name": name}, actor=actor.model_dump(mode="json"), session=actor.key))
    [(chat, words, data)] = office.said()
    assert chat == actor.key
    assert words.startswith(begins)
    assert "Ваша роль: менеджер" in words
    assert "Сейчас полный режим" in words
    assert len(data) == 4
    await office.work(presses(data[3], actor))
    assert office.access.is_subscribed(actor, "digest")
    [(_, again, data)] = office.said()
    assert again == words
    assert ":digest:off:" in data[3]


async def test_in_a_group_help_is_an_answer_without_anybodys_switches(office: Office) -> None:
    for name in ("start", "help"):
        await _command(office, name, session="tg:-100500")
    rows = office.world.outbox()
    assert [(row.session, row.kind) for row in rows] == [("tg:-100500", "reply")] * 2
    assert [code for row in rows for code in codes_of(row)] == ["welcome", "help"]
