"""Days in a call become what their place needs: both bounds of a period in a filter, one bound after a sign, a day or a time in a field."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.directory.answers import AskedDate, DatedParams, Unresolved
from orchestrator.directory.date_places import find_look, find_purpose, is_finished
from orchestrator.directory.date_references import DateReferences
from orchestrator.domain.actor import Actor
from tests.fixed_clock import FixedClock
from tests.unit.directory.reference_kit import NOW, Desk, desk, sandbox

ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)  # now it is Saturday, 21 November 2026, 15:00 in Moscow
OWN = {"UF_CRM_DAY": {"type": "date"}, "UF_CRM_AT": {"type": "datetime"}, "UF_CRM_TEXT": {"type": "string"}}
ANSWERS: dict[str, Any] = {
    "crm.deal.fields": OWN,
    "crm.deal.get": lambda params: {"ID": str(params["id"]), "CLOSED": "Y" if str(params["id"]) == "5" else "N"},
    "tasks.task.get": lambda params: {"task": {"id": params["taskId"], "status": "5" if str(params["taskId"]) == "5" else "2"}},
}
DAY = "T00:00:00+03:00"


async def dated(method: str, params: Mapping[str, Any], *, actor: Actor = ANNA, chosen: Mapping[str, object] | None = None) -> Any:
    async with desk(ANSWERS) as here:
        return await references(here).resolve(method=method, params=params, actor=actor, chosen=chosen or {})


def references(here: Desk) -> DateReferences:
    return DateReferences(here.reads, here.naming, here.clock)


async def filtered(method: str = "crm.deal.list", **conditions: Any) -> Any:
    """The filter after its days are resolved; or the answer, if they are not."""
    found = await dated(method, {"filter": conditions, "select": ["ID"]})
    return found.params["filter"] if isinstance(found, DatedParams) else found


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"DATE_CREATE": "@date:прошлый месяц"}, {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"}),
        ({"=DATE_CREATE": "@date:last month"}, {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"}),
        ({"DATE_CREATE": "@range:прошлый месяц"}, {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"}),
        ({"DATE_CREATE": "@date:вчера"}, {">=DATE_CREATE": f"2026-11-20{DAY}", "<DATE_CREATE": f"2026-11-21{DAY}"}),
        ({"CLOSEDATE": "@date:прошлый месяц"}, {">=CLOSEDATE": "2026-10-01", "<CLOSEDATE": "2026-11-01"}),
        ({"CLOSEDATE": "@date:вчера"}, {"CLOSEDATE": "2026-11-20"}),
        ({">=DATE_CREATE": "@date:вчера"}, {">=DATE_CREATE": f"2026-11-20{DAY}"}),
        ({">DATE_CREATE": "@date:вчера"}, {">=DATE_CREATE": f"2026-11-21{DAY}"}),
        ({"<DATE_CREATE": "@date:вчера"}, {"<DATE_CREATE": f"2026-11-20{DAY}"}),
        ({"<=DATE_CREATE": "@date:вчера"}, {"<DATE_CREATE": f"2026-11-21{DAY}"}),
        ({"<DATE_CREATE": "@date:до вчера"}, {"<DATE_CREATE": f"2026-11-20{DAY}"}),
        ({"<=DATE_CREATE": "@date:до вчера"}, {"<DATE_CREATE": f"2026-11-21{DAY}"}),
        ({">=CLOSEDATE": "@date:вчера"}, {">=CLOSEDATE": "2026-11-20"}),
        ({">CLOSEDATE": "@date:вчера"}, {">CLOSEDATE": "2026-11-20"}),
        ({"<CLOSEDATE": "@date:сегодня"}, {"<CLOSEDATE": "2026-11-21"}),
        ({"<=CLOSEDATE": "@date:до конца месяца"}, {"<=CLOSEDATE": "2026-11-30"}),
        ({">DATE_CREATE": "@date:за 30 дней"}, {">=DATE_CREATE": f"2026-10-22{DAY}"}),
        (
            {">=DATE_CREATE": "@date:начало прошлого месяца", "<=DATE_CREATE": "@date:конец прошлого месяца"},
            {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"},
        ),
        (
            {">=DATE_CREATE": "@date:1 октября", "<=DATE_CREATE": "@date:15 октября"},
            {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-10-16{DAY}"},
        ),
        (
            {">=DATE_CREATE": "@date:прошлый месяц", "<DATE_CREATE": "@date:прошлый месяц"},
            {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"},
        ),
        (
            {">=DATE_CREATE": "@date:прошлый месяц", "<=DATE_CREATE": "@date:прошлый месяц"},
            {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"},
        ),
        (
            {"><DATE_CREATE": ["@date:1 октября", "@date:15 октября"]},
            {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-10-16{DAY}"},
        ),
        ({">=DATE_CREATE": "@date:2 часа назад"}, {">=DATE_CREATE": "2026-11-21T13:00:00+03:00"}),
        ({"<=DATE_CREATE": "@date:позавчера в 15"}, {"<=DATE_CREATE": "2026-11-19T15:00:00+03:00"}),
        ({"@CLOSEDATE": ["@date:вчера", "2026-11-21"]}, {"@CLOSEDATE": ["2026-11-20", "2026-11-21"]}),
        ({"!CLOSEDATE": "@date:вчера"}, {"!CLOSEDATE": "2026-11-20"}),
        ({"UF_CRM_DAY": "@date:прошлая неделя"}, {">=UF_CRM_DAY": "2026-11-09", "<UF_CRM_DAY": "2026-11-16"}),
        ({"UF_CRM_AT": "@date:вчера"}, {">=UF_CRM_AT": f"2026-11-20{DAY}", "<UF_CRM_AT": f"2026-11-21{DAY}"}),
    ],
)
async def test_a_period_in_a_filter_is_what_its_key_and_its_field_make_of_it(given: dict[str, Any], sent: dict[str, Any]) -> None:
    """Half-open in fields of times and of days, with the offset of the person's zone."""
    assert await filtered(TITLE="Ромашка", **given) == {"TITLE": "Ромашка", **sent}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"DATE_CREATE": "2026-10-31"}, {">=DATE_CREATE": f"2026-10-31{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"}),
        (
            {">=DATE_CREATE": "2026-10-01", "<=DATE_CREATE": "2026-10-31"},
            {">=DATE_CREATE": f"2026-10-01{DAY}", "<DATE_CREATE": f"2026-11-01{DAY}"},
        ),
        ({">DATE_CREATE": "2026-10-01"}, {">DATE_CREATE": f"2026-10-01{DAY}"}),
        ({"<DATE_CREATE": "2026-10-01"}, {"<DATE_CREATE": f"2026-10-01{DAY}"}),
        ({">=DATE_CREATE": "2026-10-01T10:00:00"}, {">=DATE_CREATE": "2026-10-01T10:00:00+03:00"}),
        ({">=DATE_CREATE": "2026-10-01T10:00:00+05:00"}, {">=DATE_CREATE": "2026-10-01T10:00:00+05:00"}),
        ({">=CLOSEDATE": "2026-10-01", "<=CLOSEDATE": "2026-10-31"}, {">=CLOSEDATE": "2026-10-01", "<=CLOSEDATE": "2026-10-31"}),
        ({"UF_CRM_TEXT": "2026-10-31"}, {"UF_CRM_TEXT": "2026-10-31"}),
        ({"%TITLE": "2026-10-31"}, {"%TITLE": "2026-10-31"}),
        ({"ID": 481, "STAGE_ID": ["A", "B"]}, {"ID": 481, "STAGE_ID": ["A", "B"]}),
    ],
)
async def test_plain_iso_values_are_right_too(given: dict[str, Any], sent: dict[str, Any]) -> None:
    """A day in a field of times is that whole day, where the portal would take only its midnight; texts and offsets stay as they are."""
    assert await filtered(**given) == sent


