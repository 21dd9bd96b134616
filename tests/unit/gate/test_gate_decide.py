"""The decision, rule by rule: modes, events, the policy, what is refused."""

from decimal import Decimal
from typing import Any

import pytest

from orchestrator.domain.actor import MODES, Actor, Mode
from orchestrator.domain.effect import Provenance
from orchestrator.gate.call import modes
from orchestrator.gate.call.effect import Allow, Ask, Facts, PlanOnly, Refuse
from orchestrator.gate.call.policy import OpenedParty, Policy
from orchestrator.gate.decide.decide import decide
from tests.unit.gate.gate_kit import ANNA, DEAL, FIRST, LEAD, NAMED, RECORDS, call, catalogue, effect, judged, made, minimal, said

UPDATE = ("crm.deal.update", {"id": 481, "fields": {"TITLE": "Новое"}})
ALL_OPEN = Policy(open_methods=frozenset(method.name for method in catalogue()), event_handler_hosts=frozenset({"hooks.example.com"}))


@pytest.mark.slow
@pytest.mark.req("S004-8", "S004-28", "S004-38")
@pytest.mark.parametrize("policy", [Policy(), ALL_OPEN], ids=["shipped", "all open"])
@pytest.mark.parametrize("mode", MODES)
def test_no_row_runs_by_itself_that_should_not(policy: Policy, mode: Mode) -> None:
    """Whole catalogue × three modes: D, C, M and N never just run, shadow runs nothing, canary reads and creates only."""
    for method in catalogue():
        what = effect(method.name, minimal(method))
        found = made(what)
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
    assert modes.resolve_mode(mode, Actor(key="a", name="A", max_mode=highest)) == holds


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
        (Policy(refuse_methods=frozenset({"crm.lead.update"})), effect(*UPDATE), []),
        (Policy(ask_methods=frozenset({"crm.lead.update"})), effect(*UPDATE), []),
        (Policy(refuse_methods=frozenset({"crm.lead.add"}), ask_methods=frozenset({"crm.lead.update"})),
         effect("batch", {"cmd": {"a": "user.current"}}), []),
        (Policy(ask_people=frozenset({"lead"})), effect(*UPDATE), ["gate-policy-person"]),
        (Policy(ask_people=frozenset({"anna"})), effect(*UPDATE), []),
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
    assert verdict.four_eyes
    assert said(verdict) == ["gate-four-eyes"]
    assert not judged(
        effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}}), policy=Policy(four_eyes_above=Decimal(10**7))
    ).four_eyes  # type: ignore[union-attr]


def test_a_batch_that_writes_the_same_twice_asks() -> None:
    """Of two equal comments or leads a person says whether both are meant; reads may repeat, and different writes are none."""
    comment = "crm.timeline.comment.add?fields[ENTITY_ID]=481&fields[ENTITY_TYPE]=deal&fields[COMMENT]="
    facts = Facts(records={("deal", 481): DEAL})
    twice = judged(effect("batch", {"cmd": {"a": comment + "x", "b": comment + "x", "c": comment + "x"}}), facts=facts)
    assert said(twice) == ["gate-batch-twice"]
    assert twice.reasons[0].args == {"count": 2}  # type: ignore[union-attr]
    assert said(judged(effect("batch", {"cmd": {"a": comment + "x", "b": comment + "y"}}), facts=facts)) == []
    assert said(judged(effect("batch", {"cmd": {"a": "crm.deal.list", "b": "crm.deal.list"}}), facts=facts)) == []


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


MONGO = Policy(open_kinds=frozenset({"mongo"}), mongo_collections={"x": OpenedParty()})
FIND: dict[str, Any] = {"collection": "x", "query": {"a": 1}}
INSERT: dict[str, Any] = {"collection": "x", "document": {"a": 1}}
UPDATE_MANY: dict[str, Any] = {**FIND, "update": {"$set": {"a": 2}}}


@pytest.mark.parametrize(
    ("what", "policy", "codes"),
    [
        (effect("insert_one", INSERT, kind="mongo"), Policy(), ["gate-kind"]),
        (effect("insert_one", INSERT, kind="mongo"), Policy(open_kinds=frozenset({"mongo"})), ["gate-mongo-collection"]),
        (effect("mongo.insert_one", INSERT, kind="mongo"), MONGO, []),
        (effect("find_many", {"collection": "x"}, kind="mongo"), MONGO, []),
        (effect("find_many", {"collection": "X"}, kind="mongo"), MONGO, ["gate-mongo-collection"]),
        (effect("insert_one", {**INSERT, "upsert": True}, kind="mongo"), MONGO, ["gate-kind-params"]),
        (effect("update_many", UPDATE_MANY, kind="mongo"), MONGO, ["gate-mongo-many"]),
        (effect("delete_one", FIND, kind="mongo"), MONGO, ["gate-delete"]),
        (effect("delete_one", FIND, kind="mongo"), MONGO.model_copy(update={"open_methods": frozenset({"mongo.delete_one"})}),
         ["gate-class-delete"]),
        (effect("find_one", FIND, kind="mongo", provenance=Provenance(message=None, keys=frozenset({"$ne"}))), MONGO, ["gate-mongo-operator"]),
        (effect("find_one", FIND, kind="mongo", provenance=Provenance(message=None, keys=frozenset({"name"}), prose=True)), MONGO, []),
        (effect("insert_one", INSERT, kind="mongo", provenance=Provenance(message=None, prose=True)), MONGO, ["gate-taint-prose"]),
        (effect("send_message", {"chat_id": 5, "text": "x"}, kind="telegram"), Policy(), ["gate-kind"]),
        (effect("send_message", {"chat_id": 5, "text": "x"}, kind="telegram"), Policy(open_kinds=frozenset({"telegram"})),
         ["gate-class-outward"]),
        (effect("file.read", {"path": "../x"}, kind="file"), Policy(open_kinds=frozenset({"file"})), ["gate-file-path-outside"]),
        (effect("file.read", {"path": "x"}, kind="file"), Policy(open_kinds=frozenset({"file"})), []),
        (effect("file.delete", {"path": "x"}, kind="file"), Policy(open_kinds=frozenset({"file"})), ["gate-delete"]),
        (effect("post", {"url": "https://a.io/x"}, kind="http"), Policy(open_kinds=frozenset({"http"})), ["gate-http-host"]),
        (effect("post", {"url": "https://a.io/x"}, kind="http"),
         Policy(open_kinds=frozenset({"http"}), http_hosts={"A.io": OpenedParty()}), ["gate-http-outward"]),
    ],
)  # fmt: skip
def test_other_kinds_are_refused_unless_opened(what: Any, policy: Policy, codes: list[str]) -> None:
    """Telegram only to known chats, http only to listed hosts, deleting only when opened by name."""
    assert said(judged(what, policy=policy)) == codes


def test_facts_and_call_are_all_it_needs() -> None:
    """The same input gives the same verdict, whoever calls."""
    found = call(*UPDATE)
    facts = Facts(records={("deal", 481): RECORDS[("deal", 481)]}, first_stages=FIRST)
    once, again = (
        decide(found, mode="full", policy=Policy(), actor=LEAD, facts=facts, effect=effect(*UPDATE, provenance=NAMED)) for _ in range(2)
    )
    assert once == again == Allow()
