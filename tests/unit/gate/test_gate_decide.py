"""The decision, rule by rule: modes, rights, what asks, what is refused."""

from decimal import Decimal
from typing import Any

import pytest
from gate_kit import (
    ANNA,
    BORIS,
    DEAL,
    FIRST,
    LEAD,
    LOST,
    NAMED,
    RECORDS,
    TEAM,
    TOKEN,
    call,
    catalogue,
    effect,
    judged,
    made,
    minimal,
    said,
)

from bitrix.catalogue import Method
from orchestrator.gate import modes
from orchestrator.gate.decide import decide
from orchestrator.gate.effects import Allow, Ask, Call, Facts, PlanOnly, Refuse
from orchestrator.gate.policy import Policy
from orchestrator.messages import MODES, Actor, Mode, Provenance

UPDATE = ("crm.deal.update", {"id": 481, "fields": {"TITLE": "Новое"}})
ALL_OPEN = Policy(open_methods=frozenset(method.name for method in catalogue()), event_handler_hosts=frozenset({"hooks.example.com"}))


@pytest.mark.req("S004-8", "S004-28", "S004-38")
@pytest.mark.parametrize("policy", [Policy(), ALL_OPEN], ids=["shipped", "all open"])
@pytest.mark.parametrize("mode", MODES)
def test_no_row_runs_by_itself_that_should_not(policy: Policy, mode: Mode) -> None:
    """Whole catalogue × three modes: D, C, M and N never just run, shadow runs nothing, canary reads and creates only."""
    for method in catalogue():
        what = effect(method.name, minimal(method))
        found = made(what)
        assert isinstance(found, Call), found
        facts = Facts(records=dict.fromkeys(found.targets, DEAL), first_stages=FIRST)
        verdict = decide(found, mode=mode, policy=policy, actor=LEAD, facts=facts, effect=what)
        if method.name == "batch":
            continue
        if mode == "shadow":
            assert not isinstance(verdict, Allow | Ask)
        if set(method.classes) & {"D", "C", "M", "N"}:
            assert not isinstance(verdict, Allow)
        if "D" in method.classes and policy is not ALL_OPEN:
            assert said(verdict) == ["gate-delete"]
        if "D" in method.classes and policy is ALL_OPEN and mode == "full":
            assert isinstance(verdict, Ask)
            assert verdict.taps == 2
        if mode == "canary" and not (method.reads_only or method.safe_create):
            assert isinstance(verdict, Refuse)
        if method.reads_only and mode != "shadow":
            assert verdict == Allow()


@pytest.mark.parametrize(
    ("mode", "highest", "holds"), [("full", "canary", "canary"), ("shadow", "full", "shadow"), ("canary", "shadow", "shadow")]
)
def test_the_lower_mode_holds(mode: Mode, highest: Mode, holds: Mode) -> None:
    """Nobody gets a higher mode than their own, nor than the agent's."""
    assert modes.effective(mode, Actor(key="a", name="A", max_mode=highest)) == holds


def test_a_person_with_a_lower_mode_is_judged_by_it() -> None:
    """In full mode a trainee still only reads and creates, and an observer runs nothing."""
    trainee = LEAD.model_copy(update={"max_mode": "canary"})
    observer = LEAD.model_copy(update={"max_mode": "shadow"})
    assert said(judged(effect(*UPDATE), actor=trainee)) == ["gate-mode"]
    assert judged(effect(*UPDATE), actor=observer) == PlanOnly()


@pytest.mark.req("S004-38")
@pytest.mark.parametrize("method", ["crm.deal.get", "crm.deal.update"])
def test_shadow_plans_what_would_not_be_refused(method: str) -> None:
    """Reads as well; the plan needs no record to be read, and a deletion is refused as ever."""
    params = {"id": 481, "fields": {"OPPORTUNITY": 5}} if method.endswith("update") else {"id": 481}
    assert judged(effect(method, params), mode="shadow", actor=ANNA, facts=Facts()) == PlanOnly()
    assert said(judged(effect("crm.deal.delete", {"id": 481}), mode="shadow")) == ["gate-delete"]
    assert said(judged(effect("crm.deal.get", {"id": 500}), mode="shadow", actor=ANNA)) == ["gate-not-yours"]


