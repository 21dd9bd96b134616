"""The page of people: who may what, invitations whose link is shown once, and the end of access."""

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.access.access import Person
from bot.access.access_file import TokenGrant
from bot.console.people import changes
from bot.console.services import ConsoleServices
from orchestrator.features.people.registry import build_proof
from orchestrator.features.people.staff import Employee
from state.model.registry import JoinedPerson, Registry
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, VERA, ConsoleWorld, OpenPage, a_console

TOKEN = "a-secret-token-of-the-site-0123456789"
HOSTILE = "<img src=x onerror=alert(1)> **x** \u202e"
AWAY = Person(telegram_id=1006, name="Вера", role="lead", bitrix_user_id=6, deputy=1001, away=date(2026, 12, 1))
UNDER_VERA = Person(telegram_id=1007, name="Анна", bitrix_user_id=7, sees=[8], lead=1006)


def change_settings(made: ConsoleWorld, **settings: Any) -> None:
    old = made.console.services
    made.console.services = ConsoleServices(
        settings=old.settings.model_copy(update=settings),
        orchestrator=old.orchestrator,
        access=old.access,
        engines=old.engines,
        clock=old.clock,
    )


def let_join(made: ConsoleWorld, *, out: bool = False) -> None:
    """Let somebody have access by an invitation; with `out` the portal has dismissed them."""
    joined = JoinedPerson(name="Глеб", role="manager", bitrix_user_id=9, by="tg:1001", at="2026-11-20T12:00:00.000000Z")
    registry = Registry(people={"tg:666": joined}, out={"tg:666": "2026-11-20T12:00:00.000000Z"} if out else {})
    made.access.apply_registry(registry, 1)


def offer_employees(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch, *, works: bool = True) -> None:
    """Let the portal have two employees, and Telegram know the bot."""
    queries: Any = made.world.orchestrator.tools.queries

    async def list_employees() -> list[Employee]:
        return [Employee(user_id=8, name="Борис"), Employee(user_id=31, name="Новый")]

    async def read_employee(user_id: int) -> Employee:
        return Employee(user_id=user_id, name="Новый", works=works)

    queries.update(employees=list_employees, employee=read_employee)
    monkeypatch.setattr(changes, "fetch_bot_name", lambda _: "sdelka_bot")
    change_settings(made, telegram_bot_token=SecretStr("1:x"))


def orders(made: ConsoleWorld) -> list[Any]:
    """What was submitted for the list of people."""
    return made.world.sql.list_waiting_inbox("access", "express")


async def choose(page: OpenPage, label: str, value: object) -> None:
    page.find(label, "select").set_value(value)  # type: ignore[attr-defined]
    await page.settle()


@pytest.mark.req("C-22")
async def test_the_table_says_who_may_what(tmp_path: Path) -> None:
    """Role, whose records, lead, absence with deputy, other accounts, dismissal: all stand there for a lead too."""
    second = Person(telegram_id=1009, name="Анна с телефона", bitrix_user_id=7)
    async with a_console(tmp_path, people=(OLGA, AWAY, UNDER_VERA, BORIS, second)) as made:
        let_join(made, out=True)
        page = await made.open("/people", VERA)

        for words in ("свои и ещё: Борис", "до 01.12.2026, вместо: Ольга", "ещё Telegram: 1009", "уволен в Битрикс24 с", "по приглашению"):
            assert page.has(words), words
        assert not page.has("Пригласить сотрудника")
        assert not page.has("Забрать доступ")


@pytest.mark.req("C-22")
async def test_tokens_are_shown_with_their_rights_and_never_themselves(made: ConsoleWorld) -> None:
    """Neither the token nor its hash stands anywhere on the page."""
    made.access._tokens = {"site": TokenGrant(name="site", bitrix_user_id=8, customers=True)}
    change_settings(made, http_api_tokens=SecretStr(f"site={TOKEN}:manager:canary"))
    page = await made.open("/people")

    assert page.has("site")
    assert page.has("режим: осторожный")
    assert page.has("пишут клиенты")
    assert TOKEN not in page.html
    assert not page.has(TOKEN)


@pytest.mark.req("C-22")
async def test_what_a_person_may_do_comes_from_the_policy(tmp_path: Path) -> None:
    """The same act stands under another heading when the policy forbids it."""
    for policy, heading in (({}, "Сам"), ({"refuse_methods": ["crm.lead.add"]}, "Не может")):
        folder = tmp_path / heading
        folder.mkdir()
        async with a_console(folder, policy=policy) as made:
            change_settings(made, agent_mode="full")
            page = await made.open("/people", VERA)
            await page.press("Что может Анна")
            texts = page.read_texts()

            headings = [text for text in texts if text in {"Сам", "Не может", "С карточкой, которую подтверждает сам"}]
            at = texts.index("создать лид")
            assert max(texts.index(one) for one in headings if texts.index(one) < at) == texts.index(heading)