async def test_groups_of_conditions_keep_their_meaning() -> None:
    """Within OR both bounds become a group of their own; within AND they stand side by side, at any depth."""
    either = {"logic": "OR", "createdTime": "@date:вчера", "updatedTime": "@date:вчера"}
    found = await dated("crm.item.list", {"entityTypeId": 2, "filter": {"0": either, "1": {">=createdTime": "@date:в мае"}}})

    day = (f"2026-11-20{DAY}", f"2026-11-21{DAY}")
    assert found.params["filter"] == {
        "0": {
            "logic": "OR",
            "0": {">=createdTime": day[0], "<createdTime": day[1]},
            "1": {">=updatedTime": day[0], "<updatedTime": day[1]},
        },
        "1": {">=createdTime": f"2026-05-01{DAY}"},
    }


async def test_commands_of_a_batch_know_days_too() -> None:
    """In filters and in fields, encoded or not; the other commands keep every byte."""
    found = await dated(
        "batch",
        {
            "halt": 0,
            "cmd": {
                "a": "crm.deal.list?filter[DATE_CREATE]=@date:прошлый месяц&select[]=ID",
                "b": "crm.deal.list?filter%5B%3E%3DDATE_CREATE%5D=%40date%3A%D0%B2%D1%87%D0%B5%D1%80%D0%B0",
                "c": "crm.deal.get?id=481&x=a+b",
                "d": "crm.deal.update?id=481&fields[CLOSEDATE]=@date:завтра",
                "e": "crm.deal.list?filter[%3C%3DDATE_CREATE]=2026-10-31",
                "f": "not a command",
            },
        },
    )
    assert found.params == {
        "halt": 0,
        "cmd": {
            "a": "crm.deal.list?filter[%3E%3DDATE_CREATE]=2026-10-01T00%3A00%3A00%2B03%3A00"
            "&filter[%3CDATE_CREATE]=2026-11-01T00%3A00%3A00%2B03%3A00&select[0]=ID",
            "b": "crm.deal.list?filter[%3E%3DDATE_CREATE]=2026-11-20T00%3A00%3A00%2B03%3A00",
            "c": "crm.deal.get?id=481&x=a+b",
            "d": "crm.deal.update?id=481&fields[CLOSEDATE]=2026-11-22",
            "e": "crm.deal.list?filter[%3CDATE_CREATE]=2026-11-01T00%3A00%3A00%2B03%3A00",
            "f": "not a command",
        },
    }


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"DATE_CREATE": "@date:до вчера"}, "<= with it, < without it"),
        ({"DATE_CREATE": "@date:вчера в 15"}, "single time"),
        ({"DATE_CREATE": "@date:недавно"}, "no day or period"),
        ({"DATE_CREATE": "@date:не вчера"}, "no day or period"),
        ({"DATE_CREATE": "@date:31 сентября"}, "no such day"),
        ({"DATE_CREATE": "@month:октябрь"}, "no such reference"),
        ({"DATE_CREATE": ["@date:вчера", "@date:сегодня"]}, "a list"),
        ({"@DATE_CREATE": ["@date:вчера"]}, "after @"),
        ({"!DATE_CREATE": "@date:вчера"}, "after !"),
        ({"%DATE_CREATE": "@date:вчера"}, "after %"),
        ({"@CLOSEDATE": ["@date:прошлый месяц"]}, "not a single day"),
        ({"DATE_CREATE": {">=": "@date:вчера", "<": "@date:сегодня"}}, "signs stand before the name"),
        ({">=DATE_CREATE": "@date:вчера", "<DATE_CREATE": "@date:прошлый месяц"}, "ends before it begins"),
        ({"DATE_CREATE": "@date:вчера", ">=DATE_CREATE": "2026-10-01T00:00:00+05:00"}, "twice"),
        ({">=DATE_CREATE": "@date:до вчера"}, "<= with it"),
        ({"<DATE_CREATE": "@date:за 30 дней"}, "reaches to the present"),
        ({">DATE_CREATE": "@date:вчера или сегодня"}, "several"),
    ],
)
async def test_what_would_be_a_guess_is_refused_with_the_form(given: dict[str, Any], why: str) -> None:
    """The model reads what is wrong and how to write it; nothing is dropped from the filter in silence."""
    found = await filtered(**given)
    assert isinstance(found, Unresolved)
    assert found.notice.code == "date-in-filter"
    assert why in found.detail
    assert '{"DATE_CREATE":"@date:last month"}' in found.detail


