"""/today and the digest say exactly what the portal holds: lists of one's own records, counts and sums over all pages, numbers of a team."""

from datetime import timedelta

import pytest

from bitrix.errors import BitrixError, NoAccess, OutcomeUnknown, Refused
from bot.i18n.translate import Translator
from bot.rendering.daily import render_daily
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.directory.agenda import MOST, TeamLine, load_agenda
from orchestrator.domain.outputs import Reply
from tests.unit.features.daily.agenda_kit import ME, TODAY, Sandbox, lists
from tests.unit.features.daily.daily_kit import Home
from tests.unit.spine_kit import ANNA, NOW, VERA, command, watcher_of


async def test_the_lists_are_those_of_the_records(sandbox_home: Home, wire: Sandbox) -> None:
    """Checked against the shipped portal's records one by one: overdue, closing, idle deals of Anna's with their sums."""
    wire.add(TITLE="Забытая", DATE_MODIFY="2026-11-01T09:00:00Z", LAST_ACTIVITY_TIME="2026-11-02T09:00:00Z")
    wire.add(TITLE="Просроченная", CLOSEDATE="2026-11-20", OPPORTUNITY=1_500_000.0)
    wire.add(TITLE="Сегодняшняя", CLOSEDATE="2026-11-21")
    found = await lists(sandbox_home)
    open_ones = [row for row in wire.deals() if row["ASSIGNED_BY_ID"] == ME and row["CLOSED"] == "N"]
    week = (TODAY + timedelta(days=7)).isoformat()
    idle = (NOW - timedelta(days=7)).isoformat().replace("+00:00", "Z")
    expected = {
        "today-overdue-deals": [row for row in open_ones if row["CLOSEDATE"] < TODAY.isoformat()],
        "today-closing": [row for row in open_ones if TODAY.isoformat() <= row["CLOSEDATE"] <= week],
        "today-idle": [row for row in open_ones if row["DATE_MODIFY"] < idle and (row.get("LAST_ACTIVITY_TIME") or "") < idle],
    }
    told = {row["ID"] for row in expected["today-overdue-deals"]}
    expected["today-idle"] = [row for row in expected["today-idle"] if row["ID"] not in told]  # no deal is told twice
    for code, rows in expected.items():
        labels, total, _ = found[code]
        assert rows, code
        assert total == len(rows), code
        assert sorted(int(label.split("№")[1].split(" ")[0]) for label in labels) == sorted(row["ID"] for row in rows), code
    assert any("Забытая" in label for label in found["today-idle"][0])
    assert all(" · без движения с " in label for label in found["today-idle"][0])  # a bare day would look like one to come
    assert any("Просроченная" in label and label.endswith("пт, 20 ноября") for label in found["today-overdue-deals"][0])
    assert [method for method, _ in wire.sent].count("batch") == 2, "one request for all lists, one for the activities of open deals"
    assert not {"crm.deal.list", "tasks.task.list"} & {method for method, _ in wire.sent}


async def test_tasks_by_their_hour_in_the_persons_zone(sandbox_home: Home, wire: Sandbox) -> None:
    """Overdue this minute, due later today, not tomorrow; done and other people's are left out."""
    wire.empty()
    wire.task(TITLE="Утром", DEADLINE="2026-11-21T08:00:00Z")
    wire.task(TITLE="Вчера", DEADLINE="2026-11-20T08:00:00Z")
    wire.task(TITLE="Вечером", DEADLINE="2026-11-21T20:59:00Z")
    wire.task(TITLE="Завтра", DEADLINE="2026-11-21T21:00:00Z")
    wire.task(TITLE="Готовая", DEADLINE="2026-11-21T08:00:00Z", STATUS=5, REAL_STATUS=5)
    wire.task(TITLE="Чужая", DEADLINE="2026-11-21T08:00:00Z", RESPONSIBLE_ID=8, CREATED_BY=8)
    found = await lists(sandbox_home)
    short = {code: [(label.split(" · ")[0], label.split(" · ")[-1]) for label in labels] for code, (labels, _, _) in found.items()}
    assert short == {"today-overdue": [("Вчера", "пт, 20 ноября"), ("Утром", "11:00")], "today-tasks": [("Вечером", "23:59")]}
    further = await lists(sandbox_home, ANNA.model_copy(update={"time_zone": "Asia/Vladivostok"}))
    assert "today-tasks" not in further, "there it is past ten in the evening, and 20:59Z is tomorrow"