@pytest.mark.req("S004-28", "S004-68", "S004-74", "S004-A3", "S004-X1")
@pytest.mark.parametrize(
    ("method", "params", "codes"),
    [
        ("crm.deal.list", {}, []),
        ("event.get", {}, []),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, []),
        ("crm.deal.add", {"fields": {"OPPORTUNITY": 5}}, ["gate-add-sum"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "DEADLINE": "2026-12-01T10:00:00+03:00"}}, []),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481, "COMMENT": "x"}}, []),
        ("crm.activity.add", {"fields": {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "TYPE_ID": 2}}, []),
        ("crm.activity.add", {"fields": {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "TYPE_ID": 4}}, ["gate-mode"]),
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}, ["gate-mode"]),
        ("event.bind", {"event": "ONCRMDEALADD", "handler": "https://hooks.example.com/x"}, ["gate-mode"]),
        ("im.notify", {"USER_ID": 7, "MESSAGE": "x"}, ["gate-mode"]),
        ("batch", {"cmd": {"a": "crm.deal.list", "b": "crm.deal.add?fields[TITLE]=x"}}, []),
        ("batch", {"cmd": {"a": "crm.deal.list", "b": "crm.deal.update?id=481&fields[TITLE]=x"}}, ["gate-mode"]),
    ],
)
def test_canary(method: str, params: dict[str, Any], codes: list[str]) -> None:
    """Reads, safe creates, a batch of those, event.get; risky fields ask as in full."""
    assert said(judged(effect(method, params), mode="canary", policy=ALL_OPEN)) == codes


