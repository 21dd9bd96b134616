"""«Excel» under a list: read anew with the rights of now, sums and days as such, only for who asked."""

import io
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import httpx
import openpyxl
import pytest

from bot.i18n.translate import Translator
from bot.telegram.view.keyboards import build_reply_keyboard
from bot.telegram.view.message_builder import build_message
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Reply, SheetColumn, SheetPart, SheetRow
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.journal.store import InboxRow, OutboxRow
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.runtime.ordinary_kit import LEAD, MANAGER
from tests.unit.spine_kit import World, _row, a_world, command, message, reply, step
from tests.unit.spine_portal import Portal

RU = Translator("ru")
DEALS = step("crm.deal.list", {"filter": {"ASSIGNED_BY_ID": 7, "CLOSED": "N"}, "order": {"ID": "ASC"}}, last=True)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The product over the sandbox portal."""
    app = create_app(Settings(bucket=None, clock=clock))
    try:
        async with a_world(tmp_path, portal=cast("Portal", Wire(httpx.ASGITransport(app))), people=[MANAGER, LEAD]) as made:
            yield made
    finally:
        await app.state.portal.events.aclose()
        app.state.portal.close()


async def show(world: World, *steps: dict[str, Any], text: str, actor: Actor = MANAGER, key: str = "") -> Reply:
    world.model.will(reply(*steps, text=text))
    await world.work(message("покажи мои сделки", actor=actor, key=key or actor.key))
    return Reply.model_validate([row for row in world.outbox() if row.kind == "reply"][-1].body)


def press(words: tuple[str, ...], *, actor: Actor = MANAGER, key: str = "") -> InboxRow:
    return _row("press", "express", {"words": list(words), "callback_id": "cb", "message_id": 5}, actor, key or actor.key)


async def answer(world: World, row: InboxRow) -> tuple[list[str], list[OutboxRow]]:
    """The toasts and the files that a press leads to."""
    await world.work(row)
    rows = world.outbox()
    return [one.body["notice"]["code"] for one in rows if one.kind == "toast"], [one for one in rows if one.kind == "reply"]


def read_file(row: OutboxRow) -> list[list[Any]]:
    """The cells of the file that Telegram gets."""
    [file] = build_message(row, RU).files
    assert file.name == "Список.xlsx"
    return [[cell.value for cell in line] for line in openpyxl.load_workbook(io.BytesIO(file.build())).active.iter_rows()]


async def test_a_list_comes_as_a_file_whose_sums_are_numbers_and_days_are_days(world: World) -> None:
    """The columns that were shown stand first; names in place of codes."""
    shown = await show(world, DEALS, text="Ваши сделки:\n[[list 1: CLOSEDATE]]")
    [line] = build_reply_keyboard(shown, RU).inline_keyboard  # type: ignore[union-attr]
    assert [button.text for button in line] == ["📎 Excel"]
    toasts, [row] = await answer(world, press(shown.actions[-1].words))
    assert toasts == ["report-file"]
    head, *cells = read_file(row)
    assert head[:4] == ["Запись", "Дата завершения", "Сумма", "Валюта"]
    table = next(part for part in shown.parts if part.kind == "table")
    assert [line[0] for line in cells] == [one.label.partition(" · ")[0] for one in table.rows]
    assert all(isinstance(line[1], datetime) and isinstance(line[2], int | float) for line in cells)
    assert "Борис Смирнов" in cells[0]


async def test_a_file_is_read_with_the_rights_of_now(world: World) -> None:
    """Who may not see these records any more gets a sentence, not yesterday's rows."""
    shown = await show(world, step("crm.deal.list", {"filter": {"ASSIGNED_BY_ID": 8}}, last=True), text="[[list 1]]", actor=LEAD)
    demoted = LEAD.model_copy(update={"role": "manager", "sees": "own"})
    object.__setattr__(world.tools, "refresh_actor", lambda actor: demoted if actor.key == LEAD.key else actor)
    toasts, files = await answer(world, press(shown.actions[-1].words, actor=LEAD))
    assert files == []
    assert toasts != ["report-file"]


async def test_in_a_group_only_who_asked_gets_the_file(world: World) -> None:
    shown = await show(world, DEALS, text="[[list 1]]", key="tg:-100700")
    assert await answer(world, press(shown.actions[-1].words, actor=LEAD, key="tg:-100700")) == (["list-of-another"], [])