@pytest.mark.parametrize(
    ("given", "since"),
    [
        ({"DATE_CREATE": "@date:в мае"}, f"2026-05-01{DAY}"),
        ({"CLOSEDATE": "@date:в мае", "CLOSED": "N"}, "2027-05-01"),
        ({"CLOSEDATE": "@date:в мае", "CLOSED": "Y"}, "2026-05-01"),
        ({"CLOSEDATE": "@date:в мае", "STAGE_SEMANTIC_ID": "S"}, "2026-05-01"),
        ({"CLOSEDATE": "@date:в мае", "@STAGE_ID": "C1:WON"}, "2026-05-01"),
    ],
)
async def test_words_without_a_year_look_back_or_ahead_by_their_place(given: dict[str, Any], since: str) -> None:
    """When a record was made lies behind, when an open deal is to close ahead, when a won one was closed behind again."""
    found = await filtered(**given)
    assert next(value for key, value in found.items() if key.startswith(">=")) == since


async def test_activities_look_ahead_only_where_they_are_still_to_come() -> None:
    """Today is Saturday; «в понедельник» of a planned call is the next one."""
    for completed, day in (("N", "2026-11-23"), ("Y", "2026-11-16")):
        found = await filtered("crm.activity.list", START_TIME="@date:в понедельник", COMPLETED=completed)
        assert found[">=START_TIME"] == f"{day}{DAY}"
    assert (await filtered("tasks.task.list", DEADLINE="@date:в понедельник"))[">=DEADLINE"] == f"2026-11-23{DAY}"
    assert (await filtered("tasks.task.list", CLOSED_DATE="@date:в понедельник"))[">=CLOSED_DATE"] == f"2026-11-16{DAY}"


