"""A card that asks anyway does not remark that a record which code showed was not named; nothing runs by that."""

from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Provenance
from orchestrator.gate.call.effect import Ask, Facts
from orchestrator.sessions.session import Session
from tests.unit.gate.gate_kit import effect, judged
from tests.unit.spine_kit import World, message, raise_sum, reply, step

LIST = step("crm.deal.list", {"filter": {"CLOSED": "N"}})
COMMENTS = step("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal"}})
NOTE = step("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 482, "COMMENT": "Звонил"}})
UNNAMED = "gate-taint-target"
CHIEF = Actor(key="tg:1006", name="Вера", role="lead", bitrix_user_id=6, sees="all")


def _reasons(world: World) -> list[set[str]]:
    return [{str(reason["code"]) for reason in event.data["reasons"]} for event in world.events("ConfirmationRequested")]


async def _show(world: World, session: Session, *more: dict[str, Any], text: str = "[[list 1]]") -> None:
    world.model.will(reply(LIST), *[reply(one, text="Смотрю.") for one in more], reply(text=text))
    await world.turn(session, message("покажи мои сделки"))


async def test_rows_of_an_earlier_answer_need_no_naming_on_a_card_that_asks_anyway(world: World, session: Session) -> None:
    """«Всем поставь 60 000» after the list: a sum asks, and that is all that the card says."""
    await _show(world, session)
    world.model.will(reply(raise_sum(60_000), raise_sum(61_000, deal=482)))
    await world.turn(session, message("всем поставь сумму 60 и 61 тысячу"))
    assert all("gate-critical" in reasons and UNNAMED not in reasons for reasons in _reasons(world))
    assert len(_reasons(world)) == 2


async def test_rows_shown_by_the_same_answer_need_no_naming_either(world: World, session: Session) -> None:
    """The list stands above the card; without its marker nobody saw the rows."""
    world.model.will(reply(LIST), reply(raise_sum(60_000), text="[[list 1.1]]"))
    await world.turn(session, message("найди мои сделки и первой поставь сумму 60 тысяч"))
    world.model.will(reply(LIST), reply(raise_sum(61_000, deal=482), text="Меняю."))
    await world.turn(await _fresh(world), message("найди сделки и подними сумму до 61 тысячи", key="tg:1008"))
    assert UNNAMED not in _reasons(world)[0]
    asked = [event.data for event in world.events("ConfirmationRequested", key="tg:1008")]
    assert UNNAMED in {reason["code"] for reason in asked[0]["reasons"]}


async def _fresh(world: World) -> Session:
    return await world.session("tg:1008")


@pytest.mark.parametrize("when", ["in the turn of the list", "in a turn between", "in the turn of the change"])
async def test_free_text_of_others_brings_the_remark_back(world: World, session: Session, when: str) -> None:
    """What was read may have chosen the record."""
    if when == "in the turn of the list":
        await _show(world, session, COMMENTS)
    else:
        await _show(world, session)
    if when == "in a turn between":
        world.model.will(reply(COMMENTS), reply(text="Звонил клиент."))
        await world.turn(session, message("что пишут по 481?"))
    read = [reply(COMMENTS, text="Смотрю.")] if when == "in the turn of the change" else []
    world.model.will(*read, reply(raise_sum(60_000, deal=482)))
    await world.turn(session, message("поставь той сумму 60 тысяч"))
    assert UNNAMED in _reasons(world)[-1]


async def test_what_would_run_without_a_card_still_asks(world: World, session: Session) -> None:
    """An ordered note on a row that was shown and not named: the remark is the only reason, so it stands."""
    await _show(world, session)
    world.model.will(reply(NOTE))
    await world.turn(session, message("запиши туда: звонил"))
    assert world.portal.written() == []
    assert UNNAMED in _reasons(world)[-1]


async def test_a_change_beside_is_held_as_before(world: World, session: Session) -> None:
    """The note that was ordered waits on the card of a change of a shown record that nobody named."""
    await _show(world, session)
    named = step("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481, "COMMENT": "Звонил"}})
    world.model.will(reply(named, raise_sum(60_000, deal=482)))
    await world.turn(session, message("запиши в 481: звонил, и подними сумму той до 60 тысяч"))
    assert world.portal.written() == []
    assert "gate-beside" in _reasons(world)[0]


@pytest.mark.parametrize(("letter", "remarks"), [(False, False), (True, True)])
def test_what_reaches_people_keeps_the_remark(*, letter: bool, remarks: bool) -> None:
    """A letter on a deal that was only shown says that nobody named it; a sum does not."""
    mail = {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "TYPE_ID": 4, "SUBJECT": "Счёт", "COMMUNICATIONS": [{"VALUE": "a@b.example"}]}
    method, params = ("crm.activity.add", {"fields": mail}) if letter else ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}})
    provenance = Provenance(shown=frozenset({"deal:481"}), person_text="сделай")
    verdict = judged(effect(method, params, provenance=provenance), actor=CHIEF, facts=Facts(records={("deal", 481): {"ID": "481"}}))
    assert isinstance(verdict, Ask)
    assert (UNNAMED in {reason.code for reason in verdict.reasons}) is remarks
