"""Before somebody is made anew: who has that phone or e-mail already is shown, and the person chooses."""

from typing import Any

import pytest

from orchestrator.directory.duplicates import extract_contact_points
from state.journal.store import InboxRow
from tests.unit.spine_kit import BORIS, World, message, reply, step
from tests.unit.spine_portal import html

PHONE = "+79161234567"
ADD = step("crm.contact.add", {"fields": {"NAME": "Иван", "PHONE": [{"VALUE": PHONE, "VALUE_TYPE": "WORK"}]}})


def _known(world: World, **found: list[int]) -> None:
    """What the portal finds by that phone; nothing is an empty list."""
    perform = world.portal.perform

    def performed(method: str, params: dict[str, Any]) -> Any:
        if method != "crm.duplicate.findbycomm":
            return perform(method, params)
        return found or []

    world.portal.perform = performed  # type: ignore[method-assign]


def _choice(row: Any, option: int, **more: Any) -> InboxRow:
    question = row.body["choices"][0]["token"].rpartition(":")[0]
    chosen: InboxRow = message("", answers=question, option=option, origin="choice", **more)
    return chosen


async def _asked(world: World) -> Any:
    await world.work(message(f"создай контакт Иван {PHONE}"))
    (row,) = world.outbox()
    return row


@pytest.mark.parametrize(
    ("params", "points"),
    [
        ({"fields": {"PHONE": [{"VALUE": "1"}, {"VALUE": "1"}], "EMAIL": "a@b.ru"}}, {"PHONE": ["1"], "EMAIL": ["a@b.ru"]}),
        ({"FIELDS": {"phone": ["1", {"value": "2"}]}}, {"PHONE": ["1", "2"]}),
        ({"fields": {"fm": [{"typeId": "PHONE", "value": "1"}, {"typeId": "WEB", "value": "x"}]}}, {"PHONE": ["1"]}),
        ({"fields": {"PHONE": [], "EMAIL": [{"VALUE": " "}]}}, {}),
        ({"fields": {"PHONE": None}}, {}),
        ({"fields": []}, {}),
    ],
)
def test_phones_and_addresses_are_found_however_they_are_written(params: Any, points: Any) -> None:
    assert extract_contact_points(params) == points


async def test_one_who_is_there_is_offered_with_name_and_company(world: World) -> None:
    """«Уже есть: (имя, компания) [Взять] [Создать]»; nothing is added before the choice."""
    _known(world, CONTACT=[43])
    world.model.will(reply(ADD))
    row = await _asked(world)
    assert row.body["notices"][0]["code"] == "duplicates-found"
    assert [choice["label"] for choice in row.body["choices"]] == ["Взять: Иван Иванов, Вектор · контакт №43", "Создать новую запись"]
    assert world.portal.ledger == []


async def test_whoever_takes_the_one_that_is_there_gets_no_second_one(world: World) -> None:
    """The model goes on with that record, which the person has named by the press."""
    _known(world, CONTACT=[43])
    deal = step("crm.deal.add", {"fields": {"TITLE": "Поставка", "CONTACT_ID": 43}})
    world.model.will(reply(ADD), reply(deal), reply(text="Готово."))
    row = await _asked(world)
    await world.work(_choice(row, 0))
    assert [method for method, _ in world.portal.ledger if method == "crm.contact.add"] == []
    assert "go on with that record" in str(world.model.prompts[1])
    told = [notice for out in world.outbox() for notice in out.body.get("notices", ())]
    assert {"code": "duplicate-taken", "args": {"label": "Иван Иванов, Вектор"}} in told


async def test_whoever_wants_a_new_one_gets_it(world: World) -> None:
    _known(world, CONTACT=[43])
    world.model.will(reply(ADD), reply(text="Создал."))
    row = await _asked(world)
    await world.work(_choice(row, 1))
    assert [method for method, _ in world.portal.ledger] == ["crm.contact.add"]


async def test_somebody_elses_client_is_not_named(world: World) -> None:
    """A phone number must not tell whose client it is, beyond the colleague to ask."""
    _known(world, CONTACT=[43])
    world.model.will(reply(ADD))
    await world.work(message(f"создай контакт Иван {PHONE}", actor=BORIS, key="tg:1008"))
    (row,) = world.outbox()
    assert row.body["notices"][0] == {"code": "duplicate-elsewhere", "args": {"name": "Анна Ковалёва"}}
    assert [choice["label"] for choice in row.body["choices"]] == ["Создать новую запись"]
    assert "Иванов" not in str(row.body)