async def test_a_weekday_that_is_today_is_asked_about_and_the_choice_is_taken() -> None:
    """The buttons hold days; the chosen one stands in the place of the words, also after a sign."""
    asked = await filtered(DATE_CREATE="@date:в субботу")
    assert isinstance(asked, AskedDate)
    assert asked.reference == "@date:в субботу"
    assert [option.value for option in asked.several.options] == ["2026-11-21", "2026-11-14"]
    found = await dated("crm.deal.list", {"filter": {"<=CLOSEDATE": "@date:до субботы"}}, chosen={"@date:до субботы": "2026-11-21"})
    assert found.params["filter"] == {"<=CLOSEDATE": "2026-11-21"}
    unclear = await filtered(DATE_CREATE="@date:с субботы по понедельник")
    assert isinstance(unclear, Unresolved)
    assert "today or a week ago" in unclear.detail


async def test_the_model_is_told_what_the_words_were_taken_for() -> None:
    """Days inclusive, times where there are any."""
    found = await dated(
        "crm.deal.list",
        {"filter": {"DATE_CREATE": "@date:прошлый месяц", "CLOSEDATE": "@date:вчера", ">=DATE_MODIFY": "@date:2 часа назад"}},
    )
    assert found.bounds == ("DATE_CREATE 2026-10-01..2026-10-31", "CLOSEDATE 2026-11-20", "DATE_MODIFY 2026-11-21T13:00+03:00..")


async def test_bounds_are_those_of_the_persons_zone() -> None:
    """In Vladivostok the day begins seven hours earlier."""
    far = ANNA.model_copy(update={"time_zone": "Asia/Vladivostok"})
    found = await dated("crm.deal.list", {"filter": {"DATE_CREATE": "@date:сегодня"}}, actor=far)
    assert found.params["filter"][">=DATE_CREATE"] == "2026-11-21T00:00:00+10:00"


@pytest.mark.parametrize(
    ("params", "sent"),
    [
        ({"from": "@date:прошлая неделя", "to": "@date:прошлая неделя"}, {"from": "2026-11-09", "to": "2026-11-15"}),
        ({"from": "@date:в понедельник", "to": "@date:до пятницы"}, {"from": "2026-11-23", "to": "2026-11-27"}),
        ({"from": "@date:сегодня в 10", "to": "@date:завтра"}, {"from": "2026-11-21", "to": "2026-11-22"}),
    ],
)
async def test_a_calendar_is_read_by_days(params: dict[str, Any], sent: dict[str, Any]) -> None:
    """`to` counts with its day."""
    found = await dated("calendar.event.get", {"type": "user", "ownerId": 7, **params})
    assert found.params == {"type": "user", "ownerId": 7, **sent}


