"""The whole day: meetings, calls, to-dos, deals without a next step, everybody of the portal, and the same answer in words."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from bot.i18n.translate import Translator
from bot.rendering.daily import render_daily
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.directory.agenda_lists import choose_events
from orchestrator.domain.outputs import Reply
from tests.unit.features.daily.agenda_kit import ME, Sandbox, lists
from tests.unit.features.daily.daily_kit import Home
from tests.unit.spine_kit import ANNA, NOW, VERA, World, a_world, command, message, reply, step
from tests.unit.spine_portal import Portal


def add_event(wire: Sandbox, name: str, since: str, until: str, owner: int = ME) -> None:
    row = {"TYPE": "user", "OWNER_ID": owner, "CREATED_BY": owner, "NAME": name, "FROM": since, "TO": until, "ATTENDEES": []}
    wire.app.state.portal.store.add("event", row)


def add_activity(wire: Sandbox, subject: str, due: str, *, kind: int = 6, deal: int = 0, who: int = ME, done: str = "N") -> None:
    blank = {"OWNER_TYPE_ID": 2, "OWNER_ID": deal, "SUBJECT": subject, "TYPE_ID": kind, "PROVIDER_ID": "CRM_TODO" if kind == 6 else ""}
    state = {"DEADLINE": due, "START_TIME": due, "COMPLETED": done, "STATUS": 1, "RESPONSIBLE_ID": who, "CREATED": due, "SETTINGS": []}
    wire.app.state.portal.store.add(
        "activity", {**blank, **state, "AUTHOR_ID": who, "EDITOR_ID": who, "DESCRIPTION": "", "PRIORITY": 2, "DIRECTION": 0}
    )


async def test_meetings_calls_and_to_dos_are_those_of_the_day(sandbox_home: Home, wire: Sandbox) -> None:
    """By the person's zone; what is overdue shows its day, what is done, of others or of tomorrow is left out."""
    wire.empty()
    add_event(wire, "Планёрка", "2026-11-21T07:00:00Z", "2026-11-21T07:30:00Z")
    add_event(wire, "Вчерашняя", "2026-11-20T07:00:00Z", "2026-11-20T07:30:00Z")
    add_event(wire, "Завтрашняя", "2026-11-21T21:30:00Z", "2026-11-21T22:00:00Z")
    add_event(wire, "Чужая", "2026-11-21T07:00:00Z", "2026-11-21T07:30:00Z", owner=8)
    add_activity(wire, "Встреча с «Вектором»", "2026-11-21T13:00:00Z", kind=1)
    add_activity(wire, "Позвонить Ивановой", "2026-11-21T15:00:00Z", kind=2)
    add_activity(wire, "Перезвонить в «Юг»", "2026-11-19T15:00:00Z", kind=2)
    add_activity(wire, "Готовый звонок", "2026-11-21T15:00:00Z", kind=2, done="Y")
    add_activity(wire, "Отправить прайс", "2026-11-21T09:00:00Z")
    add_activity(wire, "Завтрашнее", "2026-11-22T09:00:00Z")
    add_activity(wire, "Чужое", "2026-11-21T09:00:00Z", who=8)
    found = {code: rows for code, (rows, _, _) in (await lists(sandbox_home)).items()}
    assert found == {
        "today-meetings": ["Планёрка · 10:00–10:30", "Встреча с «Вектором» · 16:00"],
        "today-calls": ["Перезвонить в «Юг» · чт, 19 ноября", "Позвонить Ивановой · 18:00"],
        "today-todos": ["Отправить прайс · 12:00"],
    }


async def test_a_deal_without_a_planned_activity_has_no_next_step(sandbox_home: Home, wire: Sandbox) -> None:
    """A colleague's activity counts, a done one does not; a deal with very many activities hides no other."""
    wire.empty()
    for title in ("Звонок коллеги", "Без шага", "С делами", "Всё сделано"):
        wire.add(TITLE=title)
    numbers = {row["TITLE"]: row["ID"] for row in wire.deals()}
    add_activity(wire, "Набрать", "2026-12-01T09:00:00Z", deal=numbers["Звонок коллеги"], who=8)
    add_activity(wire, "Сделано", "2026-11-01T09:00:00Z", deal=numbers["Всё сделано"], done="Y")
    for _ in range(60):
        add_activity(wire, "Дело", "2026-12-01T09:00:00Z", deal=numbers["С делами"], who=8)
    found = await lists(sandbox_home)
    labels, total, sums = found["today-no-next-step"]
    assert (sorted(label.partition(" · ")[0] for label in labels), total, sums.replace("\xa0", " ")) == (
        ["Без шага", "Всё сделано"],
        2,
        "200 ₽",
    )