@pytest.mark.req("S004-29", "S004-X2")
@pytest.mark.parametrize(
    ("method", "fields", "codes"),
    [
        ("crm.deal.update", {"OPPORTUNITY": 1200000}, ["gate-critical"]),
        ("crm.deal.update", {"opportunity": 1200000}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": 1000000}, []),
        ("crm.deal.update", {"OPPORTUNITY": "1000000.00"}, []),
        ("crm.deal.update", {"OPPORTUNITY": "1 000 000"}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": "１００００００"}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": ""}, ["gate-critical"]),
        ("crm.deal.update", {"ASSIGNED_BY_ID": 7}, []),
        ("crm.deal.update", {"ASSIGNED_BY_ID": "8"}, ["gate-critical"]),
        ("crm.deal.update", {"STAGE_ID": "NEW"}, []),
        ("crm.deal.update", {"STAGE_ID": "WON"}, ["gate-critical"]),
        ("crm.deal.update", {"CATEGORY_ID": 0}, []),
        ("crm.deal.update", {"CLOSEDATE": "2026-12-25"}, []),
        ("crm.deal.update", {"CLOSEDATE": "2026-12-26"}, ["gate-critical"]),
        ("crm.deal.update", {"CLOSEDATE": "скоро"}, ["gate-critical"]),
        ("crm.deal.update", {"OPENED": True}, []),
        ("crm.deal.update", {"OPENED": "0"}, ["gate-critical"]),
        ("crm.deal.update", {"CONTACT_ID": 0}, []),
        ("crm.deal.update", {"CONTACT_ID": ""}, []),
        ("crm.deal.update", {"CONTACT_IDS": [43]}, ["gate-critical"]),
        ("crm.deal.update", {"PROBABILITY": None}, []),
        ("crm.deal.update", {"COMMENTS": "x", "TITLE": "y"}, []),
        ("crm.deal.update", {"OPPORTUNITY": {"a": 1}}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": 5, "STAGE_ID": "WON"}, ["gate-critical", "gate-critical"]),
        ("crm.item.update", {"opportunity": 1200000}, ["gate-critical"]),
        ("crm.item.update", {"stageId": "WON", "title": "x"}, ["gate-critical"]),
        ("crm.item.update", {"opportunity": 1000000, "assignedById": 7, "closedate": "2026-12-25T03:00:00+03:00"}, []),
        ("crm.contact.update", {"PHONE": [{"ID": "156", "VALUE": "+7900", "VALUE_TYPE": "WORK"}]}, []),
        ("crm.contact.update", {"PHONE": [{"ID": 156, "VALUE": "+7901"}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": [{"ID": 156}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": [{"ID": 156, "VALUE": "+7900", "DELETE": "Y"}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": [{"VALUE": "+7900"}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": ["+7900"]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": "+7900"}, ["gate-critical"]),
        ("crm.contact.update", {"EMAIL": [{"VALUE": "a@b.c"}]}, ["gate-critical"]),
        ("tasks.task.update", {"DEADLINE": "2026-12-01T07:00:00+00:00"}, []),
        ("tasks.task.update", {"DEADLINE": "2026-12-01T10:00:00"}, ["gate-critical"]),
        ("tasks.task.update", {"deadline": "2026-12-02T10:00:00+03:00"}, ["gate-critical"]),
        ("tasks.task.update", {"responsibleId": 8}, ["gate-critical"]),
        ("tasks.task.update", {"STATUS": 2}, []),
        ("tasks.task.update", {"DESCRIPTION": "x"}, []),
        ("crm.activity.update", {"COMPLETED": "Y"}, ["gate-critical"]),
        ("crm.activity.update", {"COMPLETED": "N", "SUBJECT": "x"}, []),
    ],
)
def test_a_critical_field_asks_when_its_value_really_changes(method: str, fields: dict[str, Any], codes: list[str]) -> None:
    """Both spellings, and a value that holds already asks nobody."""
    number = {"crm.contact.update": 43, "tasks.task.update": 8017, "crm.activity.update": 55}.get(method, 481)
    params = {"taskId" if method.startswith("tasks") else "id": number, "fields": fields}
    if method == "crm.item.update":
        params["entityTypeId"] = 2
    assert said(judged(effect(method, params))) == codes


@pytest.mark.req("S004-29")
@pytest.mark.parametrize(
    ("method", "params", "codes"),
    [
        ("tasks.task.delegate", {"taskId": 8017, "userId": 8}, ["gate-critical"]),
        ("tasks.task.delegate", {"taskId": 8017, "userId": 7}, []),
        ("tasks.task.complete", {"taskId": 8017}, ["gate-critical-action"]),
        ("tasks.task.start", {"taskId": 8017}, []),
        (
            "crm.activity.todo.updateDeadline",
            {"id": 55, "ownerTypeId": 2, "ownerId": 481, "value": "2026-12-02T10:00:00+03:00"},
            ["gate-critical"],
        ),
        ("crm.activity.todo.updateDeadline", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "value": "2026-12-01T10:00:00+03:00"}, []),
        ("crm.activity.todo.updateResponsibleUser", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "responsibleId": 8}, ["gate-critical"]),
        ("crm.deal.contact.items.set", {"id": 481, "items": [{"CONTACT_ID": 43}]}, ["gate-critical-action", "gate-critical"]),
        ("crm.deal.productrows.set", {"id": 481, "rows": [{"PRICE": 5}]}, ["gate-class-money", "gate-critical"]),
        ("crm.item.payment.pay", {"id": 5}, ["gate-class-money"]),
        ("im.notify", {"USER_ID": 7, "MESSAGE": "x"}, ["gate-class-outward"]),
        ("user.add", {"EMAIL": "a@b.c"}, ["gate-class-outward", "gate-class-config"]),
        ("crm.status.add", {"fields": {"NAME": "x"}}, ["gate-class-config"]),
        ("bizproc.workflow.start", {"TEMPLATE_ID": 1, "DOCUMENT_ID": ["crm"]}, ["gate-critical-action"]),
    ],
)
def test_other_ways_to_the_same_change_ask_too(method: str, params: dict[str, Any], codes: list[str]) -> None:
    """Delegating, moving a deadline, replacing rows, writing to people: each asks by its own rule."""
    assert said(judged(effect(method, params))) == codes


@pytest.mark.req("S004-X13")
@pytest.mark.parametrize(
    ("method", "params", "codes"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, []),
        ("crm.deal.add", {"fields": {"OPPORTUNITY": 0}}, []),
        ("crm.deal.add", {"fields": {"OPPORTUNITY": "100"}}, ["gate-add-sum"]),
        ("crm.deal.add", {"fields": {"opportunity": "сто"}}, ["gate-add-sum"]),
        ("crm.deal.add", {"fields": {"ASSIGNED_BY_ID": 6}}, []),
        ("crm.deal.add", {"fields": {"ASSIGNED_BY_ID": 8}}, ["gate-add-person"]),
        ("crm.deal.add", {"fields": {"STAGE_ID": "NEW"}}, []),
        ("crm.deal.add", {"fields": {"STAGE_ID": "WON"}}, ["gate-add-stage"]),
        ("crm.deal.add", {"fields": {"CATEGORY_ID": 1, "STAGE_ID": "C1:NEW"}}, []),
        ("crm.deal.add", {"fields": {"CATEGORY_ID": 1, "STAGE_ID": "NEW"}}, ["gate-add-stage"]),
        ("crm.deal.add", {"fields": {"CATEGORY_ID": 9, "STAGE_ID": "C9:NEW"}}, ["gate-add-stage"]),
        ("crm.deal.add", {"fields": {"CLOSEDATE": "2026-12-25", "STAGE_ID": "", "PROBABILITY": 50}}, []),
        ("crm.lead.add", {"fields": {"STATUS_ID": "NEW", "PHONE": [{"VALUE": "+7"}]}}, []),
        ("crm.lead.add", {"fields": {"STATUS_ID": "CONVERTED"}}, ["gate-add-stage"]),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"opportunity": 5, "assignedById": 8, "stageId": "WON"}},
         ["gate-add-sum", "gate-add-person", "gate-add-stage"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "DEADLINE": "2026-12-01T10:00:00+03:00"}}, []),
        ("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 8}}, ["gate-add-person"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "AUDITORS": [6, 8]}}, ["gate-add-person"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "ACCOMPLICES": {"0": 6}}}, []),
        ("tasks.task.add", {"fields": {"TITLE": "x", "CREATED_BY": 1}}, ["gate-add-person"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "STATUS": 5}}, ["gate-add-stage"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "STATUS": "2"}}, []),
        ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "x"}, []),
        ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "x", "responsibleId": 8}, ["gate-add-person"]),
        ("crm.item.productrow.add", {"fields": {"ownerId": 481, "ownerType": "D", "price": 5}}, ["gate-class-money", "gate-add-sum"]),
    ],
)  # fmt: skip
def test_a_new_record_asks_for_a_sum_a_person_or_a_stage(method: str, params: dict[str, Any], codes: list[str]) -> None:
    """And for nothing else: a task for oneself with a deadline just runs."""
    assert said(judged(effect(method, params))) == codes


