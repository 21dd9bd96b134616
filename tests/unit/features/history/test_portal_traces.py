"""What the portal itself knows of who changed a record stands beside the bot's own changes, and the bot's writes are not told as somebody's."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from bot.i18n.translate import Translator
from bot.rendering.record_changes import render_history
from bot.rendering.spans import to_plain_text
from state.clock import format_iso
from tests.unit.features.history.test_history import furnished, shown
from tests.unit.features.history.test_history_of import ask
from tests.unit.features.undo.undo_kit import an_office, done, update
from tests.unit.spine_kit import World, effect

RU, EN = Translator("ru"), Translator("en")


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[World]:
    async with an_office(tmp_path) as world:
        yield furnished(world)


def edit(world: World, kind: str = "deal", number: int = 481, *, ago: timedelta, **marks: Any) -> None:
    """The portal's marks of an edit that long ago."""
    moment = format_iso(world.clock.now() - ago)
    world.portal.records[kind, number] |= {name: moment if value is None else value for name, value in marks.items()}


async def test_the_last_editor_is_told_with_the_moment(office: World) -> None:
    """Borис edited it in the portal; the bot has changed nothing."""
    edit(office, ago=timedelta(hours=3), DATE_MODIFY=None, MODIFY_BY_ID="8")
    text = to_plain_text(render_history((await shown(office, "481")).body, RU))
    assert "Борис" in text
    assert "в Битрикс24, не через меня" in text
    assert "последнее изменение записи" in text
    found = await ask(office, {"deal": 481})
    (change,) = found.result["changes"]  # type: ignore[index]
    assert ("Борис" in change["by"], change["status"]) == (True, "seen in the portal")


async def test_who_moved_it_is_told_with_its_stage(office: World) -> None:
    """Beside an edit by somebody else later; moved and edited at once by one person is one line."""
    edit(office, ago=timedelta(hours=5), MOVED_TIME=None, MOVED_BY_ID="8", DATE_MODIFY=None, MODIFY_BY_ID="8")
    body = (await shown(office, "481")).body
    assert [[line["field"] for line in one["lines"]] for one in body["entries"]] == [["STAGE_ID"]]
    edit(office, ago=timedelta(hours=1), DATE_MODIFY=None, MODIFY_BY_ID="7")
    body = (await shown(office, "481")).body
    assert [[line["field"] for line in one["lines"]] for one in body["entries"]] == [["DATE_MODIFY"], ["STAGE_ID"]]
    assert "in Bitrix24, not through me" in to_plain_text(render_history((await shown(office, "481")).body, EN))


async def test_the_bots_own_write_is_not_told_as_an_edit_of_the_webhooks_owner(office: World) -> None:
    """The portal names the owner for it; an edit by the same person an hour later is theirs."""
    await done(office, update({"OPPORTUNITY": 1_500_000}))
    edit(office, ago=timedelta(), DATE_MODIFY=None, MODIFY_BY_ID="1")
    office.outbox()
    assert (await shown(office, "481")).body["total"] == 1
    office.clock.advance(timedelta(hours=1))
    edit(office, ago=timedelta(), DATE_MODIFY=None, MODIFY_BY_ID="1")
    assert (await shown(office, "481")).body["total"] == 2


async def test_an_edit_by_a_colleague_right_after_the_bot_is_theirs(office: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Near in time, but the portal names somebody else than the owner of the webhook."""
    monkeypatch.setattr(office.gate.deps.records.reference, "load_account", AsyncMock(return_value=1))
    await done(office, update({"OPPORTUNITY": 1_500_000}))
    edit(office, ago=timedelta(minutes=-1), DATE_MODIFY=None, MODIFY_BY_ID="8")
    office.outbox()
    assert (await shown(office, "481")).body["total"] == 2


async def test_a_task_has_marks_of_its_own(office: World) -> None:
    await done(office, effect("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}}, slot="t1/1/2"))
    number = max(number for name, number in office.portal.records if name == "task")
    office.clock.advance(timedelta(hours=1))
    edit(office, "task", number, ago=timedelta(minutes=20), CHANGED_DATE=None, CHANGED_BY="8")
    office.outbox()
    body = (await shown(office, f"задачи {number}")).body
    assert [one["what"] for one in body["entries"]] == ["portal", "call"]


async def test_marks_that_say_nothing_add_nothing(office: World) -> None:
    """No moment, no person, a number that is none, an unreadable moment."""
    for marks in (
        {"MODIFY_BY_ID": "8"},
        {"DATE_MODIFY": None},
        {"DATE_MODIFY": None, "MODIFY_BY_ID": "0"},
        {"DATE_MODIFY": "вчера", "MODIFY_BY_ID": "8"},
    ):
        for name in ("DATE_MODIFY", "MODIFY_BY_ID"):
            office.portal.records["deal", 481].pop(name, None)
        edit(office, ago=timedelta(hours=1), **marks)
        assert (await shown(office, "481")).body["total"] == 0, marks
