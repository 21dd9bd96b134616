"""The owner's rules, caps and sums that jump: what they demand, and that nothing can take it back."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.actor import Actor, Mode
from orchestrator.gate.call.effect import Allow, Ask, Facts, PlanOnly, Refuse, Verdict
from orchestrator.gate.call.policy import Caps, Policy
from orchestrator.gate.decide.evaluate_rules import find_jumps
from tests.unit.gate.gate_kit import ANNA, FIRST, LEAD, RECORDS, call, effect, judged, said

SUM = "crm.deal.update"


def change(amount: Any, method: str = SUM) -> Any:
    fields = {"opportunity": amount} if method == "crm.item.update" else {"OPPORTUNITY": amount}
    return effect(
        method, {"entityTypeId": 2, "id": 481, "fields": fields} if method == "crm.item.update" else {"id": 481, "fields": fields}
    )


def ruled(*rules: dict[str, Any], **more: Any) -> Policy:
    return Policy.model_validate({"rules": [{"why": f"правило {number}", **rule} for number, rule in enumerate(rules)], **more})


@pytest.mark.parametrize(
    ("rule", "amount", "applies"),
    [
        ({"entity": "deal", "field": "OPPORTUNITY", "above": 2_000_000}, 2_500_000, True),
        ({"entity": "deal", "field": "OPPORTUNITY", "above": 2_500_000}, 2_500_000, False),
        ({"entity": "deal", "field": "OPPORTUNITY", "above": 900_000}, 5, True),  # a million stands on the record
        ({"entity": "deal", "field": "STAGE_ID", "above": 1}, 2_500_000, False),
        ({"entity": "lead", "above": 1}, 2_500_000, False),
        ({"method": "CRM.Deal.*"}, 5, True),
        ({"method": "crm.lead.*"}, 5, False),
        ({"times": 10}, 10_000_000, True),
        ({"times": 10}, 9_999_999, False),
        ({"times": 10}, 100_000, True),
        ({"times": 10}, 100_001, False),
        ({"times": 10}, 0, True),
        ({"times": 10}, "", True),
        ({"times": 10, "field": "OPPORTUNITY"}, -10_000_000, True),
        ({"person": "ANNA"}, 5, True),
        ({"person": "tg:1"}, 5, False),
        ({"role": "manager"}, 5, True),
        ({"role": ["lead", "admin"]}, 5, False),
        ({"mode": "full"}, 5, True),
        ({"mode": "canary"}, 5, False),
        ({"entity": "deal", "above": 10**9}, "much", True),  # what cannot be read is above every limit
        ({"field": "OPPORTUNITY"}, "1000000", False),  # holds already: nothing changes
    ],
)
def test_a_rule_applies_when_all_that_it_names_holds(rule: dict[str, Any], amount: Any, *, applies: bool) -> None:
    """By method, kind of record, field, sum, jump, person, role and mode."""
    verdict = judged(change(amount), actor=ANNA, policy=ruled({**rule, "then": "two_people"}))
    assert bool(getattr(verdict, "four_eyes", False)) is applies
    assert ("gate-rule" in said(verdict)) is applies


@pytest.mark.parametrize(
    ("then", "shape"),
    [("ask", (1, False, False)), ("ask_twice", (2, False, False)), ("lead", (1, False, True)), ("two_people", (1, True, True))],
)
def test_what_a_rule_demands(then: str, shape: tuple[int, bool, bool]) -> None:
    """The card says the owner's sentence, whatever else it asks for."""
    verdict = judged(change(1_200_000), actor=ANNA, policy=ruled({"entity": "deal", "then": then}))
    assert (verdict.taps, verdict.four_eyes, verdict.lead) == shape
    assert [reason.args for reason in verdict.reasons if reason.code == "gate-rule"] == [{"why": "правило 0"}]


def test_a_refusing_rule_says_its_sentence_in_every_mode_but_never_before_rights() -> None:
    """Nobody learns from a rule about sums that a record of others is worth more than the limit."""
    policy = ruled({"entity": "deal", "above": 10, "then": "refuse"})
    for mode in ("full", "shadow"):
        verdict = judged(change(1_200_000), actor=ANNA, policy=policy, mode=mode)
        assert (verdict.reason.code, verdict.reason.args) == ("gate-rule-refuses", {"why": "правило 0"})
    foreign = judged(effect(SUM, {"id": 500, "fields": {"OPPORTUNITY": 1}}), actor=ANNA, policy=policy)
    assert said(foreign) == ["gate-not-yours"]