async def test_what_cannot_be_read_of_the_activities_is_named(sandbox_home: Home, wire: Sandbox) -> None:
    wire.empty()
    wire.add(TITLE="Сделка")
    wire.closed = {"crm.activity.list"}
    await sandbox_home.world.put(command("today"))
    await sandbox_home.work(await sandbox_home.session())
    (body,) = sandbox_home.told("daily")
    assert body["unread"] == ["today-meetings", "today-calls", "today-todos", "today-no-next-step"]


async def test_a_team_is_everybody_of_the_portal(sandbox_home: Home, wire: Sandbox) -> None:
    """An employee without the bot counts; who has nothing has no line; without the list of employees that is said."""
    wire.empty()
    wire.add(ASSIGNED_BY_ID=9, CLOSEDATE="2026-11-01")
    sandbox_home.staff = [6, 7, 8, 9]
    await sandbox_home.world.put(command("today", actor=VERA, key=VERA.key))
    await sandbox_home.work(await sandbox_home.session(VERA))
    (body,) = sandbox_home.told("daily")
    assert [line["overdue"] for line in body["team"]] == [1, 1]


async def test_in_words_the_answer_is_that_of_the_command(tmp_path: Path, wire: Sandbox) -> None:
    """Step day: one computation; the model reads how much there is, and no title."""
    wire.add(TITLE="Просроченная", CLOSEDATE="2026-11-20")
    add_event(wire, "Планёрка", "2026-11-21T07:00:00Z", "2026-11-21T07:30:00Z")
    async with a_world(tmp_path, portal=cast("Portal", wire), people=[ANNA]) as world:
        by_command = await told(world, command("today"))
        world.model.will(reply(step("day", last=True), text="Ваш день:"))
        in_words = await told(world, message("что у меня сегодня?"))
        assert in_words == f"Ваш день:\n\n{by_command}"
        assert "Планёрка · 10:00–10:30" in in_words
        world.model.will(reply(step("day"), text="Смотрю."), reply(text="Вот."))
        await told(world, message("а ещё раз?"))
        seen = world.model.prompts[-1][-1]["content"]
        assert '"today-meetings": 1' in seen
        assert "Планёрка" not in seen


async def told(world: World, row: Any) -> str:
    """The text of the last answer."""
    await world.work(row)
    last = [one for one in world.outbox() if one.kind in {"daily", "reply"}][-1]
    tr = Translator("ru")
    return to_plain_text(render_daily(last.body, tr) if last.kind == "daily" else render_reply(Reply.model_validate(last.body), tr))


@pytest.mark.parametrize(
    ("row", "is_today"),
    [
        ({"DATE_FROM": "21.11.2026", "DATE_TO": "21.11.2026", "DT_SKIP_TIME": "Y"}, True),
        ({"DATE_FROM": "20.11.2026", "DATE_TO": "22.11.2026", "DT_SKIP_TIME": "Y"}, True),
        ({"DATE_FROM": "20.11.2026", "DATE_TO": "20.11.2026", "DT_SKIP_TIME": "Y"}, False),
        ({"DATE_FROM": "11/21/2026 05:59:00 pm", "DATE_FROM_TS_UTC": str(int(NOW.timestamp()))}, True),
        ({"DATE_FROM": "21.11.2026 15:00:00", "MEETING_STATUS": "N"}, False),
        ({"DATE_FROM": "21.11.2026 15:00:00", "DELETED": "Y"}, False),
        ({"DATE_FROM": "когда-нибудь"}, False),
        ({}, False),
    ],
)
def test_an_event_of_the_day_in_any_spelling(row: dict[str, str], is_today: bool) -> None:  # noqa: FBT001 - a table of tests
    assert bool(choose_events([row], datetime(2026, 11, 21, 12, tzinfo=UTC), "Europe/Moscow")) is is_today