def test_a_token_that_names_a_person_asks() -> None:
    """Without a speaker every person is another person."""
    assert said(judged(effect("crm.deal.add", {"fields": {"ASSIGNED_BY_ID": 7}}), actor=TOKEN)) == ["gate-add-person"]


@pytest.mark.req("S004-11", "S004-31", "S004-A1")
def test_the_models_own_word_never_confirms() -> None:
    """`confirmed: true` changes nothing; asking for a confirmation adds one; only a denial is honoured."""
    change = {"id": 481, "fields": {"OPPORTUNITY": 5}}
    assert said(judged(effect("crm.deal.update", change, confirmed=True, confirmation_decision="approve"))) == ["gate-critical"]
    assert said(judged(effect("crm.deal.get", {"id": 481}, requires_confirmation=True))) == ["gate-model-asks"]
    assert said(judged(effect(*UPDATE, requires_confirmation=False))) == []
    assert said(judged(effect(*UPDATE, confirmation_decision=" Deny "))) == ["gate-withdrawn"]


@pytest.mark.req("S004-37", "S004-73", "S004-76", "S004-X1")
@pytest.mark.parametrize(
    ("handler", "codes"),
    [
        ("https://hooks.example.com/in", ["gate-binding"]),
        ("https://HOOKS.example.com:8443/in?x=1", ["gate-binding"]),
        ("http://hooks.example.com/in", ["gate-handler"]),
        ("https://hooks.example.com.evil.io/in", ["gate-handler"]),
        ("https://evil.io/hooks.example.com", ["gate-handler"]),
        ("https://hooks.example.com@evil.io/", ["gate-handler"]),
        ("https://evil.io\\@hooks.example.com/", ["gate-handler"]),
        ("https://hооks.example.com/in", ["gate-handler"]),
        ("//hooks.example.com/in", ["gate-handler"]),
        ("https://sub.hooks.example.com/", ["gate-handler"]),
        ("https://hooks.example.com\n.evil.io/", ["gate-handler"]),
        (5, ["gate-handler"]),
    ],
)
def test_events_go_only_to_listed_hosts_and_always_ask(handler: Any, codes: list[str]) -> None:
    """A look-alike host is refused, a listed one asks, in a batch as well; unbinding asks too."""
    verdict = judged(effect("event.bind", {"event": "ONCRMDEALADD", "handler": handler}), policy=ALL_OPEN)
    assert said(verdict) == codes
    assert said(judged(effect("event.unbind", {"event": "ONCRMDEALADD", "handler": "https://gone.io/x"}))) == ["gate-binding"]
    if isinstance(handler, str) and handler.startswith("https://h") and handler.isascii() and "\n" not in handler:
        cmd = {"a": f"event.bind?event=ONCRMDEALADD&handler={handler.replace('?', '%3F').replace('=', '%3D')}"}
        assert said(judged(effect("batch", {"cmd": cmd}), policy=ALL_OPEN)) == codes


