"""The decision about rights and batches: whose records, and the worst command of a batch wins."""

from typing import Any

import pytest

from bitrix.catalogue.catalogue import Method
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.decide.decide import decide
from tests.unit.gate.gate_kit import ANNA, BORIS, LEAD, LOST, TEAM, catalogue, effect, judged, said

ALL_OPEN = Policy(open_methods=frozenset(method.name for method in catalogue()), event_handler_hosts=frozenset({"hooks.example.com"}))


@pytest.mark.parametrize(
    ("method", "params", "actor", "codes"),
    [
        ("crm.deal.get", {"id": 481}, ANNA, []),
        ("crm.deal.get", {"id": 500}, ANNA, ["gate-not-yours"]),
        ("crm.deal.get", {"id": 500}, TEAM, []),
        ("crm.deal.get", {"id": 500}, LEAD, []),
        ("crm.deal.get", {"id": 999}, ANNA, ["gate-not-found"]),
        ("crm.deal.get", {"id": 777}, ANNA, ["gate-unread"]),
        ("crm.deal.get", {"id": 777}, LEAD, []),
        ("crm.deal.update", {"id": 999, "fields": {"TITLE": "x"}}, LEAD, ["gate-not-found"]),
        ("crm.deal.update", {"id": 500, "fields": {"TITLE": "x"}}, ANNA, ["gate-not-yours"]),
        ("crm.item.update", {"entityTypeId": 2, "id": 500, "fields": {"title": "x"}}, ANNA, ["gate-not-yours"]),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 500, "COMMENT": "x"}}, ANNA, ["gate-not-yours"]),
        ("crm.timeline.comment.list", {"filter": {"ENTITY_TYPE": "deal", "ENTITY_ID": 500}}, ANNA, ["gate-not-yours"]),
        ("crm.timeline.comment.list", {"filter": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481}}, ANNA, []),
        ("crm.stagehistory.list", {"entityTypeId": 2}, ANNA, ["gate-target-unclear"]),
        ("crm.stagehistory.list", {"entityTypeId": 2}, LEAD, []),
        ("crm.stagehistory.list", {"entityTypeId": 2, "filter": {"OWNER_ID": 500}}, ANNA, ["gate-not-yours"]),
        ("crm.duplicate.findbycomm", {"type": "PHONE", "values": ["+7"]}, ANNA, ["gate-unscoped"]),
        ("crm.duplicate.findbycomm", {"type": "PHONE", "values": ["+7"]}, LEAD, []),
        ("tasks.task.get", {"taskId": 8017}, ANNA, []),
        ("tasks.task.get", {"taskId": 8017}, BORIS, ["gate-not-yours"]),
        ("tasks.task.get", {"taskId": 8017}, Actor(key="v", name="В", bitrix_user_id=6), []),
        ("crm.status.list", {}, ANNA, []),
        ("crm.deal.list", {}, ANNA, []),
        ("calendar.event.get", {"type": "user", "ownerId": 7}, ANNA, []),
        ("calendar.event.get", {"type": "user", "ownerId": 8}, ANNA, ["gate-unscoped"]),
        ("calendar.event.get", {"type": "group", "ownerId": 7}, ANNA, ["gate-unscoped"]),
        ("calendar.event.get", {"type": "group", "ownerId": 7}, LEAD, []),
        ("im.notify", {"USER_ID": 8, "MESSAGE": "x"}, ANNA, ["gate-class-outward"]),
        ("crm.deal.list", {}, LOST, ["gate-filter-foreign"]),
        ("user.get", {}, LOST, ["gate-no-user"]),
        ("crm.requisite.list", {}, ANNA, ["gate-target-unclear"]),
        ("crm.requisite.list", {"filter": {"ENTITY_TYPE_ID": 3, "ENTITY_ID": [43, 44]}}, ANNA, ["gate-target-unclear"]),
        ("crm.requisite.list", {"filter": {"ENTITY_TYPE_ID": 3, "ENTITY_ID": [43, 44]}}, LEAD, []),
        ("crm.requisite.list", {"filter": {"ENTITY_TYPE_ID": 3, "ENTITY_ID": 43, "!ID": 5}}, ANNA, []),
        ("crm.requisite.list", {"filter": {"ENTITY_TYPE_ID": 3, "ENTITY_ID": 43, "=ENTITY_ID": 44}}, ANNA, ["gate-filter-unclear"]),
        ("crm.requisite.list", {"filter": {"ENTITY_TYPE_ID": 3, "@ENTITY_TYPE_ID": 4, "ENTITY_ID": 43}}, ANNA, ["gate-filter-unclear"]),
        ("crm.requisite.bankdetail.get", {"id": 5}, ANNA, ["gate-unscoped"]),
    ],
)
def test_whose_records(method: str, params: dict[str, Any], actor: Actor, codes: list[str]) -> None:
    """A manager touches their own, a lead the team's, and what cannot be limited is refused."""
    assert said(judged(effect(method, params), actor=actor)) == codes