async def test_a_list_that_is_forgotten_is_said_to_be_so(world: World) -> None:
    shown = await show(world, DEALS, text="[[list 1]]")
    await world.work(command("new", actor=MANAGER, key=MANAGER.key))
    world.outbox()
    assert await answer(world, press(shown.actions[-1].words)) == (["list-gone"], [])
    assert await answer(world, press(("list", "x"))) == (["list-gone"], [])


async def test_two_lists_have_numbered_buttons_and_other_doors_none(world: World) -> None:
    leads = step("crm.lead.list", {"filter": {"ASSIGNED_BY_ID": 7}}, last=True)
    shown = await show(world, {**DEALS, "last": False}, leads, text="[[list 1]]\nи лиды\n[[list 2]]")
    labels = [RU.translate_notice(action.label) for action in shown.actions]
    assert labels == ["📎 Excel 1", "📎 Excel 2"]
    world.model.will(reply(DEALS, text="[[list 1]]"))
    await world.work(message("покажи мои сделки", actor=MANAGER, key="http:site"))
    rows = [row for row in world.outbox("http") if row.kind == "reply"]
    assert all(not row.body.get("actions") for row in rows)


@pytest.mark.parametrize(("cell", "unit", "read"), [("=1+1", "text", "=1+1"), ("когда-нибудь", "date", "когда-нибудь"), (5.5, "money", 5.5), (None, "money", None), ("0001-01-01", "date", "0001-01-01")])  # fmt: skip
def test_odd_cells(cell: Any, unit: Any, read: Any) -> None:
    """A text is no formula, and what is no day stays a text."""
    part = SheetPart(columns=(SheetColumn(title="К", unit=unit),), rows=(SheetRow(label="Р", url="file:///etc", cells=(cell,)),), total=1)
    body = Reply(parts=(part,)).model_dump(mode="json")
    row = OutboxRow(id="r", session="tg:1007", channel="tg", kind="reply", body=body, due_at=clock(), created_at=clock())
    assert read_file(row)[1] == ["Р", read]


_KINDS: Any = [
    (step("crm.deal.list", {"filter": {"CLOSED": "N"}, "order": {"OPPORTUNITY": "DESC"}, "limit": 3}), 3),
    (step("crm.activity.list", {"filter": {"COMPLETED": "N"}, "select": ["ID", "SUBJECT", "DEADLINE", "TYPE_ID", "PROVIDER_ID"]}), 0),
    (step("tasks.task.list", {"filter": {"RESPONSIBLE_ID": 7}}), 0),
    (step("voximplant.statistic.get", {"FILTER": {">CALL_DURATION": 0}}), 0),
    (step("crm.deal.productrows.get", {"id": 481}), 0),
    (step("crm.lead.list", {"filter": {}}), 0),
    (step("user.get", {"FILTER": {"ACTIVE": True}}), 0),
]


@pytest.mark.parametrize(("read", "rows"), _KINDS, ids=[one["method"] for one, _ in _KINDS])
async def test_each_kind_of_list_has_a_file_of_all_its_rows(world: World, read: dict[str, Any], rows: int) -> None:
    """As many as the list says, with columns that people expect; "the three largest" has three."""
    goods = [{"PRODUCT_NAME": name, "PRICE": 100, "QUANTITY": 2} for name in ("Насос", "Труба")]
    await world.client.call("crm.deal.productrows.set", {"id": 481, "rows": goods})
    world.model.will(reply(read, text="Смотрю."), reply(text="[[list 1]]"))
    await world.work(message("покажи", actor=LEAD, key=LEAD.key))
    shown = Reply.model_validate([row for row in world.outbox() if row.kind == "reply"][-1].body)
    table = next(part for part in shown.parts if part.kind == "table")
    toasts, files = await answer(world, press(shown.actions[-1].words, actor=LEAD))
    assert toasts == ["report-file"]
    head, *cells = read_file(files[0])
    assert len(cells) == len(table.rows) == table.total > 1
    assert not rows or len(cells) == rows
    assert len(head) > 2
    assert all(any(line[number] is not None for line in cells) for number in (0, 1)), head


async def test_a_record_alone_is_no_list(world: World) -> None:
    world.model.will(reply(step("crm.deal.get", {"id": 481}), text="Смотрю."), reply(text="[[list 1]]"))
    await world.work(message("покажи сделку 481", actor=LEAD, key=LEAD.key))
    shown = Reply.model_validate([row for row in world.outbox() if row.kind == "reply"][-1].body)
    assert not [action for action in shown.actions if action.words[0] == "list"]
