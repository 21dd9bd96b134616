"""undo.find and undo.propose: the person's own changes of all their chats, taken back by the cards of the button."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.features.undo.undo_kit import cards, codes, done, update
from tests.unit.spine_kit import VERA, World, effect, message, press, reply, step

GROUP = "tg:-100500"
TEXT = "верни как было у Ромашки"


async def ask(world: World, params: dict[str, Any], *, text: str = TEXT, **more: Any) -> list[Any]:
    """One turn that proposes to take something back; what it sends."""
    world.model.will(reply(step("undo.propose", params, last=True), text="Возвращаю."))
    await world.work(message(text, **more))
    return world.outbox()


def named_notices(rows: list[Any]) -> list[str]:
    """The reasons why something is not taken back."""
    notices = [notice for row in rows if row.kind == "reply" for notice in row.body["notices"] if notice["code"] == "undo-not-taken"]
    return [notice["args"]["why"]["code"] for notice in notices]


async def test_two_changes_of_one_record_come_back_on_one_card_to_what_stood_before_both(office: World) -> None:
    was = office.portal.records["deal", 481]["OPPORTUNITY"]
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    await done(office, update({"OPPORTUNITY": 1_500_000, "COMMENTS": "звонил"}))
    [card] = cards(await ask(office, {"deal": 481}))
    assert (card["status"], {line["field"] for line in card["preview"]["lines"]}) == ("requested", {"OPPORTUNITY", "COMMENTS"})
    assert office.portal.records["deal", 481]["OPPORTUNITY"] == 1_500_000
    await office.work(press(card))
    assert office.portal.records["deal", 481]["OPPORTUNITY"] == was
    assert office.portal.records["deal", 481].get("COMMENTS") in (None, "")


async def test_what_somebody_else_changed_since_is_left_and_said(office: World) -> None:
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    await done(office, update({"OPPORTUNITY": 2_400_000}, number=482))
    office.portal.records["deal", 481]["OPPORTUNITY"] = "7.00"
    rows = await ask(office, {"since": "2026-11-21T10:00:00+00:00"}, text="верни всё, что сделал за час")
    assert [card["preview"]["id"] for card in cards(rows)] == [482]
    assert named_notices(rows) == ["undo-changed"]


@pytest.mark.parametrize(
    ("since", "is_found"), [("@date:час назад", False), ("@date:сегодня", True), ("@date:2 часа назад", True), ("@date:вчера", True)]
)
async def test_a_day_is_from_its_beginning_and_a_moment_from_then(office: World, since: str, is_found: bool) -> None:  # noqa: FBT001
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    office.clock.advance(timedelta(minutes=75))
    office.model.will(reply(step("undo.find", {"since": since}), text="Смотрю."), reply(text="Вот."))
    await office.work(message("что я менял?"))
    assert ('"fields": ["Сумма"]' in office.model.prompts[-1][-1]["content"]) is is_found


async def test_only_the_last_plan_is_the_last_change(office: World) -> None:
    """Both changes of one card, and not the one before; what was taken back already does not count."""
    await done(office, update({"COMMENTS": "звонил"}))
    office.model.will(
        reply(
            step("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}}),
            step("crm.deal.update", {"id": 482, "fields": {"OPPORTUNITY": 6}}),
            text="Меняю.",
        )
    )
    await office.work(message("сумма 481 - 5, сумма 482 - 6"))
    await office.work(press(cards(office.outbox())[-1]))
    office.outbox()
    [card] = cards(await ask(office, {}, text="отмени, пожалуйста, последнее"))
    assert sorted(member["preview"]["id"] for member in card["members"]) == [481, 482]
    await office.work(press(card))
    office.outbox()
    [earlier] = cards(await ask(office, {}, text="и то, что было до этого, отмени"))
    assert [line["field"] for line in earlier["preview"]["lines"]] == ["COMMENTS"]


async def test_nobody_takes_back_what_another_person_has_changed(office: World) -> None:
    """Not even a lead by words: the button in the chat of the change is theirs."""
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    for params in ({}, {"deal": 481}, {"since": "2026-11-21T00:00:00+00:00"}):
        office.model.will(reply(step("undo.propose", params), text="Возвращаю."), reply(text="Вы этого не меняли."))
        await office.work(message("верни", actor=VERA, key=VERA.key))
        assert cards(office.outbox()) == []


async def test_a_change_of_another_chat_comes_back_in_ones_own_and_not_in_a_group(office: World) -> None:
    """In a group others would read it."""
    session = await office.session(GROUP)
    await office.submit(session, effect("crm.timeline.comment.add", COMMENT), turn_id="t7")
    await session.close()
    rows = await ask(office, {})
    assert [card["method"] for card in cards(rows)] == ["crm.timeline.comment.delete"]
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    office.model.will(reply(step("undo.find", {"deal": 481}), text="Смотрю."), reply(text="Здесь вы её не меняли."))
    await office.work(message("что я менял?", key=GROUP))
    assert "1 200 000" not in str(office.outbox()).replace("\xa0", " ")


COMMENT = {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "звонил"}}


async def test_too_late_is_said_with_the_time(office: World) -> None:
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    office.clock.advance(timedelta(hours=2))
    office.model.will(reply(step("undo.propose", {"deal": 481}), text="Возвращаю."), reply(text="Уже поздно."))
    await office.work(message(TEXT))
    rows = office.outbox()
    assert (cards(rows), named_notices(rows)) == ([], ["undo-late"])


async def test_asked_twice_one_card_waits(office: World) -> None:
    """And after the press there is nothing more to take back."""
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    [card] = cards(await ask(office, {"deal": 481}))
    again = await ask(office, {"deal": 481})
    assert {one["confirmation_id"] for one in cards(again)} <= {card["confirmation_id"]}
    await office.work(press(card))
    office.outbox()
    office.model.will(reply(step("undo.propose", {"deal": 481}), text="Возвращаю."), reply(text="Больше нечего."))
    await office.work(message(TEXT))
    assert cards(office.outbox()) == []
    assert len(office.portal.written()) == 2


async def test_a_list_of_own_changes_has_no_values(office: World) -> None:
    """What anybody may have written is not told to the model, the fields are."""
    await done(office, update({"OPPORTUNITY": 1_200_000, "COMMENTS": "велели удалить всё"}))
    office.model.will(reply(step("undo.find", {}), text="Смотрю."), reply(text="Вы меняли:\n[[list 1]]"))
    await office.work(message("что я сегодня менял?"))
    observed = office.model.prompts[-1][-1]["content"]
    assert "Сумма" in observed
    assert "велели удалить" not in observed
    assert "Ромашка" in str([row.body for row in office.outbox() if row.kind == "reply"])


async def test_a_turn_that_goes_on_after_its_own_card_proposes_nothing_again(office: World) -> None:
    """One step waits on its card, the other takes something back: a press on the first must not bring the second back."""
    await done(office, update({"OPPORTUNITY": 1_200_000}))
    office.model.will(
        reply(
            step("crm.deal.update", {"id": 482, "fields": {"OPPORTUNITY": 9}}),
            step("undo.propose", {"deal": 481}),
            text="Меняю и возвращаю.",
        )
    )
    await office.work(message("у 482 сумма 9, а 481 верни как было"))
    first, second = cards(office.outbox())
    assert {first["method"], second["method"]} == {"crm.deal.update"}
    back, other = (first, second) if first["preview"]["id"] == 481 else (second, first)
    await office.work(press(back, approve=False))
    office.outbox()
    await office.work(press(other))
    rows = office.outbox()
    assert all(card["status"] != "requested" for card in cards(rows)), codes(rows)


@pytest.mark.parametrize("params", [{"deal": "Ромашка"}, {"user": 7}, {"since": 5}, {"changes": []}, {"deal": 481, "lead": 5}])
async def test_anything_else_is_refused_with_the_forms(office: World, params: dict[str, Any]) -> None:
    office.model.will(reply(step("undo.propose", params), text="Возвращаю."), reply(text="Уточните."))
    await office.work(message("верни"))
    assert "take one record" in office.model.prompts[-1][-1]["content"]
    assert cards(office.outbox()) == []
