"""The beginning of a prompt is built once, and every change of what it is made of is in the next prompt."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from engines.crm_agent.core.engine import CrmAgent
from engines.crm_agent.core.prompt import MOST_HEADS, PromptHeads
from orchestrator.domain.actor import Mode
from orchestrator.engines.base import TurnContext
from tests.unit.engines.crm_agent.engine_kit import ANNA, Fake, reply

OFFER = {"kind": "flow", "name": "plan", "title": "План", "does": "Пишет план", "words": ["begin", "x"]}


class _Company:
    """An installation whose rules, portal and definitions change while the agent runs."""

    def __init__(self) -> None:
        self.mode: Mode = "full"
        self.actor = ANNA
        self.methods, self.card = "- crm.deal.get: reads", "# Portal\nFunnels: none"
        self.offered: Sequence[Mapping[str, Any]] = (OFFER,)
        self.agent = CrmAgent(
            constitution="CONSTITUTION",
            protocol="PROTOCOL",
            methods=lambda _mode, sees_all: f"{self.methods}{', for who sees all' if sees_all else ''}",
        )

    async def list_head(self) -> list[Mapping[str, str]]:
        """The messages of a turn's prompt before the state."""
        company = self

        class _Turn(Fake):
            async def query(self, name: str, **args: Any) -> Any:
                return company.offered if name == "startable" else await super().query(name, **args)

        ctx = _Turn(reply(), mode=self.mode, actor=self.actor, card=self.card)
        await self.agent.run(cast("TurnContext", ctx))
        messages = ctx.requests[0].messages
        return list(messages[: next(number for number, one in enumerate(messages) if one["content"].startswith("STATE "))])


def _set(**values: Any) -> Callable[[_Company], None]:
    def change(company: _Company) -> None:
        for name, value in values.items():
            setattr(company, name, value)

    return change


CHANGES: dict[str, tuple[Callable[[_Company], None], str]] = {
    "the mode": (_set(mode="canary"), "Mode: canary"),
    "the policy": (_set(methods="- crm.lead.get: reads"), "crm.lead.get"),
    "the rights of the person": (_set(actor=ANNA.model_copy(update={"sees": "all"})), ", for who sees all"),
    "the portal": (_set(card="# Portal\nFunnels: «Новая»"), "«Новая»"),
    "what is published": (_set(offered=({**OFFER, "title": "Новый план"},)), "Новый план"),
    "what is published beside": (_set(offered=(OFFER, {**OFFER, "kind": "scenario", "name": "more"})), '"name": "more"'),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_a_change_is_in_the_next_prompt(what: str) -> None:
    """And gone again once it is undone; the other messages stay word for word."""
    change, words = CHANGES[what]
    company = _Company()
    before = await company.list_head()
    assert words not in str(before)
    change(company)
    assert words in str(await company.list_head())
    company.__dict__.update({**_Company().__dict__, "agent": company.agent})
    assert await company.list_head() == before


async def test_what_was_offered_is_gone_when_nothing_is_offered_any_more() -> None:
    """The message about it, too."""
    company = _Company()
    assert len(await company.list_head()) == 3
    company.offered = ()
    assert len(await company.list_head()) == 2


async def test_without_a_change_the_messages_are_the_same_objects() -> None:
    """They are not built again for another turn or another person with the same rights."""
    company = _Company()
    first = await company.list_head()
    company.actor = ANNA.model_copy(update={"key": "tg:1008", "name": "Борис"})
    company.offered = (dict(OFFER),)
    assert all(one is other for one, other in zip(first, await company.list_head(), strict=True))


def test_few_beginnings_are_kept() -> None:
    """A portal that changes all day long fills no memory."""
    heads = PromptHeads(constitution="C", protocol="P")
    for number in range(10 * MOST_HEADS):
        heads.build("full", methods="M", card=f"# Portal {number}", offered=())
    assert len(heads._kept) <= MOST_HEADS
