"""Strangers: told their id, the administrators asked once a day, let in with three presses by somebody who is entitled."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.access.access import Access
from bot.telegram.intake.people import ChatPeople, extract_start_payload, parse_people_click
from orchestrator.domain.actor import Actor
from orchestrator.features.people import screens
from tests.unit.bot.i18n.message_ids import list_message_ids
from tests.unit.features.people.people_kit import ANNA, GLEB, IRINA, LENA, OLGA, Office, find_present, presses, writes
from tests.unit.spine_kit import NOW

ROOT = Path(__file__).parents[4]


async def _knocked(office: Office, who: int = GLEB) -> None:
    rows = writes("здравствуйте", who)
    await office.work(*rows)


async def test_a_stranger_reads_their_id_and_every_administrator_gets_a_card(office: Office) -> None:
    """Name, @username and id stand on it, each administrator's in their language."""
    await office.work(*writes("здравствуйте"))
    sent = office.world.outbox()
    assert [(row.session, row.body["notices"]) for row in sent if row.kind == "reply"] == [
        ("tg:666", [{"code": "stranger-seen", "args": {"id": "666"}}])
    ]
    first, second = (office.shown(row) for row in sent if row.kind == "people")
    assert (first[0], first[1].splitlines()[0]) == ("tg:1001", "Просит доступ: Gleb (@user666), ID 666.")
    assert "Имя в Telegram каждый выбирает сам, оно ничего не доказывает." in first[1]
    assert "его ли это ID и @имя, и только потом выберите роль." in first[1]
    assert second[0] == "tg:1002"
    assert second[1].startswith("Asks for access: Gleb (@user666), ID 666.")
    assert first[2] == second[2] == ["p1:who:666:m:0", "p1:who:666:l:0", "p1:deny:666"]


async def test_a_stranger_hears_that_they_were_seen_until_the_request_is_a_day_old(office: Office) -> None:
    """Also of messages after the first; where nobody could be asked they are told what to do themselves."""
    await office.work(*writes("здравствуйте", GLEB))
    office.world.outbox()
    await office.work(*writes("как получить доступ?", GLEB))
    [again] = [row.body["notices"] for row in office.world.outbox() if row.kind == "reply"]
    assert [one["code"] for one in again] == ["stranger-seen"]
    for who in range(5000, 5040):
        await office.work(*writes("пустите", who))
    codes = [row.body["notices"][0]["code"] for row in office.world.outbox() if row.kind == "reply"]
    assert codes == ["stranger-seen"] * 19 + ["stranger"] * 21, "nobody saw those of a crowd"


async def test_the_administrators_are_asked_once_a_day_and_not_of_a_crowd(office: Office) -> None:
    """Also after a restart of the door, which remembers nothing; a crowd of strangers is not more than twenty cards an hour."""
    for _ in range(3):
        await _knocked(office)
    assert len(office.said()) == 2
    office.world.clock.advance(timedelta(days=1))
    await _knocked(office)
    assert len(office.said()) == 2
    for who in range(5000, 5040):
        await _knocked(office, who)
    assert len(office.said()) == 2 * 19


async def test_an_administrator_lets_a_stranger_in(office: Office) -> None:
    """Role, then employee: the likeliest name first, page by page; each step edits the one card, in the end in every administrator's chat."""
    await _knocked(office)
    office.said()
    olga = find_present(office, OLGA)
    await office.work(presses("p1:who:666:m:0", olga))
    [(chat, words, data)] = office.said()
    assert (chat, words) == ("tg:1001", "Gleb (@user666), ID 666, войдёт как менеджер. Кто это в Битрикс24? Страница 1 из 2.")
    assert data[-2:] == ["p1:who:666:m:1", "p1:back:666"]
    await office.work(presses(data[-2], olga))
    [(_, words, more)] = office.said()
    assert "Страница 2 из 2." in words
    found = [item for item in [*data, *more] if item.startswith("p1:admit:666:m:")]
    assert len(found) == len(set(found)) == 14
    assert {item.rpartition(":")[2] for item in found[-2:]} == {"1", "7"}, "who has access already comes last"
    await office.work(presses("p1:admit:666:m:8", olga))
    told = {chat: words for chat, words, _ in office.said()}
    assert told["tg:1001"] == "Глеб Седов теперь работает со мной: менеджер, сотрудник Битрикс24 №8, Telegram ID 666."
    assert told["tg:1002"].startswith("Глеб Седов now works with me")
    assert told["tg:666"].startswith("Здравствуйте, Глеб Седов!")
    actor = find_present(office, GLEB)
    assert (actor.role, actor.bitrix_user_id, actor.sees) == ("manager", 8, "own")


@pytest.mark.parametrize(
    ("who", "data", "chat"),
    [
        (ANNA, "p1:admit:666:l:8", ""),  # no administrator
        (OLGA, "p1:admit:666:l:8", "tg:-100500"),  # a forged button in a group
        (OLGA, "p1:admit:666:a:8", ""),  # administrators are not made with buttons
        (OLGA, "p1:admit:666:l:99", ""),  # no such employee
        (OLGA, "p1:admit:x:l:8", ""),
        (OLGA, "p1:who:666:l:x", ""),
        (OLGA, "p1:grant:666:l:8", ""),
    ],
)
async def test_nobody_is_let_in_by_a_press_that_does_not_count(office: Office, who: int, data: str, chat: str) -> None:
    """Data of a press is user input: rights and place are checked at every press (facts: approvals by any group member)."""
    await _knocked(office)
    await office.work(presses(data, find_present(office, who), chat=chat))
    assert office.access.find_actor(GLEB) is None
    assert office.types() == ["AccessAsked"]


