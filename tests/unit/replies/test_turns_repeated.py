"""A write that the turn has made already is not sent again: a model that loops made six leads, and one of them was named."""

from typing import Any

import pytest

from bot.i18n.translate import Locale, Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Reply
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.sessions.session import LEASE
from tests.unit.spine_kit import ANNA, World, effect, message, reply, step
from tests.unit.spine_portal import says

LEAD = step("crm.lead.add", {"fields": {"TITLE": "Лютик"}})
COMMENT = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Звонил"}})
OTHER = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Перезвонил"}})
NOTE = step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "Ждём"}})
REQUEST = "добавь лид «Лютик», " * 5 + "запиши в 481 «Ждём», добавь к сделке 481 комментарии: Звонил, Перезвонил"


def batch(**commands: str) -> dict[str, Any]:
    return step("batch", {"cmd": commands})


async def told(world: World, *answers: str, locale: Locale = "ru") -> str:
    """What the person reads when the model gives these answers, and then «Готово.»."""
    session = await world.session()
    world.model.will(*answers, reply(text="Готово."))
    await world.turn(session, message(REQUEST))
    row = next(row for row in world.outbox() if row.body.get("turn_id"))
    return to_plain_text(render_reply(Reply.model_validate(row.body), Translator(locale)))


@pytest.mark.parametrize("wish", [LEAD, COMMENT, NOTE], ids=["lead", "comment", "note"])
@pytest.mark.req("S004-33", "G1")
async def test_a_write_repeated_in_later_answers_is_sent_once(world: World, wish: dict[str, Any]) -> None:
    """Three answers with the same write send one; the model is told that it is done, the person reads how often it came again."""
    said = await told(world, *[reply(wish)] * 3)
    assert [method for method, _ in world.portal.ledger] == [wish["method"]]
    assert "Ещё 2 раза предложено то же самое" in said
    assert "already done by an earlier step" in str(world.model.prompts[-1])
    assert "not-made" not in said


async def test_a_write_repeated_within_one_answer_is_sent_once(world: World) -> None:
    """Six equal steps make one lead."""
    said = await told(world, reply(*[LEAD] * 6), locale="en")
    assert len(world.portal.written("crm.lead.add")) == 1
    assert "proposed 5 more times" in said


async def test_two_writes_in_turn_repeat_only_once_each(world: World) -> None:
    """A loop over two comments is a loop too."""
    await told(world, *[reply(COMMENT, OTHER)] * 3)
    assert len(world.portal.ledger) == 2


async def test_other_values_are_another_write(world: World) -> None:
    """Two different comments are both sent, and nothing is said of repeats."""
    said = await told(world, reply(COMMENT, OTHER))
    assert len(world.portal.ledger) == 2
    assert "то же самое" not in said


async def test_a_change_that_was_taken_back_may_be_made_anew(world: World) -> None:
    """Renamed, named back, renamed again: each of the three changes something."""
    session = await world.session()
    for number, title in enumerate(["Ромашка-2", "Ромашка", "Ромашка-2"]):
        wish = effect("crm.deal.update", {"id": 481, "fields": {"TITLE": title}}, slot=f"t1/1/{number}")
        earlier = [build_effect_id(f"t1/1/{one}") for one in range(number)]
        await world.gate.submit(wish, actor=ANNA, mode="full", turn_id="t1", ledger=session, earlier=earlier)
    assert len(world.portal.ledger) == 3


async def test_a_write_that_failed_may_be_tried_again(world: World) -> None:
    """Only what succeeded counts as done: the second try is sent."""
    world.portal.will("crm.lead.add", says(400, {"error": "ERROR_CORE", "error_description": "Нет"}))
    session = await world.session()
    world.model.will(reply(LEAD), reply(LEAD), reply(text="Готово."))
    await world.turn(session, message(REQUEST))
    assert len(world.portal.written("crm.lead.add")) == 1


async def test_the_next_request_may_ask_for_the_same_again(world: World) -> None:
    """A person who asks for the same lead in a second message gets a second one."""
    await told(world, reply(LEAD))
    await told(world, reply(LEAD))
    assert len(world.portal.written("crm.lead.add")) == 2


async def test_a_single_call_repeats_the_command_of_a_batch(world: World) -> None:
    """The same lead as a step of its own, or in a batch under another name, is the same write."""
    wish = "crm.lead.add?fields[TITLE]=Лютик"
    await told(world, reply(batch(a=wish)), reply(LEAD), reply(batch(b=wish)))
    assert len(world.portal.written("crm.lead.add")) == 1


LEAD_ANEW = step("crm.item.add", {"entityTypeId": 1, "fields": {"title": "Лютик"}})
COMMENT_ANEW = step("crm.timeline.comment.add", {"fields": {"COMMENT": "Звонил", "ENTITY_ID": "481", "ENTITY_TYPE": "DEAL"}})
NOTE_ANEW = step("crm.item.update", {"id": "481", "entityTypeId": "2", "fields": {"comments": "Ждём"}})


@pytest.mark.parametrize(("wish", "anew"), [(LEAD, LEAD_ANEW), (COMMENT, COMMENT_ANEW), (NOTE, NOTE_ANEW)], ids=["lead", "comment", "note"])
@pytest.mark.req("S004-33", "G1")
async def test_a_write_repeated_in_another_spelling_is_sent_once(world: World, wish: dict[str, Any], anew: dict[str, Any]) -> None:
    """Seen: the universal method made a second lead, and "481" for 481 a second comment."""
    said = await told(world, reply(wish), reply(anew))
    assert [method for method, _ in world.portal.ledger] == [wish["method"]]
    assert "Ещё 1 раз предложено то же самое" in said


async def test_a_batch_that_is_partly_done_is_not_sent(world: World) -> None:
    """The model hears which command is done, and proposes the other one alone."""
    await told(world, reply(LEAD), reply(batch(a="crm.lead.add?fields[TITLE]=Лютик", b="crm.lead.add?fields[TITLE]=Мак")))
    assert len(world.portal.ledger) == 1
    assert "commands a already" in str(world.model.prompts[-1])


async def test_a_turn_that_runs_again_after_a_crash_finds_the_repeat(world: World) -> None:
    """The next process compares with what is stored, and the journal says why the step was not sent."""
    earlier = [build_effect_id("t1/1/1")]
    await world.submit(await world.session(), effect("crm.lead.add", LEAD["params"], slot="t1/1/1"))
    world.clock.advance(LEASE * 2)
    session = await world.session(owner="two")
    wish = effect("crm.lead.add", LEAD["params"], slot="t1/1/2")
    result = await world.gate.submit(wish, actor=ANNA, mode="full", turn_id="t1", ledger=session, earlier=earlier)
    assert (result.status, result.repeat_of, result.created) == ("succeeded", earlier[0], "lead:9001")
    await session.flush()
    assert [event.data["code"] for event in world.events("StepRefused")] == ["step-repeated"]
    assert len(world.portal.ledger) == 1


async def test_the_audit_log_says_that_nothing_was_sent(world: World) -> None:
    """A repeat is no second success there."""
    await told(world, reply(LEAD, LEAD))
    kept = world.audit()
    assert kept.count("step-repeated") == 1
    assert "already done by an earlier step" in kept
