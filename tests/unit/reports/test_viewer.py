"""Which cards and conversations a person of Telegram sees as their own."""

from pathlib import Path

import pytest

from orchestrator.reports.cards import load_cards_page
from orchestrator.reports.viewer import Viewer
from tests.unit.spine_kit import ANNA, BORIS, World, a_world, message, raise_sum, reply

GROUP = "tg:-100200300"

pytestmark = pytest.mark.req("C-10")


async def list_cards(world: World, viewer: Viewer, state: str = "requested") -> list[str]:
    """The sessions of the cards that the viewer finds in the list."""
    page = await load_cards_page(world.store, viewer, session="", state=state, after=None, limit=10)
    return [card.session for card in page.cards]


async def test_the_private_chat_is_the_persons_own(tmp_path: Path) -> None:
    """The session is the person's key itself, or begins with it and a colon; a longer number is somebody else."""
    async with a_world(tmp_path) as world:
        viewer = Viewer(actor=ANNA, deps=world.gate.deps)
        assert viewer.is_own("tg:1007")
        assert viewer.is_own("tg:1007:5")
        assert not viewer.is_own("tg:10071")
        assert viewer.may_see_session("tg:1007")
        assert not viewer.may_see_session("tg:1008")


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