def test_other_handlers_of_the_portal_need_a_listed_host_too() -> None:
    """A placement or a bot that calls an address is a way out as well."""
    policy = Policy(open_methods=frozenset({"placement.bind", "imbot.register"}), event_handler_hosts=frozenset({"hooks.example.com"}))
    assert said(judged(effect("placement.bind", {"PLACEMENT": "X", "HANDLER": "https://evil.io"}), policy=policy)) == ["gate-handler"]
    assert said(judged(effect("placement.bind", {"HANDLER": "https://hooks.example.com"}), policy=policy)) == ["gate-class-config"]


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
        ("crm.requisite.list", {}, ANNA, ["gate-unscoped"]),
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
    ],
)  # fmt: skip
def test_a_batch_asks_when_one_command_asks(cmd: dict[str, str], codes: list[str]) -> None:
    """Each command by its own rules, the worst verdict wins."""
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
    assert isinstance(verdict, Refuse)
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
    assert isinstance(verdict, Ask)
    assert (verdict.taps, said(verdict)) == (2, ["gate-class-delete"])
    assert verdict.reasons[0].args["key"] == "a"


@pytest.mark.parametrize(
    ("policy", "what", "codes"),
    [
        (Policy(refuse_methods=frozenset({"CRM.Deal.Update "})), effect(*UPDATE), ["gate-policy-refuses"]),
        (Policy(refuse_methods=frozenset({"batch"})), effect("batch", {"cmd": {"a": "user.current"}}), ["gate-policy-refuses"]),
        (Policy(refuse_methods=frozenset({"user.current"})), effect("batch", {"cmd": {"a": "user.current"}}), ["gate-policy-refuses"]),
        (Policy(refuse_methods=frozenset({"crm.deal.delete"}), open_methods=frozenset({"crm.deal.delete"})),
         effect("crm.deal.delete", {"id": 481}), ["gate-policy-refuses"]),
        (Policy(ask_methods=frozenset({"crm.deal.get"})), effect("crm.deal.get", {"id": 481}), ["gate-policy-method"]),
        (Policy(ask_methods=frozenset({"batch"})), effect("batch", {"cmd": {"a": "user.current"}}), ["gate-policy-method"]),
        (Policy(ask_methods=frozenset({"user.current"})), effect("batch", {"cmd": {"a": "user.current"}}), ["gate-policy-method"]),
        (Policy(ask_people=frozenset({"lead"})), effect(*UPDATE), ["gate-policy-person"]),
        (Policy(ask_people=frozenset({"lead"})), effect("crm.deal.get", {"id": 481}), []),
        (Policy(ask_above=Decimal(999999)), effect(*UPDATE), ["gate-policy-amount"]),
        (Policy(ask_above=Decimal(1000000)), effect(*UPDATE), []),
        (Policy(ask_above=Decimal(1000000)), effect("crm.deal.add", {"fields": {"OPPORTUNITY": 2000000}}),
         ["gate-policy-amount", "gate-add-sum"]),
        (Policy(ask_above=Decimal(1)), effect("crm.deal.get", {"id": 481}), []),
        (Policy(critical_fields=frozenset({"UF_CRM_DISCOUNT"})),
         effect("crm.deal.update", {"id": 481, "fields": {"UF_CRM_DISCOUNT": 5}}), ["gate-critical"]),
        (Policy(critical_fields=frozenset({"UF_CRM_DISCOUNT"})),
         effect("crm.deal.add", {"fields": {"UF_CRM_DISCOUNT": 5}}), ["gate-critical"]),
        (Policy(critical_fields=frozenset({"UF_CRM_3_RATE"})),
         effect("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"ufCrm3Rate": 5}}), ["gate-critical"]),
        (Policy(), effect("crm.item.import", {"entityTypeId": 2, "fields": {"title": "x"}}), ["gate-closed"]),
        (Policy(open_methods=frozenset({"crm.item.import"})), effect("crm.item.import", {"entityTypeId": 2, "fields": {"opportunity": 5}}),
         ["gate-add-sum"]),
    ],
)  # fmt: skip
def test_the_policy(policy: Policy, what: Any, codes: list[str]) -> None:
    """What the owner wrote holds: refusals before openings, asks on top of the rest."""
    assert said(judged(what, policy=policy)) == codes


def test_above_the_limit_a_second_person_must_approve() -> None:
    """The verdict says so to whoever runs the queue."""
    policy = Policy(four_eyes_above=Decimal(500000))
    verdict = judged(effect(*UPDATE), policy=policy)
    assert isinstance(verdict, Ask)
    assert verdict.four_eyes
    assert said(verdict) == ["gate-four-eyes"]
    assert not judged(
        effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}}), policy=Policy(four_eyes_above=Decimal(10**7))
    ).four_eyes  # type: ignore[union-attr]


