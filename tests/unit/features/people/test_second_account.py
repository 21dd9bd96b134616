"""Nobody becomes an employee who has an account already by a name they chose: seen, asked twice, told to the first, told apart, taken back."""

import pytest

from bot.access.access import Access, Person
from bot.i18n.translate import Translator
from orchestrator.features.leads.approvers import LeadApprovers
from state.events.people import PersonDismissed
from tests.unit.features.people.people_kit import ANNA, GLEB, IRINA, LENA, NAMES, OLGA, Office, find_present, presses, writes
from tests.unit.spine_kit import NOW, VERA

CARD = "Просит доступ: Анна Ковалёва (@user666), ID 666."


async def _press(office: Office, data: str, who: int = OLGA) -> dict[str, tuple[str, list[str]]]:
    """What everybody reads after that press, with the data of the buttons."""
    await office.work(presses(data, find_present(office, who)))
    return {chat: (words, buttons) for chat, words, buttons in office.said()}


async def _knocked(office: Office, monkeypatch: pytest.MonkeyPatch, name: str = "Анна Ковалёва") -> dict[str, tuple[str, list[str]]]:
    monkeypatch.setitem(NAMES, GLEB, name)
    rows = writes("привет")
    await office.work(*rows)
    return {chat: (words, buttons) for chat, words, buttons in office.said()}


