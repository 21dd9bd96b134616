"""The portal card is kept, and every change that its readers would see is in the next one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import bot.composition.bootstrap
from bitrix.catalogue.catalogue import Method
from bot.composition.bootstrap import build_queries
from orchestrator.directory.portal_card import METHODS, PortalCard
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.modes import may_read_shared
from orchestrator.gate.call.policy import Policy
from tests.unit.directory.reference_kit import Desk
from tests.unit.directory.reference_kit import desk as open_desk

ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)
HEAD = Actor(key="tg:1001", name="Пётр", bitrix_user_id=1, sees="all")
OLD, NEW = "Старое имя", "Новое имя"


def _field(title: str) -> dict[str, Any]:
    return {"UF_CRM_A": {"type": "string", "isDynamic": True, "formLabel": title}}


def _answers(name: str) -> dict[str, Any]:
    """A portal in which every name is this one."""
    return {
        "crm.category.list": {"categories": [{"id": 0, "name": name}]},
        "crm.status.list": [{"STATUS_ID": "NEW", "NAME": name, "SORT": "1"}],
        **{f"crm.{kind}.fields": _field(name) for kind in ("deal", "lead", "contact", "company")},
        "crm.type.list": {"types": [{"entityTypeId": 177, "title": name}]},
        "catalog.catalog.list": {"catalogs": [{"iblockId": 14, "name": name}]},
        "crm.item.fields": {"fields": {}},
        "crm.currency.list": [{"CURRENCY": "RUB", "BASE": "Y"}],
        "user.get": [{"ID": "7", "NAME": name, "ACTIVE": True}],
    }


def _card(desk: Desk) -> PortalCard:
    return PortalCard(desk.reads.reference, desk.clock, lambda actor: METHODS)


async def test_a_card_is_written_once_while_nothing_changes() -> None:
    """The next prompt gets the very same text, also after other data were read through the same cache."""
    async with open_desk(_answers(OLD)) as desk:
        card = _card(desk)
        first = await card.build(ANNA)
        await desk.reads.reference.load_fields("item:177")
        assert await card.build(HEAD) is first
        await desk.reads.reference.load_stages("deal", 0, fresh=True)
        assert await card.build(ANNA) is first


CHANGES: dict[str, tuple[Callable[[Desk], object], dict[str, Any]]] = {
    "a funnel, told by an event": (
        lambda desk: desk.reads.reference.discard_for_event("ONCRMCATEGORYUPDATE"),
        {"crm.category.list": {"categories": [{"id": 0, "name": NEW}]}},
    ),
    "a field, made by the bot itself": (
        lambda desk: desk.reads.reference.discard_for_call("crm.deal.userfield.add"),
        {"crm.deal.fields": _field(NEW)},
    ),
    "an employee, told by nobody": (lambda desk: desk.clock.advance(timedelta(minutes=5)), {"user.get": [{"ID": "7", "NAME": NEW}]}),
    "a smart process, in the 15 minutes after": (
        lambda desk: desk.clock.advance(timedelta(minutes=15)),
        {"crm.type.list": {"types": [{"entityTypeId": 177, "title": NEW}]}},
    ),
    "a catalogue, in the hour after": (
        lambda desk: desk.clock.advance(timedelta(hours=1)),
        {"catalog.catalog.list": {"catalogs": [{"iblockId": 14, "name": NEW}]}},
    ),
    "everything, when the cache was emptied": (lambda desk: desk.reads.reference.discard(), _answers(NEW)),
}


@pytest.mark.parametrize("told", CHANGES)
async def test_a_change_stands_in_the_next_card(told: str) -> None:
    """As soon as the cache of reference data would read it."""
    notice, changed = CHANGES[told]
    async with open_desk(_answers(OLD)) as desk:
        card = _card(desk)
        assert NEW not in await card.build(ANNA)
        desk.portal.answers |= changed
        assert NEW not in await card.build(ANNA)
        notice(desk)
        assert NEW in await card.build(ANNA)
        assert NEW in await card.build(ANNA)


async def test_what_a_check_of_a_write_reads_afresh_stands_in_the_next_card() -> None:
    """Such a read goes around the cache and is then in it."""
    async with open_desk(_answers(OLD)) as desk:
        card = _card(desk)
        await card.build(ANNA)
        desk.portal.answers["crm.status.list"] = [{"STATUS_ID": "NEW", "NAME": NEW, "SORT": "1"}]
        await desk.reads.reference.load_stages("deal", 0, fresh=True)
        assert f"NEW «{NEW}»" in await card.build(ANNA)


async def test_a_part_that_the_portal_refused_is_read_again_when_its_pause_is_over() -> None:
    """Until then the card says that it could not be read, and the portal is not asked."""
    async with open_desk(_answers(OLD)) as desk:
        given = desk.portal.answers.pop("user.get")
        card = _card(desk)
        first = await card.build(ANNA)
        assert "Colleagues (employee id, name, position): could not be read" in first
        asked = len(desk.portal.asked)
        assert await card.build(ANNA) is first
        assert len(desk.portal.asked) == asked
        desk.portal.answers["user.get"] = given
        desk.clock.advance(timedelta(minutes=5))
        assert f"- 7 «{OLD}»" in await card.build(ANNA)


def _may_read(method: Method, policy: Policy, *, sees_all: bool) -> bool:
    """The rule of the gate, with currencies as data whose owners cannot be checked."""
    return may_read_shared(
        method.model_copy(update={"owner": "unscoped"}) if "currency" in method.name else method, policy, sees_all=sees_all
    )


class _Policies:
    """A policy that the owner changes while the program runs."""

    def __init__(self) -> None:
        self.policy = Policy()

    def now(self) -> Policy:
        return self.policy


async def test_a_change_of_rights_stands_in_the_next_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each person has the card of their own rights, under the policy of the moment."""
    monkeypatch.setattr(bot.composition.bootstrap, "may_read_shared", _may_read)
    policies = _Policies()
    async with open_desk(_answers(OLD)) as desk:
        build = build_queries(desk.reads, desk.naming, desk.clock, policies)["portal_card"]
        own, everything = await build(actor=ANNA), await build(actor=HEAD)
        assert "Currencies" not in own
        assert "Currencies" in everything
        assert await build(actor=ANNA.model_copy(update={"sees": "all"})) == everything
        policies.policy = Policy(refuse_methods=frozenset({"user.get"}))
        for actor in (ANNA, HEAD):
            assert "Colleagues" not in await build(actor=actor)
        policies.policy = Policy()
        assert await build(actor=ANNA) == own


async def test_the_date_and_the_language_of_the_next_prompt_are_those_of_the_moment() -> None:
    """They stand in no kept part: the days have the names and dates of whoever asks, when they ask."""
    async with open_desk(_answers(OLD)) as desk:
        when = build_queries(desk.reads, desk.naming, desk.clock, _Policies())["when"]
        first = await when(actor=ANNA)
        english = await when(actor=ANNA.model_copy(update={"locale": "en"}))
        desk.clock.advance(timedelta(days=2))
        monday = await when(actor=ANNA)
        there = await when(actor=ANNA.model_copy(update={"time_zone": "Asia/Vladivostok"}))
    assert first["calendar"] != english["calendar"]
    assert (first["now"][:10], monday["now"][:10]) == ("2026-11-21", "2026-11-23")
    assert first["calendar"] != monday["calendar"]
    assert first["periods"] != monday["periods"]
    assert there["zone"] == "Asia/Vladivostok"
    assert there["now"] != monday["now"]