def test_a_denied_call_is_not_proposed_again_in_the_turn() -> None:
    """Later it is a new card that says when and by whom it was denied."""
    records = {("deal", 481): DEAL}
    now = Facts(records=records, denied_at="2026-11-21T15:00:00Z", denied_by="Анна", denied_in_turn=True)
    assert said(judged(effect(*UPDATE), facts=now)) == ["gate-denied-now"]
    later = Facts(records=records, denied_at="2026-11-21T15:00:00Z", denied_by="Анна")
    verdict = judged(effect(*UPDATE), facts=later)
    assert said(verdict) == ["gate-denied-before"]
    assert verdict.reasons[0].args == {"at": "2026-11-21T15:00:00Z", "by": "Анна"}  # type: ignore[union-attr]
    assert verdict.reasons  # type: ignore[union-attr]
    assert said(judged(effect(*UPDATE), facts=Facts(records=records, denied_at="x"))) == ["gate-denied-before"]


@pytest.mark.parametrize(
    ("what", "policy", "codes"),
    [
        (effect("insert_one", {"collection": "x"}, kind="mongo"), Policy(), ["gate-kind"]),
        (effect("insert_one", {"collection": "x"}, kind="mongo"), Policy(open_kinds=frozenset({"mongo"})), []),
        (effect("delete_one", {}, kind="mongo"), Policy(open_kinds=frozenset({"mongo"})), ["gate-kind"]),
        (effect("delete_one", {}, kind="mongo"), Policy(open_kinds=frozenset({"mongo"}), open_methods=frozenset({"mongo.delete_one"})),
         ["gate-class-delete"]),
        (effect("send_message", {"chat_id": 5}, kind="telegram"), Policy(open_kinds=frozenset({"telegram"})), ["gate-kind"]),
        (effect("send_message", {"chat_id": 5}, kind="telegram"),
         Policy(open_kinds=frozenset({"telegram"}), telegram_chats=frozenset({5})), ["gate-class-outward"]),
        (effect("post", {"url": "https://a.io/x"}, kind="http"), Policy(open_kinds=frozenset({"http"})), ["gate-kind"]),
        (effect("post", {"url": "https://a.io/x"}, kind="http"),
         Policy(open_kinds=frozenset({"http"}), http_hosts=frozenset({"A.io"})), ["gate-class-outward"]),
        (effect("flow", {"id": "x"}, kind="run"), Policy(open_kinds=frozenset({"run"})), []),
        (effect("scenario_run", {}, kind="schedule", provenance=Provenance(prose=True)), Policy(open_kinds=frozenset({"schedule"})), []),
    ],
)  # fmt: skip
def test_other_kinds_are_refused_unless_opened(what: Any, policy: Policy, codes: list[str]) -> None:
    """Telegram only to known chats, http only to listed hosts, deleting only when opened by name."""
    assert said(judged(what, policy=policy)) == codes


