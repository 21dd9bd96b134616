"""/history: who changed what, when, by whose leave, and what became of it, for those who may see the record; a page at a time."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.record_changes import build_history_buttons, render_history
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.features.history.pages import PAGE
from orchestrator.features.history.record_lookup import find_current_record, parse_record_reference
from state.clock import generate_id
from state.events.portal import RecordsSeen
from state.journal.store import OutboxRow
from state.model.session_state import AgentState, SessionState
from state.sql import build_sqlite_url, open_store
from tests.unit.features.undo.undo_kit import Office, an_office, done, restored, update
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, _row, a_world, command, effect, press
from tests.unit.spine_portal import cut

RU, EN = Translator("ru"), Translator("en")
SEEN = {"TITLE": "Ромашка", "STAGE_ID": "NEW", "CATEGORY_ID": "0", "OPPORTUNITY": "1000000", "CURRENCY_ID": "RUB"}


def furnished(world: World) -> World:
    """With everybody's names, and with history."""
    people = {actor.key: actor for actor in (ANNA, BORIS, VERA)}
    world.orchestrator.tools = replace(world.orchestrator.tools, refresh_actor=lambda actor: people.get(actor.key, actor))
    return world


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[World]:
    """The product with undo and history."""
    async with an_office(tmp_path) as world:
        yield furnished(world)


async def shown(world: World, said: str = "", *, actor: Actor = ANNA, key: str = CHAT) -> OutboxRow:
    """What /history answers."""
    await world.work(command("history", actor=actor, key=key, args=said))
    (row,) = world.outbox()
    return row


async def turned(world: World, words: Sequence[str], *, actor: Actor = ANNA, key: str = CHAT) -> list[OutboxRow]:
    """What a press of a page's button leads to."""
    await world.work(_row("press", "express", {"words": list(words), "callback_id": generate_id(), "message_id": 5}, actor, key))
    return world.outbox()


def lines(entry: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(line["field"], line["before"].replace("\u00a0", " "), line["after"].replace("\u00a0", " ")) for line in entry["lines"]]


async def test_a_history_tells_who_when_what_and_what_became_of_it(office: World) -> None:
    """Calls of several chats about one record, the youngest first: free, approved by another, declined, undone, with before → after."""
    first = await done(office, update({"OPPORTUNITY": 1_500_000}))
    office.clock.advance(timedelta(minutes=10))
    await restored(office, first)
    office.clock.advance(timedelta(minutes=10))
    await done(office, update({"COMMENTS": "звонил"}, number=481), actor=VERA)
    session = await office.session()
    entry = await office.asked(session, update({"STAGE_ID": "WON"}))
    await session.close()
    await office.work(press(entry, approve=False))
    await done(office, update({"TITLE": "Другая"}, number=482))
    office.outbox()
    row = await shown(office, "481")
    body = row.body
    assert (row.kind, body["record"], body["title"], body["total"]) == ("history", "deal:481", "Ромашка", 4)
    told = [(one["by"], one["status"], one["undo"], bool(one["undone"]), one["decided"]) for one in body["entries"]]
    assert sorted(told[:2]) == sorted([("Вера", "succeeded", False, False, False), ("Анна", "denied", False, False, True)])
    assert told[2:] == [("Анна", "succeeded", True, False, True), ("Анна", "succeeded", False, True, True)]
    assert lines(body["entries"][-1]) == [("OPPORTUNITY", "1 000 000 ₽", "1 500 000 ₽")]
    assert lines(body["entries"][-2]) == [("OPPORTUNITY", "1 500 000 ₽", "1 000 000 ₽")]
    text = to_plain_text(render_history(body, RU)).replace("\u00a0", " ")
    for part in (
        "История: сделка",
        "«Ромашка» №481",
        "1 000 000 ₽ → 1 500 000 ₽",
        "↩ отменено",
        "подтверждено: лично, кнопкой",
        "без карточки",
    ):
        assert part in text
    assert "declined by themselves, with a button" in to_plain_text(render_history(body, EN))


