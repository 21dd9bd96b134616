"""Words of other people behind a write make it ask (DESIGN §3)."""

from typing import Any

import pytest

from orchestrator.domain.effect import Provenance
from orchestrator.gate.call.effect import Facts
from tests.unit.gate.gate_kit import ANNA, NAMED, RECORDS, effect, judged, said

CHANGE = {"id": 481, "fields": {"TITLE": "x"}}


def test_after_prose_every_write_asks_and_no_read() -> None:
    """A comment of a customer was read: each later write of the turn needs a person."""
    prose = Provenance(message=None, prose=True, targets=NAMED.targets)
    assert said(judged(effect("crm.deal.update", CHANGE, provenance=prose))) == ["gate-taint-prose"]
    assert said(judged(effect("crm.deal.add", {"fields": {"TITLE": "x"}}, provenance=prose))) == ["gate-taint-prose"]
    assert said(judged(effect("crm.deal.get", {"id": 481}, provenance=prose))) == []


@pytest.mark.parametrize(
    ("targets", "codes"),
    [(frozenset({"deal:481"}), []), (frozenset(), ["gate-taint-target"]), (frozenset({"deal:482", "lead:481"}), ["gate-taint-target"])],
)
def test_a_write_to_a_record_nobody_named_asks(targets: frozenset[str], codes: list[str]) -> None:
    """The person named it, pressed it, had it, or this turn made it; else they are asked."""
    assert said(judged(effect("crm.deal.update", CHANGE, provenance=Provenance(message=None, targets=targets)))) == codes


def test_a_new_record_has_no_target_to_name() -> None:
    """An add that touches no record is free."""
    assert said(judged(effect("crm.deal.add", {"fields": {"TITLE": "x"}}, provenance=Provenance(message=None)))) == []


def test_in_a_batch_the_command_is_named() -> None:
    """The reason says which command touches a record nobody named."""
    cmd = {"a": "crm.deal.update?id=481&fields[TITLE]=x", "b": "crm.deal.update?id=500&fields[TITLE]=x"}
    verdict = judged(effect("batch", {"cmd": cmd}, provenance=Provenance(message=None, targets=frozenset({"deal:481"}))))
    assert [(reason.args["key"], reason.args["reason"], reason.args["id"]) for reason in verdict.reasons] == [  # type: ignore[union-attr]
        ("b", "gate-taint-target", 500)
    ]


@pytest.mark.parametrize(
    ("method", "params", "person", "external", "tainted"),
    [
        ("crm.contact.add", {"fields": {"PHONE": [{"VALUE": "+79001234567"}]}}, "создай контакт", ("ООО Рога +79001234567",), True),
        ("crm.contact.add", {"fields": {"PHONE": [{"VALUE": "+79001234567"}]}}, "создай +79001234567", ("ООО Рога +79001234567",), False),
        ("crm.contact.add", {"fields": {"PHONE": [{"VALUE": "+79001234567"}]}}, "создай контакт", ("ООО Рога",), False),
        ("crm.deal.add", {"fields": {"CLOSEDATE": "2026-12-31"}}, "создай сделку", ("срок 2026-12-31",), True),
        ("crm.deal.add", {"fields": {"COMPANY_ID": 12}}, "создай сделку", ("12",), False),
        ("crm.deal.add", {"fields": {"TITLE": "Ромашка"}}, "создай сделку", ("Ромашка",), False),
        ("crm.deal.add", {"fields": {"COMPANY_ID": True, "CONTACT_IDS": {"0": 4321}}}, "создай", ("x 4321",), True),
        ("im.notify", {"USER_ID": 7, "MESSAGE": "Переведите деньги"}, "напиши", ("Переведите  ДЕНЬГИ",), True),
    ],
)
def test_a_critical_value_from_a_label_asks(
    method: str, params: dict[str, Any], person: str, external: tuple[str, ...], *, tainted: bool
) -> None:
    """A number that stands in a title, and not in the person's words, is shown as such."""
    found = judged(effect(method, params, provenance=Provenance(message=None, person_text=person, external=external)))
    assert ("gate-taint-value" in said(found)) is tainted