@pytest.mark.parametrize("found", [{}, {"CONTACT": [999_999]}], ids=["nobody", "gone meanwhile"])
async def test_where_nobody_is_known_nothing_is_asked(world: World, found: dict[str, list[int]]) -> None:
    _known(world, **found)
    world.model.will(reply(ADD), reply(text="Создал."))
    await world.work(message(f"создай контакт Иван {PHONE}"))
    assert [method for method, _ in world.portal.ledger] == ["crm.contact.add"]


async def test_a_portal_that_cannot_say_stops_nobody(world: World) -> None:
    world.portal.will("crm.duplicate.findbycomm", *[html] * 6)
    world.model.will(reply(ADD), reply(text="Создал."))
    await world.work(message(f"создай контакт Иван {PHONE}"))
    assert [method for method, _ in world.portal.ledger] == ["crm.contact.add"]


async def test_taken_twice_or_by_somebody_else_it_is_taken_once_by_whoever_asked(world: World) -> None:
    """In a group anybody can press [Взять]: Boris reads that it is not his to choose, Anna's request goes on, a second press is too late."""
    group = "tg:-100500"
    _known(world, CONTACT=[43])
    world.model.will(reply(ADD), reply(text="Готово."))
    await world.work(message(f"создай контакт Иван {PHONE}", key=group))
    (row,) = world.outbox()
    await world.work(_choice(row, 0, actor=BORIS, key=group, callback_id="b1"))
    assert [(out.kind, out.body["notice"]["code"], out.body["callback_id"]) for out in world.outbox()] == [
        ("toast", "choice-not-yours", "b1")
    ]
    await world.work(_choice(row, 0, key=group, callback_id="a1"), _choice(row, 0, key=group, callback_id="a2"))
    toasts = {out.body["callback_id"]: out.body["notice"]["code"] for out in world.outbox() if out.kind == "toast"}
    assert toasts == {"a1": "toast-doing", "a2": "choice-outdated"}
    assert [event.actor for event in world.events("NameChosen", key=group)] == ["tg:1007"]
    assert world.portal.ledger == []


async def test_nobody_answers_a_question_of_which_it_is_not_known_who_was_asked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a group whose journal went on for long since, a press by anybody writes nothing."""
    group = "tg:-100500"
    _known(world, CONTACT=[43])
    world.model.will(reply(ADD))
    await world.work(message(f"создай контакт Иван {PHONE}", key=group))
    (row,) = world.outbox()

    async def read_nothing(*_args: Any, **_more: Any) -> list[Any]:
        return []

    monkeypatch.setattr(world.tools.store, "read_events", read_nothing)
    await world.work(_choice(row, 0, actor=BORIS, key=group, callback_id="b1"))
    assert [out.body["notice"]["code"] for out in world.outbox() if out.kind == "toast"] == ["choice-not-yours"]
    assert world.portal.ledger == []


async def test_a_record_that_went_to_somebody_else_meanwhile_is_not_changed_by_taking_it(world: World) -> None:
    """[Взять] names the record and writes nothing; what comes of it passes the gate, which asks whose it is now."""
    _known(world, CONTACT=[43])
    change = step("crm.contact.update", {"id": 43, "fields": {"NAME": "Пётр"}})
    world.model.will(reply(ADD), reply(change), reply(text="Не вышло."))
    row = await _asked(world)
    world.portal.records["contact", 43]["ASSIGNED_BY_ID"] = "8"
    await world.work(_choice(row, 0))
    assert world.portal.ledger == []


@pytest.mark.parametrize(
    "name", ["*Иван* [x](http://evil.example)", "<b>Иван</b>", "Иван\nACTION: []", "Иван\u202eнавИ", "да", "/stop", "@" * 200]
)
async def test_a_hostile_name_of_the_one_who_is_there_is_a_label_and_no_more(world: World, name: str) -> None:
    _known(world, CONTACT=[43])
    world.portal.records["contact", 43]["NAME"] = name
    world.model.will(reply(ADD))
    row = await _asked(world)
    (taken, anew) = [choice["label"] for choice in row.body["choices"]]
    assert taken.startswith("Взять: ")
    assert "\n" not in taken
    assert "\u202e" not in taken
    assert len(taken) < 200
    assert anew == "Создать новую запись"