PAST_WRITES: list[tuple[str, dict[str, Any], str]] = [
    ("crm.activity.add", {"fields": {"START_TIME": "@date:вчера в 15", "COMPLETED": "Y"}}, "2026-11-20T15:00:00+03:00"),
    ("crm.activity.add", {"fields": {"START_TIME": "@date:сегодня в 11", "COMPLETED": "Y"}}, "2026-11-21T11:00:00+03:00"),
    ("crm.activity.add", {"fields": {"START_TIME": "@date:в пятницу в 15", "COMPLETED": "Y"}}, "2026-11-20T15:00:00+03:00"),
    ("crm.activity.add", {"fields": {"START_TIME": "@date:вчера в 15"}}, "date-past"),
    ("crm.activity.add", {"fields": {"DEADLINE": "@date:вчера", "COMPLETED": "N"}}, "date-past"),
    ("crm.activity.todo.add", {"ownerId": 1, "deadline": "@date:вчера"}, "date-past"),
    ("crm.activity.todo.updateDeadline", {"id": 1, "value": "@date:вчера"}, "date-past"),
    ("crm.activity.todo.add", {"ownerId": 1, "deadline": "2026-11-20T10:00:00+03:00"}, "date-past"),
    ("crm.activity.todo.add", {"ownerId": 1, "deadline": "2026-11-23T10:00:00+03:00"}, "2026-11-23T10:00:00+03:00"),
    ("crm.activity.add", {"fields": {"START_TIME": "2026-11-20T10:00:00+03:00", "COMPLETED": "Y"}}, "2026-11-20T10:00:00+03:00"),
    ("crm.activity.add", {"fields": {"START_TIME": "2026-11-20T10:00:00+03:00"}}, "date-past"),
    ("crm.deal.update", {"id": 6, "fields": {"CLOSEDATE": "2026-11-20"}}, "date-past"),
    ("crm.deal.update", {"id": 5, "fields": {"CLOSEDATE": "2026-11-20"}}, "2026-11-20"),
    ("crm.deal.update", {"id": 6, "fields": {"BEGINDATE": "2026-11-20", "TITLE": "2026-11-20"}}, "2026-11-20"),
    ("reminder.add", {"at": "@date:вчера в 10", "text": "x"}, "date-past"),
    ("tasks.task.add", {"fields": {"DEADLINE": "@date:вчера"}}, "date-past"),
    ("tasks.task.update", {"taskId": 6, "fields": {"DEADLINE": "@date:вчера"}}, "date-past"),
    ("tasks.task.update", {"taskId": 5, "fields": {"DEADLINE": "@date:вчера"}}, "2026-11-20T18:00:00+03:00"),
    ("crm.deal.update", {"id": 6, "fields": {"CLOSEDATE": "@date:вчера"}}, "date-past"),
    ("crm.deal.update", {"id": 5, "fields": {"CLOSEDATE": "@date:вчера"}}, "2026-11-20"),
    ("crm.deal.update", {"id": 6, "fields": {"CLOSEDATE": "@date:вчера", "STAGE_ID": "C1:WON"}}, "2026-11-20"),
    ("crm.deal.update", {"id": 7, "fields": {"BEGINDATE": "@date:неделю назад"}}, "2026-11-14"),
    ("crm.deal.add", {"fields": {"BEGINDATE": "@date:позавчера"}}, "2026-11-19"),
    ("crm.item.add", {"entityTypeId": 31, "fields": {"begindate": "@date:вчера"}}, "2026-11-20"),
    ("crm.item.add", {"entityTypeId": 31, "fields": {"closedate": "@date:вчера"}}, "date-past"),
    ("crm.invoice.add", {"fields": {"DATE_BILL": "@date:вчера"}}, "2026-11-20"),
    ("crm.invoice.add", {"fields": {"DATE_PAY_BEFORE": "@date:вчера"}}, "date-past"),
    ("crm.contact.update", {"id": 1, "fields": {"BIRTHDATE": "@date:12 мая 1990"}}, "1990-05-12"),
    ("calendar.event.add", {"from": "@date:вчера в 10", "type": "user"}, "2026-11-20T10:00:00+03:00"),
    ("calendar.event.add", {"from": "@date:в 11", "type": "user"}, "date-past"),
    ("crm.deal.update", {"id": 6, "fields": {"UF_CRM_DAY": "@date:неделю назад"}}, "2026-11-14"),
]