async def test_a_second_account_of_an_employee_is_never_two_presses_away(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The employee is marked as taken, pressing it asks with both numbers, and only the press after that lets the stranger in."""
    assert (await _knocked(office, monkeypatch))["tg:1001"][0].startswith(CARD)
    await office.work(presses("p1:who:666:l:1", find_present(office, OLGA)))
    [row] = [row for row in office.world.outbox() if row.kind == "people"]
    tr = Translator("ru")
    labels = {
        line[0]["press"][-1]: line[0].get("label") or tr.translate(line[0]["code"], **line[0]["args"]) for line in row.body["buttons"][:-1]
    }
    assert labels["7"] == "Анна Ковалёва · №7 · уже есть доступ: Telegram 1007"
    assert labels["29"] == "Сотрудник Номер29 · №29"
    asked = await _press(office, "p1:admit:666:l:7")
    assert list(asked) == ["tg:1001"]
    words, buttons = asked["tg:1001"]
    assert "У сотрудника Битрикс24 №7 (Анна Ковалёва) уже есть доступ: Telegram 1007." in words
    assert "ID 666. Роль: руководитель. Имя ничего не доказывает" in words
    assert buttons == ["p1:second:666:l:7", "p1:who:666:l:0"]
    assert office.access.find_actor(GLEB) is None
    assert office.types() == ["AccessAsked"]
    told = await _press(office, buttons[0])
    assert find_present(office, GLEB).role == "lead"
    assert "⚠️ У этого сотрудника уже был доступ: Telegram 1007." in told["tg:1001"][0]
    assert told["tg:1007"][0] == (
        "⚠️ К вашей записи сотрудника подключён второй Telegram: Анна Ковалёва (@user666), ID 666. "
        "Если это не вы, сразу скажите администратору."
    )


async def test_a_link_for_an_employee_who_has_an_account_is_told_to_them_too(office: Office) -> None:
    """Whoever brings it: the administrators and the first account read of it, once each."""
    await office.joined(number=7)
    told = office.said()
    assert sorted(chat for chat, _, _ in told) == ["tg:1001", "tg:1002", "tg:1007", "tg:666"]
    said = {chat: words for chat, words, _ in told}
    assert said["tg:1007"].startswith("⚠️ К вашей записи сотрудника подключён второй Telegram: Gleb (@user666), ID 666.")
    assert "This employee had access already: Telegram 1007." in said["tg:1002"]


async def test_accounts_of_one_employee_are_told_apart_by_their_number(office: Office) -> None:
    """On cards, in lists of approvers and in the history: everywhere the name is the actor's. Who is alone is called as before."""
    await office.joined(number=7, role="lead")
    await office.joined(LENA, number=8)
    assert find_present(office, GLEB).name == "Анна Ковалёва (Telegram 666)"
    assert find_present(office, ANNA).name == "Анна Ковалёва (Telegram 1007)"
    assert office.access.find_name("tg:666") == "Анна Ковалёва (Telegram 666)"
    assert find_present(office, LENA).name == "Глеб Седов"
    office.said()
    asked = await _press(office, "p1:revoke:666:0")
    assert asked["tg:1001"][0] == "Забрать доступ? Анна Ковалёва (Telegram 666), ID 666. Открытые карточки этого человека закроются."


def test_two_heads_of_one_name_are_two_in_the_list_of_who_decides() -> None:
    """«Ждёт руководителя (Вера, Вера)» names nobody."""
    people = [Person(telegram_id=number, name="Вера", bitrix_user_id=6, role="lead") for number in (1006, 6666)]
    leads = LeadApprovers(Access([*people, Person(telegram_id=1007, name="Анна", bitrix_user_id=7)]), lambda: NOW)
    asking = VERA.model_copy(update={"key": "tg:1007", "bitrix_user_id": 7, "role": "manager"})
    assert [lead.name for lead in leads.find_leads(asking, lambda _: True)] == ["Вера (Telegram 1006)", "Вера (Telegram 6666)"]
    named = [Person(telegram_id=1, name="Вера", bitrix_user_id=6), Person(telegram_id=2, name="Вера (телефон)", bitrix_user_id=6)]
    assert [actor.name for actor in Access(named).list_people()] == ["Вера", "Вера (телефон)"], "who the file tells apart is left alone"


async def test_what_a_stranger_calls_themselves_holds_no_username(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one "@" on the card is Telegram's."""
    card = await _knocked(office, monkeypatch, "Анна (@anna)")
    assert card["tg:1001"][0].startswith("Просит доступ: Анна (anna) (@user666), ID 666.")


@pytest.mark.parametrize("way", ["asked", "link"])
async def test_an_administrator_takes_access_back_in_telegram(office: Office, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """A button on the message that somebody is in, asked twice; the journal names who did it, everybody reads it."""
    if way == "asked":
        await _knocked(office, monkeypatch)
        told = await _press(office, "p1:admit:666:m:8")
    else:
        await office.joined()
        told = {chat: (words, buttons) for chat, words, buttons in office.said()}
    [revoke] = told["tg:1001"][1]
    [remove, keep] = (await _press(office, revoke))["tg:1001"][1]
    assert office.access.find_actor(GLEB) is not None
    assert await _press(office, keep) == {"tg:1001": told["tg:1001"]}
    done = await _press(office, remove)
    assert office.access.find_actor(GLEB) is None
    assert done["tg:1001"] == ("Доступ забран: Глеб Седов, ID 666. Решение: Ольга Романова.", [])
    assert done["tg:666"][0].startswith("Ваш доступ закрыт администратором.")
    last = office.world.sql.read_events("session:access")[-1]
    assert (last.type, last.data["person"], last.data["by"]) == (PersonDismissed.__name__, "tg:666", "tg:1001")
    again = await _press(office, remove, IRINA)
    assert again["tg:1002"] == ("ID 666 has no access any more.", [])
    assert office.types().count("PersonDismissed") == 1


@pytest.mark.parametrize("data", ["p1:remove:1007:0", "p1:revoke:1007:0"])
async def test_who_stands_in_the_file_is_not_removed_by_a_button(office: Office, data: str) -> None:
    told = await _press(office, data)
    assert told["tg:1001"] == ("Анна Ковалёва: доступ дан в файле доступа, забрать его можно только там.", [])
    assert office.types() == []


@pytest.mark.parametrize("data", ["p1:remove:666:0", "p1:revoke:666:0", "p1:second:667:l:7"])
async def test_only_an_administrator_takes_back_or_lets_in(office: Office, data: str) -> None:
    await office.joined()
    office.said()
    assert await _press(office, data, ANNA) == {}
    assert office.access.find_actor(GLEB) is not None
    assert office.access.find_actor(LENA) is None