def test_a_sum_is_recognised_in_any_grouping() -> None:
    """«1 500 000» in a title is 1500000 in a call."""
    what = effect(
        "crm.deal.update",
        {"id": 481, "fields": {"OPPORTUNITY": 1500000}},
        provenance=Provenance(
            message=None, targets=frozenset({"deal:481"}), person_text="поставь сумму", external=("Ромашка на 1\u00a0500 000 ₽",)
        ),
    )
    facts = Facts(records={("deal", 481): RECORDS[("deal", 481)]})
    assert said(judged(what, facts=facts)) == ["gate-critical", "gate-taint-value"]


def test_what_the_system_set_is_nobodys_text() -> None:
    """The speaker's own number is not borrowed from a title."""
    what = effect("crm.deal.add", {"fields": {"TITLE": "x"}}, provenance=Provenance(message=None, external=("sdelka e1 6",)))
    assert said(judged(what)) == []


def _call_with(contact: int, *, sort: int = 2, deal: int = 481, **more: Any) -> tuple[str, dict[str, Any]]:
    talk = [{"ENTITY_TYPE_ID": 3, "ENTITY_ID": contact, "VALUE": "+79161234567", "TYPE": "PHONE"}]
    fields = {"OWNER_TYPE_ID": 2, "OWNER_ID": deal, "TYPE_ID": sort, "SUBJECT": "Звонок", "COMMUNICATIONS": talk, **more}
    return "crm.activity.add", {"fields": fields}


CLIENT = {**RECORDS[("deal", 481)], "CONTACT_ID": "43", "COMPANY_ID": "5"}  # type: ignore[dict-item]
NAMED_DEAL = Provenance(message=None, targets=frozenset({"deal:481"}), person_text="запиши звонок по сделке 481")


def _said_of(method: str, params: dict[str, Any], *, provenance: Provenance = NAMED_DEAL, record: Any = CLIENT) -> list[str]:
    facts = Facts(records={**RECORDS, ("deal", 481): record})
    return said(judged(effect(method, params, provenance=provenance), actor=ANNA, facts=facts))


@pytest.mark.parametrize("sort", [1, 2])
def test_an_internal_call_or_meeting_with_the_client_of_the_named_deal_asks_nothing(sort: int) -> None:
    """The contact stands in the very deal that the person named; it was asked about as a record nobody named."""
    assert _said_of(*_call_with(43, sort=sort)) == []


def test_the_client_of_a_named_deal_is_read_from_the_deal_as_it_is_now() -> None:
    """Somebody else's contact, a deal without one, and the contact of a deal that nobody named are asked about."""
    assert _said_of(*_call_with(44)) == ["gate-taint-target"]
    assert _said_of(*_call_with(43), record=RECORDS[("deal", 481)]) == ["gate-taint-target"]
    assert _said_of(*_call_with(43), provenance=Provenance(message=None)) == ["gate-taint-target", "gate-taint-target"]


def test_what_goes_out_to_the_client_asks_as_before() -> None:
    """An e-mail leaves the company: the card says so, and to which record."""
    assert _said_of(*_call_with(43, sort=4)) == ["gate-class-outward", "gate-taint-target"]


def test_a_record_that_is_changed_itself_must_still_be_named() -> None:
    """Changing the client is no call about the deal, and a task hung on the client shows on its page."""
    assert _said_of("crm.contact.update", {"id": 43, "fields": {"POST": "директор"}}) == ["gate-taint-target"]
    task = {"fields": {"TITLE": "Позвонить", "UF_CRM_TASK": ["D_481", "C_43"]}}
    assert _said_of("tasks.task.add", task) == ["gate-taint-target"]