@pytest.mark.parametrize(("method", "params", "meaning"), PAST_WRITES, ids=[f"{method} {params}" for method, params, _ in PAST_WRITES])
async def test_the_past_is_written_where_it_is_honest(method: str, params: dict[str, Any], meaning: str) -> None:
    """What took place, what is closed, and dates that were; never a deadline, a reminder or a planned call."""
    found = await dated(method, params)
    if isinstance(found, Unresolved):
        assert found.notice.code == meaning
        assert "is in the past" in found.detail
    else:
        written = found.params.get("fields", found.params)
        assert next(value for name, value in written.items() if name not in {"id", "type", "ownerId", "COMPLETED", "STAGE_ID"}) == meaning


async def test_where_a_past_call_is_refused_the_model_is_told_the_form() -> None:
    """One more word in the step, and it is right."""
    found = await dated("crm.activity.add", {"fields": {"START_TIME": "@date:вчера в 15"}})
    assert 'COMPLETED "Y"' in found.detail


async def test_the_same_words_are_resolved_by_each_place_alone() -> None:
    """A field of days and one of times in one call; until now the first decided for both."""
    found = await dated("crm.deal.update", {"id": 6, "fields": {"CLOSEDATE": "@date:завтра", "UF_CRM_AT": "@date:завтра"}})
    assert found.params["fields"] == {"CLOSEDATE": "2026-11-22", "UF_CRM_AT": "2026-11-22T18:00:00+03:00"}


async def test_an_unclear_day_of_a_field_is_asked_about_and_the_choice_has_its_form() -> None:
    """The value of the button was made for one field; a field of days takes the day of it."""
    params = {"id": 6, "fields": {"UF_CRM_AT": "@date:в субботу", "CLOSEDATE": "@date:в субботу"}}
    asked = await dated("crm.deal.update", params)
    assert isinstance(asked, AskedDate)
    value = asked.several.options[1].value
    found = await dated("crm.deal.update", params, chosen={"@date:в субботу": value})
    assert found.params["fields"] == {"UF_CRM_AT": "2026-11-28T18:00:00+03:00", "CLOSEDATE": "2026-11-28"}


async def test_a_call_without_days_is_untouched_and_asks_the_portal_nothing(here: Desk) -> None:
    """Most calls name none."""
    params = {"id": 481, "fields": {"TITLE": "Ромашка", "COMMENTS": "15.10 звонили"}}
    assert await references(here).resolve(method="crm.deal.update", params=params, actor=ANNA, chosen={}) == DatedParams(params=params)
    assert here.portal.asked == []


async def test_a_record_that_cannot_be_read_does_not_count_as_finished() -> None:
    """Then the past deadline is refused, as for an open one."""
    async with desk({}) as here:
        params = {"id": 5, "fields": {"CLOSEDATE": "@date:вчера"}}
        found = await references(here).resolve(method="crm.deal.update", params=params, actor=ANNA, chosen={})
        assert isinstance(found, Unresolved)


def test_the_rule_of_places_is_a_table() -> None:
    """Plans, facts and the rest, in either spelling of a name and with any sign."""
    assert [find_purpose(key, {}) for key in ("deadline", "datecreate", "begindate")] == ["plan", "fact", "event"]
    assert find_purpose("deadline", {"completed": "Y"}) == "fact"
    assert find_look("closedate", {"!CLOSED": "Y"}) == "ahead"
    assert find_look("closedate", {"=closed": "Y"}) == "back"
    assert is_finished({"REAL_STATUS": 5})
    assert not is_finished({"STATUS": [2, 5]})
    assert is_finished({"@stageId": "DT177_10:SUCCESS"})