def test_a_kind_of_record_nobody_described_is_not_for_managers() -> None:
    """A record whose owner is unknown belongs to those who see all."""
    row = Method(
        name="x.get", classes=("R",), verb="get", entity="strange", idempotent=True, target=("id",), owner="record", required=("id",)
    )
    found = Call(kind="bitrix", method="x.get", params={"id": 5}, spec=row, classes=("R",), portal="p", targets=(("strange", 5),))
    verdict = decide(found, mode="full", policy=Policy(), actor=ANNA, facts=Facts(), effect=effect("x.get"))
    assert said(verdict) == ["gate-unscoped"]


@pytest.mark.req("S004-25", "S004-27", "S004-30", "S004-68", "S004-76")
@pytest.mark.parametrize(
    ("cmd", "codes"),
    [
        ({"a": "crm.deal.get?id=481", "b": "user.current"}, []),
        ({"a": "crm.deal.get?id=481", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=5"}, ["gate-critical"]),
        ({"a": "crm.deal.update?id=481&fields[TITLE]=x", "b": "crm.deal.update?id=481&fields[TITLE]=y"}, []),
        ({"a": "crm.deal.update?id=481&fields[OPPORTUNITY]=5", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=6"},
         ["gate-critical", "gate-critical"]),
        ({"a": "event.unbind?event=X&handler=https://x.io"}, ["gate-binding"]),
        ({"a": "crm.contact.add?fields[NAME]=A", "b": "crm.deal.add?fields[CONTACT_ID]=$result[a]"}, ["gate-reference-field"]),
        ({"a": "user.current", "b": "crm.deal.add?fields[ASSIGNED_BY_ID]=$result[a][ID]"}, ["gate-reference-field", "gate-add-person"]),
        ({"a": "user.current", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=$result[a][ID]"}, ["gate-reference-field"]),
        ({"a": "crm.contact.list", "b": "crm.contact.update?id=43&fields[PHONE][0][VALUE]=$result[a][0][ID]"}, ["gate-reference-field"]),
        ({"a": "crm.deal.list", "b": "crm.deal.update?id=$result[a][0][ID]&fields[TITLE]=x"}, ["gate-reference-id"]),
        ({"a": "crm.deal.add?fields[TITLE]=x",
          "b": "crm.timeline.comment.add?fields[ENTITY_TYPE]=deal&fields[ENTITY_ID]=$result[a]&fields[COMMENT]=x"}, ["gate-reference-id"]),
        ({"a": "crm.deal.get?id=482", "b": "crm.deal.update?id=481&fields[TITLE]=$result[a][TITLE]"}, ["gate-reference-field"]),
        ({"a": "crm.deal.get?id=482", "b": "crm.deal.update?id=481&fields[COMMENTS]=итого $result[a][TITLE]"}, ["gate-reference-field"]),
        ({"a": "crm.lead.list", "b": "crm.deal.add?fields[COMMENTS]=$result[a][0][COMMENTS]"}, ["gate-reference-field"]),
        ({"a": "crm.lead.list",
          "b": "crm.timeline.comment.add?fields[ENTITY_TYPE]=deal&fields[ENTITY_ID]=481&fields[COMMENT]=$result[a][0][COMMENTS]"},
         ["gate-reference-field"]),
        ({"a": "crm.company.add?fields[TITLE]=x", "b": "crm.deal.update?id=481&fields[UF_CRM_1]=$result[a]"}, []),
    ],
)  # fmt: skip
def test_a_batch_asks_when_one_command_asks(cmd: dict[str, str], codes: list[str]) -> None:
    """Each command by its own rules, the worst verdict wins; a value that another command reads is seen by nobody before it is written."""
    assert said(judged(effect("batch", {"cmd": cmd}))) == codes


@pytest.mark.req("S004-25", "S004-27", "S004-X11")
@pytest.mark.parametrize(
    ("cmd", "policy", "text"),
    [
        ({"a": "crm.deal.get?id=481", "d": "crm.deal.delete?id=481"}, Policy(), "the batch holds a deletion: d (crm.deal.delete)."),
        (
            {"a": "crm.deal.update?id=999&fields[TITLE]=x", "d": "crm.deal.delete?id=481"},
            Policy(),
            "the batch holds a deletion: d (crm.deal.delete).",
        ),
        ({"a": "crm.deal.update?id=999&fields[TITLE]=x"}, Policy(), "command a (crm.deal.update) of the batch: there is no deal 999."),
        (
            {"a": "crm.deal.list", "b": "crm.deal.delete?id=$result[a][0][ID]"},
            ALL_OPEN,
            "command b (crm.deal.delete) of the batch: $result[...] may not stand in id of crm.deal.delete.",
        ),
        (
            {"a": "crm.deal.list", "b": "crm.status.update?id=$result[a][0][ID]&fields[NAME]=x"},
            ALL_OPEN,
            "command b (crm.status.update) of the batch: $result[...] may not stand in id of crm.status.update.",
        ),
        (
            {"a": "crm.deal.list", "b": "crm.item.payment.pay?id=$result[a][0][ID]"},
            ALL_OPEN,
            "command b (crm.item.payment.pay) of the batch: $result[...] may not stand in id of crm.item.payment.pay.",
        ),
        ({"a": "batch_is_not_here"}, Policy(), "batch_is_not_here is not in the catalogue."),
    ],
)
def test_a_batch_with_a_refused_command_is_refused_and_named(cmd: dict[str, str], policy: Policy, text: str) -> None:
    """The person and the model learn which command it was, and a deletion is told first."""
    verdict = judged(effect("batch", {"cmd": cmd}), policy=policy)
    assert verdict.detail == text


def test_forty_nine_reads_do_not_hide_a_deletion() -> None:
    """The fiftieth command is found."""
    cmd = {f"k{number:02}": "user.current" for number in range(49)} | {"z": "crm.deal.delete?id=481"}
    assert said(judged(effect("batch", {"cmd": cmd}))) == ["gate-batch-delete"]


def test_in_a_batch_rights_hold_for_every_command() -> None:
    """A foreign deal among one's own stops the whole batch; a record of this batch is one's own."""
    cmd = {"a": "crm.deal.get?id=481", "b": "crm.deal.get?id=500"}
    assert judged(effect("batch", {"cmd": cmd}), actor=ANNA).reason.args["reason"] == "gate-not-yours"  # type: ignore[union-attr]
    comment = "crm.timeline.comment.add?fields[ENTITY_TYPE]=deal&fields[COMMENT]=x&fields[ENTITY_ID]="
    made_here = {"a": "crm.deal.add?fields[TITLE]=x", "b": comment + "$result[a]"}
    assert said(judged(effect("batch", {"cmd": made_here}), actor=ANNA)) == ["gate-reference-id"]
    found_here = {"a": "crm.deal.list", "b": comment + "$result[a][0][ID]"}
    assert judged(effect("batch", {"cmd": found_here}), actor=ANNA).reason.args["reason"] == "gate-target-unclear"  # type: ignore[union-attr]


def test_a_batch_of_an_opened_deletion_needs_two_taps() -> None:
    """Opened by the policy, still asked, and twice."""
    policy = Policy(open_methods=frozenset({"CRM.deal.delete"}))
    verdict = judged(effect("batch", {"cmd": {"a": "crm.deal.delete?id=481"}}), policy=policy)
    assert (verdict.taps, said(verdict)) == (2, ["gate-class-delete"])
    assert verdict.reasons[0].args["key"] == "a"
