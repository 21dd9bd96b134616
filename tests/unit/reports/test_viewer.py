"""What a person may do alone, with a card, or not at all, and which cards and conversations are their own."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bitrix.catalogue.catalogue import load_catalogue
from orchestrator.domain.actor import Actor, Mode
from orchestrator.gate.call.policy import SHIPPED, Policy, load_policy
from orchestrator.gate.call.policy_format import Rule
from orchestrator.reports.cards import load_cards_page
from orchestrator.reports.policy_explain import Outcome, list_abilities
from orchestrator.reports.rehearsal.rehearse import Rules
from orchestrator.reports.viewer import Viewer
from tests.unit.spine_kit import ANNA, BORIS, World, a_world, message, raise_sum, reply

CATALOGUE = load_catalogue(SHIPPED.parent / "catalogue", [])
ASKER = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)


def judge(act: str, *, actor: Actor = ASKER, mode: Mode = "full", **policy: Any) -> Outcome:
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
    assert judge("rename-deal", actor=ASKER.model_copy(update={"max_mode": "shadow"})) == "planned"
    assert judge("rename-deal", ask_people=frozenset({"tg:1007"})) == "card"


@pytest.mark.req("C-22")
def test_every_usual_act_is_in_the_catalogue() -> None:
    """No act is silently left out because its method is misspelt."""
    from orchestrator.reports import policy_explain  # noqa: PLC0415 - its list is private

    assert all(CATALOGUE.find(asked.method) for asked in policy_explain._ACTS.values())


GROUP = "tg:-100200300"


async def list_cards(world: World, viewer: Viewer, state: str = "requested") -> list[str]:
    """The sessions of the cards that the viewer finds in the list."""
    page = await load_cards_page(world.store, viewer, session="", state=state, after=None, limit=10)
    return [card.session for card in page.cards]


@pytest.mark.req("C-10")
async def test_the_private_chat_is_the_persons_own(tmp_path: Path) -> None:
    """The session is the person's key itself, or begins with it and a colon; a longer number is somebody else."""
    async with a_world(tmp_path) as world:
        viewer = Viewer(actor=ANNA, deps=world.gate.deps)
        assert viewer.is_own("tg:1007")
        assert viewer.is_own("tg:1007:5")
        assert not viewer.is_own("tg:10071")
        assert viewer.may_see_session("tg:1007")
        assert not viewer.may_see_session("tg:1008")


@pytest.mark.req("C-10")
@pytest.mark.parametrize("key", ["tg:1007", GROUP])
async def test_people_see_the_cards_that_they_asked_for(tmp_path: Path, key: str) -> None:
    """In the private chat as in a group, waiting and decided; another manager who reads the same group sees none of them."""
    async with a_world(tmp_path) as world:
        world.model.will(reply(raise_sum()))
        await world.work(message("подними сумму сделки 481", key=key))
        mine, theirs = (Viewer(actor=who, deps=world.gate.deps) for who in (ANNA, BORIS))

        for state in ("requested", "any"):
            assert await list_cards(world, mine, state) == [key]
            assert await list_cards(world, theirs, state) == []