@pytest.mark.parametrize(
    "words", ["прошлый месяц", "этот месяц", "за 30 дней", "с начала года", "last quarter", "15 ноября", "с 1 по 15 ноября"]
)
@pytest.mark.parametrize("field", ["DATE_CREATE", "CLOSEDATE"])
async def test_the_portal_finds_exactly_the_records_of_the_period(field: str, words: str) -> None:
    """In the sandbox portal, whose days are those of Moscow: the deals whose day lies within the bounds, and no others."""
    async with sandbox() as naming:
        reads = naming._reads
        every = await reads.client.call(
            "crm.deal.list", {"select": ["ID", field], "start": -1, "filter": {">ID": 0}, "order": {"ID": "ASC"}}
        )
        dates = DateReferences(reads, naming, FixedClock(NOW))
        params = {"filter": {field: f"@date:{words}", "CLOSED": ["Y", "N"]}, "select": ["ID"], "order": {"ID": "ASC"}}
        found = await dates.resolve(method="crm.deal.list", params=params, actor=ANNA, chosen={})
        assert isinstance(found, DatedParams)
        listed = await reads.client.call("crm.deal.list", found.params)
        period = found.bounds[0].partition(" ")[2]
        first, _, last = period.partition("..")
        fitting = [row["ID"] for row in every.result if first <= row[field][:10] <= (last or first)]
        assert [row["ID"] for row in listed.result] == fitting[:50]


async def test_tomorrow_is_the_day_after_it_was_said() -> None:
    """A plan that goes on after midnight, when the person has chosen a record, means the day that they meant."""
    async with desk({}) as here:
        said = here.clock.now() - timedelta(days=1)
        params = {"at": "@date:завтра в 23:50"}
        found = await references(here).resolve(method="reminder.add", params=params, actor=ANNA, chosen={}, said_at=said)
    assert isinstance(found, DatedParams)
    assert str(found.params["at"]).startswith("2026-11-21T")


@pytest.mark.parametrize("words", ["сегодня", "сегодня в 18:00", "завтра в 9"])
async def test_what_is_over_when_the_words_are_read_is_past(words: str) -> None:
    """A day later nobody gets a deadline that has gone by: the person is asked for another."""
    async with desk({}) as here:
        said = here.clock.now() - timedelta(days=1)
        params = {"fields": {"TITLE": "x", "DEADLINE": f"@date:{words}"}}
        found = await references(here).resolve(method="tasks.task.add", params=params, actor=ANNA, chosen={}, said_at=said)
    assert isinstance(found, Unresolved)
    assert found.notice.code == "date-past"


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("2026-12-01 10:00:00", "2026-12-01T10:00:00+05:00"),
        ("2026-12-01T10:00", "2026-12-01T10:00:00+05:00"),
        ("2026-12-01T10:00:00+03:00", "2026-12-01T10:00:00+03:00"),
        ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z"),
    ],
)
async def test_a_written_time_without_an_offset_is_one_of_the_persons_zone(value: str, sent: str) -> None:
    """The portal would read it in its own zone, which is another hour."""
    actor = ANNA.model_copy(update={"time_zone": "Asia/Yekaterinburg"})
    params = {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7, "DEADLINE": value}}
    found = await dated("tasks.task.add", params, actor=actor)
    assert found.params["fields"] == {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7, "DEADLINE": sent}
    own = await dated("crm.deal.update", {"id": 481, "fields": {"UF_CRM_AT": value, "UF_CRM_TEXT": value}}, actor=actor)
    assert own.params["fields"] == {"UF_CRM_AT": sent, "UF_CRM_TEXT": value}


async def test_a_written_time_without_an_offset_that_is_over_is_refused() -> None:
    found = await dated("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7, "DEADLINE": "2026-11-21 10:00:00"}})
    assert isinstance(found, Unresolved)
    assert found.notice.code == "date-past"