def test_all_rules_apply_and_the_strictest_wins() -> None:
    """Their order means nothing."""
    rules = [{"entity": "deal", "then": then} for then in ("ask", "two_people", "ask_twice", "lead")]
    for policy in (ruled(*rules), ruled(*reversed(rules))):
        verdict = judged(change(1_200_000), actor=ANNA, policy=policy)
        assert (verdict.taps, verdict.four_eyes, verdict.lead) == (2, True, True)
        assert said(verdict).count("gate-rule") == 4


@pytest.mark.parametrize("method", [SUM, "crm.item.update"])
def test_the_other_family_of_methods_is_no_way_around(method: str) -> None:
    """A rule about crm.deal.update holds for a deal that is changed through crm.item.update."""
    assert isinstance(judged(change(5, method), actor=LEAD, policy=ruled({"method": SUM, "then": "refuse"})), Refuse)


def test_a_batch_is_as_strict_as_its_strictest_command() -> None:
    """A command cannot hide in company."""
    what = effect("batch", {"cmd": {"a": "user.current", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=3000000"}})
    facts = Facts(records={("deal", 481): RECORDS["deal", 481]}, first_stages=FIRST)
    asked = judged(what, actor=ANNA, policy=ruled({"above": 2_000_000, "then": "lead"}), facts=facts)
    assert asked.lead
    refused = judged(what, actor=ANNA, policy=ruled({"above": 2_000_000, "then": "refuse"}), facts=facts)
    assert refused.reason.args["why"] == "правило 0"


def test_reads_are_concerned_only_by_rules_that_name_their_method() -> None:
    """A rule about people or records is about changes."""
    read = effect("crm.deal.get", {"id": 481})
    assert judged(read, actor=ANNA, policy=ruled({"role": "manager", "then": "refuse"}, {"entity": "deal", "then": "refuse"})) == Allow()
    assert said(judged(read, actor=ANNA, policy=ruled({"method": "crm.deal.get", "then": "ask"}))) == ["gate-rule"]


@pytest.mark.parametrize(
    ("amount", "code", "times"),
    [
        (10_000_000, "gate-sum-jump", 10),
        (150_000_000, "gate-sum-jump", 150),
        (100_000, "gate-sum-jump", 10),
        (0, "gate-sum-lost", None),
        (9_000_000, "", None),
        (200_000, "", None),
    ],
)
def test_a_sum_that_jumps_is_asked_about_twice(amount: int, code: str, times: int | None) -> None:
    """Ten times as much or a tenth, in words a person can check."""
    verdict = judged(change(amount), actor=ANNA, policy=Policy(sum_jump=10))
    assert verdict.taps == (2 if code else 1)
    found = [reason for reason in verdict.reasons if reason.code.startswith("gate-sum")]
    assert [(reason.code, reason.args.get("times")) for reason in found] == ([(code, times)] if code else [])
    assert all(reason.args["before"] == "1 000 000" for reason in found)


def test_a_sum_of_nothing_cannot_jump() -> None:
    """A new deal without a sum gets its first one with one tap."""
    record = {**(RECORDS["deal", 481] or {}), "OPPORTUNITY": "0.00"}
    facts = Facts(records={("deal", 481): record})
    assert list(find_jumps(call(SUM, {"id": 481, "fields": {"OPPORTUNITY": 5_000_000}}), facts, 10)) == []


@pytest.mark.parametrize(
    ("caps", "written", "code"),
    [
        (Caps(writes_per_day=3), 2, ""),
        (Caps(writes_per_day=3), 3, "gate-cap-day"),
        (Caps(writes_per_day=0), 0, "gate-cap-day"),
        (Caps(), 10**6, ""),
    ],
)
def test_at_the_cap_a_change_is_refused_and_a_read_is_not(caps: Caps, written: int, code: str) -> None:
    """However it was asked for."""
    facts = Facts(records={("deal", 481): RECORDS["deal", 481]}, written=written)
    verdict = judged(change(1_200_000), actor=ANNA, policy=Policy(caps=caps), facts=facts)
    assert (said(verdict) if isinstance(verdict, Refuse) else []) == ([code] if code else [])
    read = judged(effect("crm.deal.get", {"id": 481}), actor=ANNA, policy=Policy(caps=caps), facts=facts)
    assert read == Allow()


def test_a_batch_above_the_cap_is_refused_and_counts_whole() -> None:
    """Reads in it are no changes."""
    cmd = {f"c{number}": f"tasks.task.add?fields[TITLE]=t{number}" for number in range(4)} | {"r": "user.current"}
    what = effect("batch", {"cmd": cmd})
    assert said(judged(what, policy=Policy(caps=Caps(records_per_batch=3)))) == ["gate-cap-batch"]
    assert not isinstance(judged(what, policy=Policy(caps=Caps(records_per_batch=4))), Refuse)
    day = judged(what, policy=Policy(caps=Caps(writes_per_day=5)), facts=Facts(written=2))
    assert day.reason.args == {"count": 4, "made": 2, "limit": 5}


def rank(verdict: Verdict) -> tuple[int, int, bool, bool]:
    """How strict a verdict is; in no part may another rule make it less."""
    match verdict:
        case Refuse():
            return 3, 9, True, True
        case Ask():
            return 2, verdict.taps, verdict.lead, verdict.four_eyes
        case Allow():
            return 1, 0, False, False
        case PlanOnly():
            return 2, 0, False, False


some_rules = st.lists(
    st.fixed_dictionaries(
        {"then": st.sampled_from(["ask", "ask_twice", "lead", "two_people", "refuse"]), "role": st.sampled_from(["manager", "lead"])},
        optional={
            "method": st.sampled_from([SUM, "crm.*", "tasks.task.add", "batch"]),
            "entity": st.sampled_from(["deal", "task", "item:*"]),
            "field": st.sampled_from(["OPPORTUNITY", "TITLE", "STAGE_ID"]),
            "above": st.sampled_from([0, 1, 1_000_000, 10**9]),
            "times": st.sampled_from([2, 10]),
            "mode": st.sampled_from(["canary", "full", "shadow"]),
            "person": st.sampled_from(["anna", "lead"]),
        },
    ),
    max_size=4,
)
some_calls = st.sampled_from(
    [
        change(5),
        change(10_000_000),
        change("many"),
        effect(SUM, {"id": 500, "fields": {"TITLE": "x"}}),
        effect("crm.deal.get", {"id": 481}),
        effect("crm.deal.delete", {"id": 481}),
        effect("tasks.task.add", {"fields": {"TITLE": "Позвонить"}}),
        effect("batch", {"cmd": {"a": "tasks.task.add?fields[TITLE]=A", "b": "crm.deal.update?id=481&fields[OPPORTUNITY]=7"}}),
        effect("batch", {"cmd": {"a": "crm.deal.add?fields[TITLE]=A", "b": "crm.deal.update?id=$result[a]&fields[OPPORTUNITY]=7"}}),
    ]
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    some_rules,
    some_rules,
    st.integers(0, 4),
    some_calls,
    st.sampled_from([ANNA, LEAD]),
    st.sampled_from(["shadow", "canary", "full"]),
    st.sampled_from([None, 2, 10]),
)
def test_another_rule_never_makes_a_verdict_milder(
    known: list[dict[str, Any]], added: list[dict[str, Any]], place: int, what: Any, actor: Actor, mode: Mode, jump: int | None
) -> None:
    """Wherever it is put, whatever it says: a refusal stays one, a second tap, a lead and a second person stay demanded."""
    fewer, more = ruled(*known), ruled(*known[:place], *added, *known[place:], sum_jump=jump)
    before, after = judged(what, actor=actor, mode=mode, policy=fewer), judged(what, actor=actor, mode=mode, policy=more)
    assert all(one <= other for one, other in zip(rank(before), rank(after), strict=True)), (before, after)


@settings(max_examples=60, deadline=None)
@given(
    rules=some_rules,
    what=some_calls,
    actor=st.sampled_from([ANNA, LEAD]),
    confirmed=st.booleans(),
    decision=st.sampled_from([None, "confirm", "approve", "yes"]),
    comment=st.text(max_size=20),
)
def test_nothing_that_the_model_writes_lowers_what_a_rule_demands(
    rules: list[dict[str, Any]], what: Any, actor: Actor, *, confirmed: bool, decision: str | None, comment: str
) -> None:
    """Claims, decisions and comments beside a call change nothing of it."""
    policy = ruled(*rules, sum_jump=10)
    plain = judged(what, actor=actor, policy=policy)
    claimed = what.model_copy(update={"confirmed": confirmed, "confirmation_decision": decision, "comment": comment})
    assert rank(judged(claimed, actor=actor, policy=policy)) >= rank(plain)


def test_sums_of_unread_records_count_as_above() -> None:
    """The record that only the answer of another command names could be worth anything."""
    what = effect("batch", {"cmd": {"a": "crm.deal.list", "b": "crm.deal.update?id=$result[a][0][ID]&fields[TITLE]=x"}})
    verdict = judged(what, policy=ruled({"above": 10**9, "then": "lead"}), facts=Facts())
    assert verdict.lead
