"""What the card shows of a time is what is sent: the person's zone, whatever offset it was written with."""

from typing import Any

import pytest

from orchestrator.directory.reference_data import Field
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.decide.own_fields import settle_own_values
from orchestrator.gate.normalize.moments import localize_value
from tests.unit.gate.gate_kit import effect, made

OMSK = Actor(key="tg:1007", name="Анна", bitrix_user_id=7, time_zone="Asia/Omsk")


def normalized(method: str, params: dict[str, Any], actor: Actor = OMSK) -> Call:
    call = made(effect(method, params), actor=actor)
    assert isinstance(call, Call), call
    return call


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("2026-12-01T10:00:00+05:00", "2026-12-01T11:00:00+06:00"),
        ("2026-12-01T10:00:00Z", "2026-12-01T16:00:00+06:00"),
        ("2026-12-01T23:30+03:00", "2026-12-02T02:30:00+06:00"),
        ("2026-12-01T10:00:00", "2026-12-01T10:00:00+06:00"),
        ("2026-12-01 10:00", "2026-12-01T10:00:00+06:00"),
        ("2026-12-01T10:00:00+06:00", "2026-12-01T10:00:00+06:00"),
        ("2026-12-01", "2026-12-01"),
        ("2026-02-30T10:00:00Z", "2026-02-30T10:00:00Z"),
        ("", ""),
    ],
)
def test_a_time_is_one_of_the_persons_zone(written: str, sent: str) -> None:
    """In tasks and, under another name of the field, in to-dos; normalizing again changes nothing."""
    task = normalized("tasks.task.update", {"taskId": 8, "fields": {"DEADLINE": written}})
    assert task.written_fields["DEADLINE"] == sent
    assert normalized("tasks.task.update", dict(task.params)).params == task.params
    todo = {"ownerTypeId": 2, "ownerId": 5, "deadline": written or "2026-12-01", "title": "x"}
    assert normalized("crm.activity.todo.add", todo).params["deadline"] == (sent or "2026-12-01")


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("2026-12-01T23:30:00+03:00", "2026-12-02"),
        ("2026-12-01T00:00:00Z", "2026-12-01"),
        ("2026-12-01T00:00:00+06:00", "2026-12-01T00:00:00+06:00"),
        ("2026-12-01", "2026-12-01"),
    ],
)
def test_a_day_is_the_persons_day(written: str, sent: str) -> None:
    """A time late in Moscow is the next day in Omsk; midnight with any offset means the day that is written."""
    assert normalized("crm.deal.update", {"id": 5, "fields": {"CLOSEDATE": written}}).written_fields["CLOSEDATE"] == sent


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("2026-03-29T02:30:00", "2026-03-29T03:30:00+02:00"),
        ("2026-03-29T00:30:00Z", "2026-03-29T01:30:00+01:00"),
        ("2026-03-29T01:30:00Z", "2026-03-29T03:30:00+02:00"),
        ("2026-10-25T02:30:00", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T01:30:00Z", "2026-10-25T02:30:00+01:00"),
    ],
)
def test_on_the_day_of_a_change_of_clocks_the_time_exists(written: str, sent: str) -> None:
    """An hour that there is not becomes the one after it, and one that there is twice keeps its offset."""
    assert localize_value(written, "datetime", "Europe/Berlin") == sent
    assert localize_value(sent, "datetime", "Europe/Berlin") == sent


def test_a_day_written_as_its_midnight_stays_that_day_west_of_it() -> None:
    """In New York it is the evening before then."""
    assert localize_value("2026-12-01T00:00:00Z", "date", "America/New_York") == "2026-12-01"
    assert localize_value("2026-12-01T02:00:00Z", "date", "America/New_York") == "2026-11-30"


def test_texts_and_filters_stay() -> None:
    """Only fields that hold times, and only of writes."""
    assert normalized("crm.deal.update", {"id": 5, "fields": {"COMMENTS": "2026-12-01T10:00:00Z"}}).written_fields["COMMENTS"].endswith("Z")
    read = normalized("tasks.task.list", {"filter": {">=DEADLINE": "2026-12-01T10:00:00Z"}}, OMSK.model_copy(update={"sees": "all"}))
    assert read.params["filter"][">=DEADLINE"] == "2026-12-01T10:00:00Z"


def test_own_fields_of_the_company_are_settled_by_their_type() -> None:
    """The list of the portal says which of them hold times; nothing is guessed without it."""
    known = {
        "UF_CRM_1": Field(code="UF_CRM_1", title="Визит", type="datetime"),
        "UF_CRM_2": Field(code="UF_CRM_2", title="x", type="string"),
    }
    params = {"id": 5, "fields": {"UF_CRM_1": "2026-12-01T10:00:00Z", "UF_CRM_2": "2026-12-01T10:00:00Z"}}
    call = normalized("crm.deal.update", params)
    settled = settle_own_values(call, Facts(field_lists={"deal": known}), "", "Asia/Omsk")
    assert settled.written_fields == {"UF_CRM_1": "2026-12-01T16:00:00+06:00", "UF_CRM_2": "2026-12-01T10:00:00Z"}
    assert settled.essence == call.essence
    assert settle_own_values(call, Facts(), "", "Asia/Omsk") == call