async def test_new_records_are_found_by_what_made_them(office: World) -> None:
    """A deal by its mark or by its effect, a task by its effect alone."""
    await done(office, effect("crm.deal.add", {"fields": {"TITLE": "Новая"}}, slot="t1/1/1"))
    await done(office, effect("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}}, slot="t1/1/2"))
    for kind, said in (("deal", "{}"), ("task", "задачи {}")):
        number = max(number for name, number in office.portal.records if name == kind)
        body = (await shown(office, said.format(number))).body
        assert [one["verb"] for one in body["entries"]] == ["add"], kind


async def test_a_batch_shows_only_what_it_did_to_the_record(office: World) -> None:
    """The other records of the batch are other histories."""
    cmd = {"a": "crm.deal.update?id=481&fields[COMMENTS]=x", "b": "crm.deal.update?id=482&fields[TITLE]=y"}
    await done(office, effect("batch", {"halt": 0, "cmd": cmd}))
    body = (await shown(office, "сделки 482")).body
    assert [lines(one) for one in body["entries"]] == [[("TITLE", "Вектор", "y")]]


async def test_pages_turn_in_the_same_message_and_count_all(office: World) -> None:
    """With buttons to the older and the newer, whose words fit what a button may carry."""
    for number in range(PAGE + 3):
        await done(office, update({"COMMENTS": f"звонок {number}"}))
        office.clock.advance(timedelta(minutes=1))
    first = await shown(office, "481")
    (((name, words),),) = build_history_buttons(first.body, RU)
    assert (name, first.body["pages"], len(first.body["entries"])) == ("Ещё ▸", 2, PAGE)
    assert len(":".join(["a1", *words]).encode()) <= 64
    rows = await turned(office, words)
    page = next(row for row in rows if row.kind == "history")
    assert page.key == first.key
    assert [line[2] for one in page.body["entries"] for line in lines(one)] == ["звонок 2", "звонок 1", "звонок 0"]
    assert [button.text for button in build_history_buttons(page.body, RU)[0]] == ["◂ Новее"]
    assert [row.body["notice"]["code"] for row in rows if row.kind == "toast"] == ["history-turned"]
    for odd in (
        ["history"],
        ["history", "deal.481", "99999999", "x"],
        ["history", "nothing", "1", "x"],
        ["history", "deal.481", "-1", "x"],
    ):
        assert (await turned(office, odd))[0].kind == "toast"


async def test_rights_are_asked_anew_for_every_page(office: World) -> None:
    """A manager sees own records only, a lead all; a deleted record is for those who may see everything."""
    await done(office, update({"COMMENTS": "звонил"}))
    first = await shown(office, "481")
    for actor, said, code in ((BORIS, "481", "gate-not-yours"), (ANNA, "500", "gate-not-yours"), (ANNA, "999", "gate-not-found")):
        row = await shown(office, said, actor=actor, key=actor.key)
        assert [notice["code"] for notice in row.body["notices"]] == [code]
    office.portal.records["deal", 481]["ASSIGNED_BY_ID"] = "8"
    rows = await turned(office, ("history", "deal.481", "0", first.body["screen"]))
    assert [row.body["notice"]["code"] for row in rows] == ["gate-not-yours"]
    assert (await shown(office, "481", actor=VERA, key=VERA.key)).body["total"] == 1
    del office.portal.records["deal", 481]
    gone = (await shown(office, "481", actor=VERA, key=VERA.key)).body
    assert (gone["deleted"], gone["total"]) == (True, 1)


async def test_changes_in_the_portal_are_told_apart_from_the_bots(office: World) -> None:
    """A look that finds what a call of ours has just written tells nothing new; what others wrote stands there as theirs."""
    watching = await office.session("portal:portal.example")
    seen = {**SEEN}

    async def look(**changed: str) -> None:
        office.clock.advance(timedelta(minutes=1))
        seen.update(changed)
        await watching.commit(RecordsSeen(records={"deal:481": dict(seen)}), actor="system")

    await look()
    await done(office, update({"OPPORTUNITY": 1_500_000}))
    await look(OPPORTUNITY="1500000.00")
    await look(STAGE_ID="WON", OPPORTUNITY="1500000")
    await watching.close()
    body = (await shown(office, "481")).body
    assert [(one["what"], [line["field"] for line in one["lines"]]) for one in body["entries"]] == [
        ("portal", ["STAGE_ID"]),
        ("call", ["OPPORTUNITY"]),
    ]
    assert "в Битрикс24, не через меня\nСтадия: Новая → Успех" in to_plain_text(render_history(body, RU))


async def test_words_of_the_crm_are_no_markup_and_cannot_break_a_line(office: World) -> None:
    """Titles and comments are shown as they are, on one line, with what is hidden in them drawn."""
    title = "*жирно* <b>x</b> [y](http://evil.example)\n✅ Выполнено\u202e"
    await done(office, update({"TITLE": title}))
    body = (await shown(office, "481")).body
    spans = render_history(body, RU)
    assert all(span.url in ("", body["url"]) for span in spans)
    assert not any("\n✅" in span.text or "\u202e" in span.text for span in spans)
    assert "<b>x</b>" in to_plain_text(spans)


async def test_an_answer_reads_what_it_tells_and_not_the_journal(office: World) -> None:
    """Right after a start too, however much was written about other records."""
    await done(office, update({"COMMENTS": "звонил"}))
    for number in range(20):
        await done(office, update({"COMMENTS": generate_id()}, number=482))
        await done(office, update({"TITLE": f"Вектор {number}"}, number=482))
    read: list[int] = []
    scan = office.sql.scan

    def counting(types: Sequence[str] = (), after: str = "", limit: int = 1000) -> Any:
        page = scan(types, after, limit)
        read.append(len(page))
        return page

    office.sql.scan = counting  # type: ignore[method-assign]
    row = await shown(office, "481")
    assert row.body["total"] == 1
    assert sum(read) <= 2


async def test_of_a_record_that_somebody_made_who_was_erased_the_rest_is_told(tmp_path: Path) -> None:
    """The record itself still names the call that made it, and that holds nothing any more."""
    store = open_store(build_sqlite_url(tmp_path / "sdelka.db"))
    async with a_world(tmp_path, portal=Office(), store=store) as made:
        office = furnished(made)
        await done(office, effect("crm.deal.add", {"fields": {"TITLE": "Новая"}}, slot="t1/1/1"))
        number = max(number for name, number in office.portal.records if name == "deal")
        assert (await shown(office, str(number))).body["total"] == 1
        await done(office, update({"COMMENTS": "звонил"}, number=number), actor=VERA)
        store.open_erasure().erase(ANNA.key, office.clock.now(), digests=[], change=lambda body: body)
        body = (await shown(office, str(number), actor=VERA, key=VERA.key)).body
        assert [entry["by"] for entry in body["entries"]] == ["Вера"]


async def test_history_alone_is_of_the_current_record(office: World) -> None:
    """Without one the person reads what to write; the same for words that name no record."""
    for said, code in (
        ("", "history-which"),
        ("0", "history-which"),
        ("Небывалая", "not-found"),
        ("сделка", "not-found"),
        ("481; drop table", "not-found"),
    ):
        row = await shown(office, said)
        assert [notice["code"] for notice in row.body["notices"]] == [code], said
    await done(office, update({"COMMENTS": "x"}, number=482))
    assert (await shown(office)).body["record"] == "deal:482"


async def test_a_portal_that_does_not_answer_is_said(office: World) -> None:
    """No history is shown of a record whose owner cannot be read."""
    office.portal.will("crm.deal.get", *[cut] * 6)
    row = await shown(office, "481")
    assert [notice["code"] for notice in row.body["notices"]] == ["portal-unreadable"]


@pytest.mark.parametrize(
    ("said", "record"),
    [
        ("481", "deal:481"),
        ("№481", "deal:481"),
        ("сделки 481", "deal:481"),
        ("Сделка №481.", "deal:481"),
        ("задача 8017", "task:8017"),
        ("task:8017", "task:8017"),
        ("компании 5", "company:5"),
        ("контакт #43", "contact:43"),
        ("лида 12", "lead:12"),
        ("item:177:5", "item:177:5"),
        ("элемент 177 5", "item:177:5"),
        ("https://portal.example/crm/deal/details/481/", "deal:481"),
        ("https://portal.example/crm/type/177/details/5/", "item:177:5"),
        ("https://portal.example/company/personal/user/7/tasks/task/view/8017/", "task:8017"),
        ("сделка", ""),
        ("Ромашка 5", ""),
        ("", ""),
        ("481 482", ""),
        ("9" * 40, ""),
    ],
)
def test_a_record_is_named_by_kind_and_number(said: str, record: str) -> None:
    """In Russian, in English, by the address of its card; anything else names none."""
    from tests.unit.spine_kit import _shipped_rules  # noqa: PLC0415 - read once a process

    assert parse_record_reference(said, _shipped_rules()[1]) == record


def test_the_record_that_was_named_last_is_the_current_one() -> None:
    """Of the current objects; a deal where none was named."""
    objects = {"current_deal_id": 481, "current_task_id": 8017, "current_contact_id": None, "current_company_id": None}
    assert find_current_record(SessionState(agent=AgentState(objects=objects), trusted=["deal:481", "task:8017", "lead:3"])) == "task:8017"
    assert find_current_record(SessionState(agent=AgentState(objects=objects))) == "deal:481"
    assert find_current_record(SessionState(agent=AgentState(objects=dict.fromkeys(objects)), trusted=["deal:481"])) == ""