@pytest.mark.req("C-23")
async def test_the_link_of_an_invitation_is_shown_once(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input holds a fingerprint of the token that stands in the link, and who invites; closed, the page has the link no more."""
    offer_employees(made, monkeypatch)
    page = await made.open("/people")
    await page.press("Пригласить сотрудника")
    await choose(page, "Сотрудник в Битрикс24", 31)
    await choose(page, "Роль", "lead")
    await page.press("Сделать ссылку")

    [link] = [text for text in page.read_texts() if text.startswith("https://t.me/sdelka_bot?start=")]
    [row] = orders(made)
    token = link.rpartition("=")[2]
    assert (row.kind, row.actor_key, row.body["role"], row.body["bitrix_user_id"]) == ("invite", "tg:1001", "lead", 31)
    assert row.body["fingerprint"] == build_proof(token).fingerprint
    assert token not in str(row)

    [dialog] = [one for one in page.elements if type(one).__name__ == "Dialog"]
    await page.act(dialog, "hide")
    assert not any(token in text for text in page.read_texts())


@pytest.mark.req("C-23")
async def test_nobody_dismissed_is_invited_and_a_second_account_is_asked_about(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """An employee who has access needs a tick; one whom the portal dismissed gets no link."""
    offer_employees(made, monkeypatch)
    page = await made.open("/people")
    await page.press("Пригласить сотрудника")
    await choose(page, "Сотрудник в Битрикс24", 8)
    await page.press("Сделать ссылку")
    assert page.has("уже есть доступ: Борис")
    assert not orders(made)

    offer_employees(made, monkeypatch, works=False)
    await choose(page, "Сотрудник в Битрикс24", 31)
    await page.press("Сделать ссылку")
    assert not orders(made)


@pytest.mark.req("C-23")
async def test_a_tick_for_one_employee_is_none_for_another(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever confirmed a second account of one employee has said nothing of the next one that they choose."""
    offer_employees(made, monkeypatch)
    page = await made.open("/people")
    await page.press("Пригласить сотрудника")
    await choose(page, "Сотрудник в Битрикс24", 8)
    await page.enter(page.visit.say("console-people-second"), True)
    await choose(page, "Сотрудник в Битрикс24", 31)
    await choose(page, "Сотрудник в Битрикс24", 8)
    await page.press("Сделать ссылку")

    assert not orders(made)


@pytest.mark.req("C-23", "C-40")
async def test_a_double_press_makes_one_invitation(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one would be open, and nobody would have seen its link."""
    offer_employees(made, monkeypatch)
    page = await made.open("/people")
    await page.press("Пригласить сотрудника")
    await choose(page, "Сотрудник в Битрикс24", 31)
    button = page.find("Сделать ссылку")
    await asyncio.gather(page.act(button, "click"), page.act(button, "click"))

    assert len(orders(made)) == 1


@pytest.mark.req("C-23", "C-10")
async def test_access_ends_after_a_question_and_only_by_an_administrator(made: ConsoleWorld) -> None:
    """The first press asks; a person who was demoted meanwhile orders nothing; people of the file have no button."""
    let_join(made)
    page = await made.open("/people")
    assert [one for one in page.elements if one.props.get("aria-label") == "Забрать доступ: Глеб"]
    assert not [one for one in page.elements if one.props.get("aria-label") == "Забрать доступ: Анна"]
    await page.press("Забрать доступ: Глеб")
    assert not orders(made)
    await page.press("Да, забрать доступ")

    [row] = orders(made)
    assert (row.kind, row.body["person"], row.actor_key) == ("person_removed", "tg:666", "tg:1001")

    await page.press("Забрать доступ: Глеб")
    made.access._by_telegram[1001] = OLGA.model_copy(update={"role": "lead"})
    await page.press("Да, забрать доступ")
    assert len(orders(made)) == 1


@pytest.mark.req("C-22", "C-10")
async def test_managers_do_not_see_the_page(made: ConsoleWorld) -> None:
    """A manager is led to the first page."""
    assert "Кому бот отвечает" not in (await made.get("/people", ANNA)).text


@pytest.mark.req("C-39")
async def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """A name of markup, bidi marks and a megabyte stands in the table as it is, cut."""
    strange = Person(telegram_id=1010, name=HOSTILE + "y" * 1_000_000, bitrix_user_id=10)
    async with a_console(tmp_path, people=(OLGA, strange)) as made:
        page = await made.open("/people")

        assert page.has(HOSTILE)
        assert not [one for one in page.elements if one.tag == "img" or type(one).__name__ in {"Html", "Markdown"}]
        assert max(len(text) for text in page.read_texts()) < 20_100
        assert "<img src=x" not in page.html
