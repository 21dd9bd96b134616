"""The verdict is about the call that is sent: what the gate itself changed in a call is judged again, in its final form."""

from typing import Any

import pytest

from orchestrator.domain.effect import Effect
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, Refuse
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.decide import decide
from tests.unit.gate.gate_kit import FIRST, LEAD, RECORDS, effect, made, said

FACTS = Facts(records=RECORDS, first_stages=FIRST)
PHONES_ASK = Policy(critical_fields=frozenset({"PHONE"}))
SAME_PHONE = "crm.contact.update?id=43&fields[PHONE][0][VALUE]=%2B79005556677"


def judge_both(what: Effect, policy: Policy) -> tuple[list[str], Call, Any]:
    """What is said of the call as it was proposed, its final form, and the verdict."""
    proposed = made(what)
    assert isinstance(proposed, Call)
    asked: dict[str, Any] = {"mode": "full", "policy": policy, "actor": LEAD, "facts": FACTS, "effect": what}
    fine, verdict = decide.evaluate(proposed, **asked)
    assert fine is not proposed
    return said(decide.decide(proposed, **asked)), fine, verdict


def test_a_field_that_is_left_out_since_it_holds_already_asks_nobody() -> None:
    """The contact has the phone: only the name is written, which needs no card."""
    fields = {"PHONE": [{"VALUE": "+7900"}], "NAME": "Пётр"}
    before, fine, verdict = judge_both(effect("crm.contact.update", {"id": 43, "fields": fields}), PHONES_ASK)
    assert before == ["gate-critical"]
    assert fine.params["fields"] == {"NAME": "Пётр"}
    assert isinstance(verdict, Allow)


def test_a_command_that_is_left_out_repeats_nothing() -> None:
    """Of two commands that add the same phone one is sent: the card does not warn of two."""
    before, fine, verdict = judge_both(effect("batch", {"cmd": {"a": SAME_PHONE, "b": SAME_PHONE}}), PHONES_ASK)
    assert before == ["gate-batch-twice", "gate-critical", "gate-critical"]
    assert [leaf.key for leaf in fine.leaves] == ["a"]
    assert said(verdict) == ["gate-critical"]


@pytest.mark.parametrize(
    ("fields", "policy", "shape", "codes"),
    [
        ({"PHONE": [{"VALUE": "+79005556677"}]}, PHONES_ASK, Ask, ["gate-critical"]),
        ({"PHONE": [{"VALUE": "+79005556677"}]}, Policy.model_validate({"rules": [{"field": "PHONE", "then": "refuse", "why": "нет"}]}),
         Refuse, ["gate-rule-refuses"]),
    ],
)  # fmt: skip
def test_what_is_added_to_a_call_is_not_covered_by_the_verdict_before(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], policy: Policy, shape: type, codes: list[str]
) -> None:
    """A step of the gate that made a harmless call do more could not send it unasked, nor past a rule of the owner's."""
    more = made(effect("crm.contact.update", {"id": 43, "fields": {"NAME": "Пётр", **fields}}))
    monkeypatch.setattr(decide, "merge_multifields", lambda _call, _facts: more)
    before, fine, verdict = judge_both(effect("crm.contact.update", {"id": 43, "fields": {"NAME": "Пётр"}}), policy)
    assert before == []
    assert fine is more
    assert isinstance(verdict, shape)
    assert said(verdict) == codes