async def test_counts_and_sums_are_those_of_all_pages(sandbox_home: Home, wire: Sandbox) -> None:
    """Two currencies, three pages: «показано 10 из 137, всего …»."""
    wire.empty()
    for number in range(136):
        wire.add(TITLE=f"Сделка {number}", CLOSEDATE="2026-11-01", OPPORTUNITY=100_000.0)
    wire.add(CLOSEDATE="2026-11-02", OPPORTUNITY=2_000.0, CURRENCY_ID="USD")
    _, total, sums = (await lists(sandbox_home))["today-overdue-deals"]
    assert (total, sums.replace("\xa0", " ")) == (137, "13,6 млн ₽ + 2 000 $")
    await sandbox_home.world.put(command("today"))
    await sandbox_home.work(await sandbox_home.session())
    (body,) = sandbox_home.told("daily")
    text = to_plain_text(render_daily(body, Translator("ru"))).replace("\xa0", " ")
    assert "Показано 5 из 137, всего 13,6 млн ₽ + 2 000 $" in text


async def test_a_sum_of_a_part_is_not_shown(sandbox_home: Home, wire: Sandbox) -> None:
    """A list longer than what is read has its count alone."""
    wire.empty()
    for _ in range(MOST + 1):
        wire.add(CLOSEDATE="2026-11-01")
    labels, total, sums = (await lists(sandbox_home))["today-overdue-deals"]
    assert (len(labels), total, sums) == (MOST, MOST + 1, "")


async def test_a_list_that_the_portal_refuses_is_named_and_the_others_stay(sandbox_home: Home, wire: Sandbox) -> None:
    """A webhook without the right for tasks: the deals are shown, and what is missing is said."""
    wire.closed = {"tasks.task.list"}
    await sandbox_home.world.put(command("today"))
    await sandbox_home.work(await sandbox_home.session())
    (body,) = sandbox_home.told("daily")
    assert body["unread"] == ["today-overdue", "today-tasks"]
    assert "⚠️ Битрикс24 не показал: «Просроченные задачи», «Задачи на сегодня»." in to_plain_text(render_daily(body, Translator("ru")))
    wire.closed = {"tasks.task.list", "crm.deal.list", "crm.activity.list", "calendar.event.get"}
    with pytest.raises(BitrixError):
        await lists(sandbox_home)


async def test_a_lead_sees_the_teams_numbers_and_no_record_of_theirs(sandbox_home: Home, wire: Sandbox) -> None:
    """Counted person by person; their sum is the last line; a manager sees no team."""
    wire.empty()
    for owner, day in ((7, "2026-11-01"), (7, "2026-11-22"), (8, "2026-11-01"), (8, "2026-11-02")):
        wire.add(TITLE=f"Чужая {owner}", ASSIGNED_BY_ID=owner, CLOSEDATE=day)
    wire.add(TITLE="Старая", ASSIGNED_BY_ID=8, DATE_MODIFY="2026-11-01T09:00:00Z", LAST_ACTIVITY_TIME="2026-11-01T09:00:00Z")
    wire.task(RESPONSIBLE_ID=7, DEADLINE="2026-11-21T08:00:00Z")
    wire.task(RESPONSIBLE_ID=7, DEADLINE="2026-11-21T20:00:00Z")
    await sandbox_home.world.put(command("today", actor=VERA, key=VERA.key))
    await sandbox_home.work(await sandbox_home.session(VERA))
    (body,) = sandbox_home.told("daily")
    assert body["sections"] == []
    assert [line["name"] for line in body["team"]][-1] == ""
    numbers = {line["name"]: tuple(line[key] for key in ("overdue", "due", "closing", "idle")) for line in body["team"]}
    assert numbers.pop("") == (4, 1, 1, 1)
    assert sorted(numbers.values()) == [(2, 0, 0, 1), (2, 1, 1, 0)]
    text = to_plain_text(render_daily(body, Translator("ru")))
    assert "Чужая" not in text
    assert text.startswith("Команда: просрочено 4, на сегодня 1, закрываются 1, без движения 1\n")
    assert text.endswith("У вас самих на сегодня ничего срочного.")
    await sandbox_home.world.put(command("today"))
    await sandbox_home.work(await sandbox_home.session())
    assert sandbox_home.told("daily")[0]["team"] == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Refused("ACCESS_DENIED", "REST is available only on commercial plans", 403), "Дела показать не могу: на вашем тарифе"),
        (NoAccess("the plan has run out", code="PAYMENT_REQUIRED"), "Дела показать не могу: портал не оплачен"),
        (Refused("PORTAL_DELETED", "Portal was deleted", 410), "Дела показать не могу: этот портал удалён"),
        (Refused("ACCESS_DENIED", "Access denied", 403), "Битрикс24 отказал в чтении ваших дел"),
        (OutcomeUnknown(), "Битрикс24 сейчас не отвечает"),
    ],
)
async def test_today_says_why_the_portal_shows_nothing(sandbox_home: Home, error: BitrixError, said: str) -> None:
    """A portal that is closed to programs is told as that."""
    sandbox_home.faults.append(error)
    await sandbox_home.world.put(command("today"))
    await sandbox_home.work(await sandbox_home.session())
    [row] = sandbox_home.world.outbox()
    assert said in to_plain_text(render_reply(Reply.model_validate(row.body), Translator("ru")))


