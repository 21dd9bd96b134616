"""A manager who asks for all deals and gets the own ones reads that they are only the own ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Reply
from orchestrator.replies.code_notes import list_examples
from tests.unit.spine_kit import ANNA, BORIS, VERA, World, message, reply, step

ONLY = "Показаны только ваши сделки."
SOUGHT = "Смотрел только ваши сделки."


DEALS, CONTACTS = step("crm.deal.list", {"filter": {"CLOSED": "N"}}), step("crm.contact.list", {"filter": {"COMPANY_ID": 5}})


async def said(world: World, *answers: str, actor: Actor = ANNA, locale: str = "ru") -> str:
    """What the person reads after one request."""
    session = await world.session(actor.key)
    world.model.will(*answers)
    await world.turn(session, message("покажи всё", actor=actor, key=actor.key))
    row = next(row for row in world.outbox() if row.body.get("turn_id"))
    return to_plain_text(render_reply(Reply.model_validate(row.body), Translator(locale)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("actor", "wanted", "told"),
    [
        (ANNA, {"CLOSED": "N"}, ONLY),
        (ANNA, {"CLOSED": "N", "@ASSIGNED_BY_ID": [7]}, ""),
        (ANNA, {"%TITLE": "Ромашка"}, ""),
        (ANNA, {"%TITLE": "Чужая"}, SOUGHT),
        (VERA, {"CLOSED": "N"}, ""),
    ],
    ids=["own records only", "the own ones were asked for", "one record was asked for", "no such record among the own", "a lead sees all"],
)
async def test_a_list_that_the_gate_has_limited_says_so(world: World, actor: Actor, wanted: dict[str, Any], told: str) -> None:
    """One line by code, no warning, only where the limit was not what was asked for; it shows nothing of what was not found."""
    text = await said(world, reply(step("crm.deal.list", {"filter": wanted})), reply(text="Вот сделки."), actor=actor)
    assert [line for line in (ONLY, SOUGHT) if line in text] == ([told] if told else [])
    assert "⚠️" not in text


@pytest.mark.parametrize(
    ("locale", "line"),
    [("ru", "Показаны только ваши контакты, лиды и сделки."), ("en", "Only your own contacts, leads and deals are shown.")],
)
async def test_several_limited_lists_are_one_sentence(world: World, locale: str, line: str) -> None:
    """It names each kind once, also where a batch read them, and in the same order whatever was read first."""
    cmd = {"a": "crm.lead.list", "b": "crm.deal.list?filter[CLOSED]=N"}
    text = await said(world, reply(DEALS, step("batch", {"cmd": cmd}), CONTACTS), reply(text="Вот всё."), locale=locale)
    assert text.count(line) == 1
    assert text.count(line.split(maxsplit=1)[0]) == 1


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([CONTACTS, step("crm.contact.get", {"id": 43})], ""),
        ([CONTACTS, step("crm.deal.list", {"filter": {"CONTACT_ID": 43}})], "сделки"),
        ([DEALS, step("crm.deal.get", {"id": 481})], "сделки"),
        ([step("crm.contact.list", {"filter": {"PHONE": "+79161234567"}}), CONTACTS], "контакты"),
    ],
    ids=["it found the record that was read", "it found whose deals were read", "there were several", "a phone that nobody had"],
)
async def test_a_list_that_only_found_one_record_is_no_list(world: World, steps: Sequence[Mapping[str, Any]], told: str) -> None:
    """Under a record that was read by its id nothing is missing."""
    text = await said(world, *(reply(one) for one in steps), reply(text="Вот."))
    assert text == (f"Вот.\n\nПоказаны только ваши {told}." if told else "Вот.")


def test_in_shadow_no_example_is_offered_that_reads() -> None:
    """Reads are not sent in that mode (S004-38), so «Покажи мои сделки» would show nothing; the sentence says so."""
    assert list_examples("shadow") == ("example-task",)
    assert "example-deals" in list_examples("canary")
    for locale, words in (("ru", "сделок не читаю"), ("en", "read no deals")):
        tr = Translator(locale)  # type: ignore[arg-type]
        for code in ("mode", "welcome", "people-welcome"):
            assert words in tr.translate(code, mode="shadow", name=BORIS.name, role="manager", installed="shadow")
