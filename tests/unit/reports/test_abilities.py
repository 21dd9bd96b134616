"""What a person may do alone, with a card, or not at all, as the policy decides it."""

from decimal import Decimal
from typing import Any

import pytest

from bitrix.catalogue.catalogue import load_catalogue
from orchestrator.domain.actor import Actor, Mode
from orchestrator.gate.call.policy import SHIPPED, Policy, load_policy
from orchestrator.gate.call.policy_format import Rule
from orchestrator.reports.policy_explain import Outcome, list_abilities
from orchestrator.reports.rehearsal.rehearse import Rules

CATALOGUE = load_catalogue(SHIPPED.parent / "catalogue", [])
ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)


def judge(act: str, *, actor: Actor = ANNA, mode: Mode = "full", **policy: Any) -> Outcome:
    changed: Policy = load_policy(None).model_copy(update=policy)
    rules = Rules(catalogue=CATALOGUE, policy=changed, mode=mode, person=lambda _: None)
    [found] = [one.outcome for one in list_abilities(actor, rules) if one.act == act]
    return found


@pytest.mark.req("C-22")
def test_a_rename_runs_alone_a_sum_asks_and_a_deletion_is_refused() -> None:
    """Under the shipped policy a manager does the harmless alone, money with a card, and deletes nothing."""
    assert (judge("rename-deal"), judge("sum-deal"), judge("delete-deal")) == ("alone", "card", "refused")


@pytest.mark.req("C-22")
def test_the_policy_and_the_mode_change_what_a_person_may_do() -> None:
    """Rules for leads, opened methods and the shadow mode are all seen in the answer."""
    dear = Rule(entity=("deal",), above=Decimal(2_000_000), role=("manager",), then="lead", why="Дороже 2 млн")
    assert judge("sum-deal-large", rules=(dear,)) == "lead"
    assert judge("sum-deal", rules=(dear,)) == "card"
    assert judge("delete-deal", open_methods=frozenset({"crm.deal.delete"})) == "card"
    assert judge("rename-deal", mode="shadow") == "planned"
    assert judge("rename-deal", actor=ANNA.model_copy(update={"max_mode": "shadow"})) == "planned"
    assert judge("rename-deal", ask_people=frozenset({"tg:1007"})) == "card"


@pytest.mark.req("C-22")
def test_every_usual_act_is_in_the_catalogue() -> None:
    """No act is silently left out because its method is misspelt."""
    from orchestrator.reports import policy_explain  # noqa: PLC0415 - its list is private

    assert all(CATALOGUE.find(asked.method) for asked in policy_explain._ACTS.values())
