"""A manager who asks for all deals and gets the own ones reads that they are only the own ones."""

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


@pytest.mark.parametrize(
    ("actor", "wanted", "told"),
    [
        (ANNA, {"CLOSED": "N"}, True),
        (ANNA, {"CLOSED": "N", "@ASSIGNED_BY_ID": [7]}, False),
        (ANNA, {"%TITLE": "Ромашка"}, False),
        (VERA, {"CLOSED": "N"}, False),
    ],
    ids=["own records only", "the own ones were asked for", "one record was asked for", "a lead sees all"],
)
async def test_a_list_that_the_gate_has_limited_says_so(world: World, actor: Actor, wanted: dict[str, Any], told: bool) -> None:  # noqa: FBT001 - a table of tests
    """One line by code, no warning, only where the limit was not what was asked for."""
    session = await world.session(actor.key)
    world.model.will(reply(step("crm.deal.list", {"filter": wanted})), reply(text="Вот сделки."))
    await world.turn(session, message("покажи все сделки", actor=actor, key=actor.key))
    row = next(row for row in world.outbox() if row.body.get("turn_id"))
    said = to_plain_text(render_reply(Reply.model_validate(row.body), Translator("ru")))
    assert (ONLY in said) is told
    assert "⚠️" not in said


def test_in_shadow_no_example_is_offered_that_reads() -> None:
    """Reads are not sent in that mode (S004-38), so «Покажи мои сделки» would show nothing; the sentence says so."""
    assert list_examples("shadow") == ("example-task",)
    assert "example-deals" in list_examples("canary")
    for locale, words in (("ru", "сделок не читаю"), ("en", "read no deals")):
        tr = Translator(locale)  # type: ignore[arg-type]
        for code in ("mode", "welcome", "people-welcome"):
            assert words in tr.translate(code, mode="shadow", name=BORIS.name, role="manager", installed="shadow")