async def test_a_card_that_is_out_of_date_says_so_and_a_refusal_is_shown_to_all(office: Office) -> None:
    """Two administrators press: the second sees what is, and changes nothing."""
    await _knocked(office)
    await _knocked(office, LENA)
    office.said()
    await office.work(presses("p1:admit:666:m:8", find_present(office, OLGA)), presses("p1:admit:666:l:6", find_present(office, IRINA)))
    assert [words for chat, words, _ in office.said() if chat == "tg:1002"][-1] == "Глеб Седов is on the list already."
    assert find_present(office, GLEB).role == "manager"
    await office.work(presses("p1:deny:667", find_present(office, IRINA)))
    assert [(chat, words, data) for chat, words, data in office.said()] == [
        ("tg:1001", "Доступ не дан: Lena (@user667), ID 667. Решение: Irina.", []),
        ("tg:1002", "No access for Lena (@user667), ID 667. Decided by Irina.", []),
    ]


async def test_where_the_portal_is_down_the_card_says_so_and_keeps_its_buttons(office: Office) -> None:
    await _knocked(office)
    office.said()
    office.portal.down = True
    for data in ("p1:who:666:m:0", "p1:admit:666:m:8"):
        await office.work(presses(data, find_present(office, OLGA)))
        [(_, words, buttons)] = office.said()
        assert "Битрикс24 не подтвердил сотрудника" in words
        assert buttons == ["p1:who:666:m:0", "p1:who:666:l:0", "p1:deny:666"]
    assert office.access.find_actor(GLEB) is None


def test_a_stranger_is_answered_once_a_minute_and_heard_once_a_day() -> None:
    """Whatever they send; another stranger is another, and who brings a link is always heard."""
    door = ChatPeople(Access([]))

    def sent(who: int, after: timedelta, text: str = "пустите") -> list[tuple[str, bool, bool]]:
        kept = door.throttle_strangers(writes(text, who), NOW + after)
        return [(row.kind, row.body.get("asks", False), row.body.get("answered", False)) for row in kept]

    assert sent(GLEB, timedelta(0)) == [("knock", True, True)]
    assert sent(GLEB, timedelta(seconds=59)) == []
    assert sent(GLEB, timedelta(seconds=59), "/start") == [("knock", False, True)], "who presses Start would think that it hangs"
    assert sent(GLEB, timedelta(seconds=59), "/start") == []
    assert sent(LENA, timedelta(seconds=59)) == [("knock", True, True)]
    assert sent(GLEB, timedelta(seconds=60)) == [("knock", False, True)]
    assert sent(GLEB, timedelta(days=1, seconds=60)) == [("knock", True, True)]
    assert sent(GLEB, timedelta(days=1, seconds=61), "/start abc") == [("join", False, False)]
    assert sent(GLEB, timedelta(0)) == [("knock", True, True)], "a clock that was set back silences nobody"


def test_an_update_that_could_not_be_stored_is_not_throttled_when_it_is_tried_again() -> None:
    """The first attempt claimed the minute and the day; without this the person would be neither answered nor heard."""
    door, rows = ChatPeople(Access([])), writes("пустите", GLEB)
    assert door.throttle_strangers(rows, NOW) == door.throttle_strangers(rows, NOW + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("/start abc_-1", "abc_-1"), ("/start@Sdelka_Bot abc", "abc"), ("  /start   abc ", "abc"), ("/start", ""), ("/start a b", ""),
        ("/start" + " " + "x" * 65, ""), ("/start ключ", ""), ("/startabc", ""), ("start abc", ""), ("/START abc", ""),
    ],
)  # fmt: skip
def test_what_a_deep_link_brings(text: str, payload: str) -> None:
    assert extract_start_payload(text) == payload


@pytest.mark.parametrize("more", [{"chat": -100500}, {"forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": "x"}}])
def test_a_link_counts_in_a_private_chat_and_from_its_sender_only(more: dict[str, Any]) -> None:
    from bot.telegram.intake.people import parse_stranger_message  # noqa: PLC0415 - see above
    from tests.unit.bot.telegram.door_kit import message  # noqa: PLC0415 - it loads aiogram's types

    given = message("/start abc", sender=GLEB, **more).message
    assert given is not None
    rows = parse_stranger_message(given, "telegram:42:1", NOW)
    assert "join" not in [row.kind for row in rows]
    assert bool(rows) == ("chat" not in more)


@pytest.mark.parametrize(
    "data", ["", "c1:x:y:n", "p1:", "p1:who", "p2:who:1", "p1:who:1:2:3:4:5", "p1:who:ё", "p1:who:1\n", "p1:who:" + "1" * 60]
)
def test_only_what_our_buttons_carry_is_a_press_of_ours(data: str) -> None:
    assert parse_people_click(data, "s", "tg:1", Actor(key="tg:1", name="А"), NOW) is None


def test_every_sentence_of_the_registry_exists_in_both_languages() -> None:
    """Codes stand in bodies that the handlers make, also those that are put together."""
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "orchestrator/features/people").glob("*.py")))
    used = set(re.findall(r'"((?:button-)?people-[a-z-]*[a-z])"', sources))
    built = set(re.findall(r'f"((?:button-)?people-[a-z-]*){', sources))
    assert built == {"people-gone-", "people-lost-", "button-people-", "button-people-as-"}
    used |= {f"people-{what}-{why}" for what in ("gone", "lost") for why in ("portal", "admin")}
    used |= {f"button-people-{name}" for name in (*screens.SWITCHES, "ru", "en", "as-manager", "as-lead")}
    for locale in ("ru", "en"):
        known = {code for code in list_message_ids(locale) if code.startswith(("people-", "button-people-"))}
        assert used | {"people-standing"} == known  # a part of two others
