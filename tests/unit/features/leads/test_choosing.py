"""To whom a request goes, and who stands in."""

from datetime import UTC, date, datetime

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.features.leads.approvers import LeadApprovers
from tests.unit.features.leads.leads_kit import DINA, GLEB, Department, gone
from tests.unit.spine_kit import ANNA, BORIS, VERA

TODAY = date(2026, 11, 21)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def keys(department: Department, actor: Actor = ANNA, *, blind: tuple[Actor, ...] = ()) -> list[str]:
    return [
        lead.key
        for lead in LeadApprovers(department, lambda: NOON).find_leads(actor, lambda lead: lead.key not in {one.key for one in blind})
    ]


def test_the_named_lead_comes_first_then_every_lead_who_may_see_the_record_then_administrators() -> None:
    """Somebody decides, and nobody who may not see what it is about."""
    department = Department(everybody=[ANNA, BORIS, VERA, GLEB, DINA])
    assert keys(department) == [VERA.key]
    assert keys(department, blind=(VERA,)) == [GLEB.key]
    assert keys(department, BORIS) == [VERA.key, GLEB.key]
    assert keys(department, BORIS, blind=(VERA, GLEB)) == [DINA.key]
    assert keys(department, blind=(VERA, GLEB, DINA)) == []


def test_nobody_is_asked_to_decide_for_themselves() -> None:
    """Neither by key nor as the same employee under another account."""
    second = VERA.model_copy(update={"key": "tg:77", "name": "Вера (дом)"})
    department = Department(everybody=[VERA, second, GLEB], leads={VERA.key: VERA.key})
    assert keys(department, VERA) == [GLEB.key]


@pytest.mark.parametrize(
    ("until", "deputy", "found"),
    [
        (TODAY, GLEB, [GLEB.key]),
        (date(2026, 11, 20), GLEB, [VERA.key]),
        (TODAY, BORIS, [BORIS.key]),
        (TODAY, None, [GLEB.key]),
        (TODAY, ANNA, [GLEB.key]),
    ],
)
def test_who_stands_in_while_the_lead_is_away(until: date, deputy: Actor | None, found: list[str]) -> None:
    """Up to and with the last day; without a deputy, or where the deputy is the one who asks, the other leads."""
    department = Department(everybody=[ANNA, BORIS, VERA, GLEB, DINA], absent={VERA.key: gone(until, deputy)})
    assert keys(department) == found


def test_the_day_ends_in_the_zone_of_the_lead() -> None:
    """At noon UTC it is tomorrow in Kamchatka."""
    far = VERA.model_copy(update={"time_zone": "Asia/Kamchatka"})
    department = Department(everybody=[ANNA, far, GLEB], absent={VERA.key: gone(TODAY, GLEB)})
    assert keys(department) == [VERA.key]


def test_a_deputy_has_the_role_and_the_sight_of_the_lead_and_only_while_they_are_away() -> None:
    """A manager stands in for a lead of two people."""
    small = VERA.model_copy(update={"sees": (7, 8)})
    department = Department(everybody=[ANNA, BORIS, small], absent={VERA.key: gone(TODAY, BORIS)})
    acting = LeadApprovers(department, lambda: NOON).apply_delegation(BORIS)
    assert (acting.key, acting.role, acting.sees) == (BORIS.key, "lead", (6, 7, 8))
    assert LeadApprovers(department, lambda: NOON).apply_delegation(ANNA) == ANNA
    later = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
    assert LeadApprovers(department, lambda: later).apply_delegation(BORIS) == BORIS