async def test_a_large_team_is_told_apart_while_its_lists_are_read_whole(sandbox_home: Home, wire: Sandbox) -> None:
    """One line for all of them otherwise; what cannot be counted is not guessed."""
    wire.empty()
    for owner in (6, 7, 8):
        wire.add(ASSIGNED_BY_ID=owner, CLOSEDATE="2026-11-01")
    naming = watcher_of(sandbox_home.world.orchestrator)._look._naming  # type: ignore[union-attr]
    found = await load_agenda(sandbox_home.reads, naming, VERA, NOW, team=range(1, 40))
    assert [(line.name, line.overdue) for line in found.team] == [("Борис Смирнов", 1), ("Вера Лебедева", 1), ("", 2)], (
        "her own deal is not the team's"
    )
    for _ in range(MOST):
        wire.add(ASSIGNED_BY_ID=8, CLOSEDATE="2026-11-01")
    found = await load_agenda(sandbox_home.reads, naming, VERA, NOW, team=range(1, 40))
    assert found.team == (TeamLine(name="", overdue=MOST + 2),), "too many to be told apart"
    wire.closed = {"tasks.task.list"}
    found = await load_agenda(sandbox_home.reads, naming, VERA, NOW, team=range(1, 40))
    assert (found.team, found.unread) == ((), ("today-overdue", "today-tasks", "today-team"))


async def test_nothing_to_do_is_one_friendly_sentence(sandbox_home: Home, wire: Sandbox) -> None:
    wire.empty()
    await sandbox_home.world.put(command("today"))
    await sandbox_home.work(await sandbox_home.session())
    (body,) = sandbox_home.told("daily")
    assert (
        to_plain_text(render_daily(body, Translator("ru")))
        == "На сегодня ничего срочного: ни просроченного, ни закрывающегося. Хорошего дня!"
    )


async def test_titles_are_text_and_nothing_else(sandbox_home: Home, wire: Sandbox) -> None:
    """A title with markup, another address or our own separator stays one line of text with one link to the portal."""
    wire.empty()
    wire.add(TITLE="<b>Ж</b> *x* [a](http://evil.example) · 9 млн\n[[list 1]] \u202eабв", CLOSEDATE="2026-11-01")
    await sandbox_home.world.put(command("today"))
    await sandbox_home.work(await sandbox_home.session())
    (body,) = sandbox_home.told("daily")
    spans = render_daily(body, Translator("ru"))
    links = [span for span in spans if span.url]
    assert [link.url.startswith("https://portal.example/crm/deal/details/") for link in links] == [
        True,
        True,
    ]  # overdue, and without a next step
    assert "\n" not in links[0].text
    assert "\u202e" not in links[0].text
    line, _ = [line for line in "".join(span.text for span in spans).splitlines() if links[0].text in line]
    assert line.count(" · ") == 4