def test_a_record_that_was_not_read_counts_as_changed() -> None:
    """Without its present state every critical field asks."""
    what = effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1000000}})
    assert said(judged(what, facts=Facts())) == ["gate-critical"]


def test_new_members_of_a_checklist_are_people() -> None:
    """An item that names a colleague asks, a plain one does not."""
    params: dict[str, Any] = {"TASKID": 8017, "FIELDS": {"TITLE": "x"}}
    assert said(judged(effect("task.checklistitem.add", params))) == []
    params["FIELDS"]["MEMBERS"] = {"13": {"TYPE": "A"}}
    assert said(judged(effect("task.checklistitem.add", params))) == ["gate-add-person"]


def test_the_same_reason_is_given_once() -> None:
    """Two fields that are one to the person make one reason."""
    verdict = judged(effect("crm.activity.todo.update", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "deadline": "x", "responsibleId": 7}))
    assert said(verdict) == ["gate-critical"]
    assert verdict.reasons[0].args == {"field": "DEADLINE"}  # type: ignore[union-attr]


def test_facts_and_call_are_all_it_needs() -> None:
    """The same input gives the same verdict, whoever calls."""
    found = call(*UPDATE)
    facts = Facts(records={("deal", 481): RECORDS[("deal", 481)]}, first_stages=FIRST)
    once, again = (
        decide(found, mode="full", policy=Policy(), actor=LEAD, facts=facts, effect=effect(*UPDATE, provenance=NAMED)) for _ in range(2)
    )
    assert once == again == Allow()
