"""A card that an earlier version of the program drew is run only if everything stood on it; else it is asked anew."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.domain.card_view import FORM
from orchestrator.sessions.session import Session
from state.model.card import Card
from tests.unit.gate.submit_kit import SUM, decide, yes
from tests.unit.spine_kit import World, card, effect

LONG = ("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "а" * 300, "OPPORTUNITY": 1_200_000}})


def draw_as_before(session: Session, entry: Card, *, longest: int = 200, **more: Any) -> Card:
    """Give the open card a preview as the earlier version stored it: without the number of its form, its values cut."""

    def cut(line: Mapping[str, str]) -> dict[str, str]:
        return {name: f"{text[:longest]} … (ещё {len(text) - longest} зн.)" if len(text) > longest else text for name, text in line.items()}

    kept = {name: value for name, value in entry.preview.items() if name != "form"}
    old = entry.with_values(preview={**kept, "lines": [cut(line) for line in kept["lines"]], **more})
    session.state.agent.confirmations[entry.confirmation_id] = old
    return old


@pytest.mark.req("S004-31", "G2")
async def test_a_card_with_cut_values_is_asked_anew(world: World, session: Session) -> None:
    """Failed before: the press sent 300 characters of which 200 stood on the card. The new card has all of them, and its press counts."""
    entry = draw_as_before(session, await world.asked(session, effect(*LONG)))
    decided = await decide(world, session, yes(entry))
    assert decided.replaced_by is not None
    assert world.portal.ledger == []
    new = card(session, decided.replaced_by.confirmation_id)
    assert new.reasons[0]["code"] == "drawn-anew"
    assert new.preview["form"] == FORM
    assert "а" * 300 in [line["after"] for line in new.preview["lines"]]
    assert (card(session, entry.confirmation_id).status, card(session, entry.confirmation_id).why) == ("superseded", "drawn-anew")
    done = await decide(world, session, yes(new))
    assert done.outcome.status == "succeeded"


async def test_nobody_is_asked_anew_about_a_card_that_said_everything(world: World, session: Session) -> None:
    """A card of the earlier version on which the same stands as on one drawn now runs with its press."""
    entry = draw_as_before(session, await world.asked(session, effect(*SUM)))
    decided = await decide(world, session, yes(entry))
    assert decided.outcome.status == "succeeded"


@pytest.mark.parametrize("change", [{"verb": "delete"}, {"entity": "task"}, {"title": "Ромаш"}, {"lines": []}, {"items": [{}]}])
async def test_a_card_that_named_another_act_is_asked_anew(world: World, session: Session, change: dict[str, Any]) -> None:
    """The heading of an old card may have been wrong: consent to it is no consent to what would be sent."""
    entry = draw_as_before(session, await world.asked(session, effect(*SUM)), **change)
    assert (await decide(world, session, yes(entry))).replaced_by is not None
    assert world.portal.ledger == []


async def test_a_card_over_another_door_is_asked_anew_too(world: World, session: Session) -> None:
    """The terminal and the API show every value that the preview has: of a cut one they show the cut."""
    entry = draw_as_before(session, await world.asked(session, effect(*LONG)))
    assert (await decide(world, session, yes(entry, saw_all=True))).replaced_by is not None
