"""A text that would be lost is named on the card, and can be kept with one press."""

from typing import Any

import pytest

from bot.http_api.approvals.card_models import to_changes
from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.card_view import CardView, PreviewLine
from orchestrator.features.cards.field_input import list_editable_fields
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.preview.old_texts import count_lost, mark_old_text
from orchestrator.gate.preview.preview import preview
from tests.unit.features.cards.cards_kit import RU, asked, cards_of, pressing
from tests.unit.gate.gate_kit import LEAD, call
from tests.unit.gate.test_gate_preview import Book
from tests.unit.runtime.group_kit import ask_plan
from tests.unit.spine_kit import BORIS, World, press, raise_sum, step

HISTORY = "История переговоров: " + "созвонились, договорились, перенесли на весну, " * 16 + "ждут смету до конца года."
NEW = "звонил, перезвонить"
SAID = "удалит 798 знаков: «История переговоров: созвонились,… ждут смету до конца года.» → "


def _hold(world: World, text: str = HISTORY, *, field: str = "COMMENTS") -> None:
    world.portal.records["deal", 481] = {**(world.portal.records["deal", 481] or {}), field: text}


def _note(text: str = NEW, **more: Any) -> dict[str, Any]:
    return step("crm.deal.update", {"id": 481, "fields": {**more, "COMMENTS": text}})


def _read(body: dict[str, Any], kind: str = "card", tr: Translator = RU) -> str:
    return to_plain_text(render_message(kind, body, tr))


def _buttons(body: dict[str, Any], tr: Translator = RU) -> list[list[str]]:
    keyboard = build_card_keyboard(CardView.from_body(body), tr)
    return [[button.text for button in row] for row in keyboard.inline_keyboard] if keyboard else []


async def test_a_replaced_text_stands_first_in_plain_words_and_whole_in_the_details(world: World) -> None:
    """Its size, beginning and end before the sum, on the card of a single call."""
    _hold(world)
    card = await asked(world, _note(OPPORTUNITY=1_200_000))
    assert _read(card).split("\n")[2] == f"Комментарий: {SAID}{NEW}"
    assert HISTORY not in _read(card)
    assert f"{HISTORY} → {NEW}" in _read(card, "details")
    assert [row.model_dump().get("lost") for row in to_changes(CardView.from_body(card).preview)] == [798, None]
    assert _buttons(card)[0] == ["➕ Добавить к прежнему"]
    english = Translator("en")
    assert "deletes 798 characters: “История переговоров:" in _read(card, tr=english)
    assert _buttons(card, english)[0] == ["➕ Add to what is there"]


async def test_an_emptied_text_becomes_empty_and_nothing_can_be_added(world: World) -> None:
    _hold(world)
    card = await asked(world, _note(""))
    assert f"Комментарий: {SAID}станет пустым" in _read(card)
    assert _buttons(card)[0][0] == "✅ Выполнить"


async def test_one_press_adds_the_new_text_to_the_old_one(world: World) -> None:
    """The new card has a nonce of its own, the old one is replaced and runs nothing; what is sent holds both texts."""
    _hold(world)
    card = await asked(world, _note(OPPORTUNITY=1_200_000))
    await world.work(pressing("addto", card["confirmation_id"]))
    rows = world.outbox()
    old, new = cards_of(rows)
    assert sorted(row.kind for row in rows) == ["card", "card", "toast"]
    assert (old["status"], old["why"], new["status"]) == ("superseded", "edited", "requested")
    assert new["nonce"] != card["nonce"]
    assert f"Комментарий: останется {SAID[7:-3]} → + {NEW}" in _read(new)
    assert _buttons(new)[0][0] == "✅ Выполнить"
    await world.work(press(card), pressing("addto", card["confirmation_id"]))
    assert world.portal.ledger == []
    await world.work(press(new))
    fields = {"COMMENTS": f"{HISTORY}\n{NEW}", "OPPORTUNITY": 1_200_000}
    assert world.portal.ledger == [("crm.deal.update", {"id": 481, "fields": fields})]


async def test_only_the_one_who_asked_adds_to_the_old_text(world: World) -> None:
    _hold(world)
    card = await asked(world, _note())
    await world.work(pressing("addto", card["confirmation_id"], actor=BORIS))
    assert world.codes() == ["toast:edit-not-yours"]
    assert not cards_of(world.outbox())


async def test_a_card_that_loses_no_text_adds_nothing(world: World) -> None:
    card = await asked(world, raise_sum())
    assert _buttons(card)[0][0] == "✅ Выполнить"
    await world.work(pressing("addto", card["confirmation_id"]))
    assert world.codes()[-1] == "toast:edit-not-here"


async def test_a_text_that_changed_meanwhile_is_asked_about_again(world: World) -> None:
    """The old text that was shown is what the press adds to; what stands there now is named on the new card."""
    _hold(world)
    card = await asked(world, _note())
    _hold(world, f"{HISTORY} Подписали!")
    await world.work(pressing("addto", card["confirmation_id"]))
    new = cards_of(world.outbox())[-1]
    assert "удалит 809 знаков" in _read(new)
    assert _buttons(new)[0] == ["➕ Добавить к прежнему"]


async def test_the_step_of_a_plan_is_added_to_alone(world: World) -> None:
    _hold(world)
    plan = await ask_plan(world, _note(), raise_sum(60_000, deal=482))
    assert f"Комментарий: {SAID}{NEW}" in _read(plan)
    assert _buttons(plan)[2:4] == [["➕ Добавить к прежнему 1"], ["✏ Изменить 1", "✖ Убрать 1"]]
    await world.work(pressing("addto", plan["members"][0]["confirmation_id"]))
    fresh = cards_of(world.outbox())[-1]
    await world.work(press(fresh))
    assert [params["fields"] for _, params in world.portal.written()] == [{"COMMENTS": f"{HISTORY}\n{NEW}"}, {"OPPORTUNITY": 60_000}]


async def test_what_was_written_says_what_it_lost_and_can_be_taken_back(world: World) -> None:
    """The card that was carried out, and the one that takes it back, which loses only what was added."""
    _hold(world)
    card = await asked(world, _note(f"{HISTORY}\n{NEW}"), text="что по сделке 481?")
    await world.work(press(card))
    done = cards_of(world.outbox())[-1]
    assert f"Комментарий: {SAID.replace('удалит', 'было')}+ {NEW}" in _read(done)
    await world.work(pressing("undo", done["effect_id"]))
    undo = cards_of(world.outbox())[-1]
    assert f"Комментарий: удалит 20 знаков: «{NEW}» → {SAID.replace('удалит', 'останется')[:-3]}" in _read(undo)
    assert ["➕ Добавить к прежнему"] not in _buttons(undo)


async def test_a_text_that_was_replaced_is_named_on_the_card_of_the_past(world: World) -> None:
    _hold(world)
    card = await asked(world, _note())
    await world.work(press(card))
    done = cards_of(world.outbox())[-1]
    assert f"Комментарий: {SAID.replace('удалит', 'было')}{NEW}" in _read(done)
    assert "↩" in str(_buttons(done))


async def test_a_text_of_several_lines_is_kept_as_it_is(world: World) -> None:
    """Its size does not depend on how a card shows line breaks, and what only ends the text is no part of what is added."""
    held = f"Созвонились.\n\n{HISTORY}\n"
    _hold(world, held)
    card = await asked(world, _note())
    assert "удалит 812 знаков: «Созвонились. ⏎ " in _read(card)
    await world.work(pressing("addto", card["confirmation_id"]))
    new = cards_of(world.outbox())[-1]
    assert f"останется 812 знаков: «Созвонились. ⏎  ⏎ История переговоров:… ждут смету до конца года.» → + {NEW}" in _read(new)
    await world.work(press(new))
    assert world.portal.ledger[-1][1]["fields"]["COMMENTS"] == f"{held}\n{NEW}"


async def test_a_long_history_is_added_to_without_reading_it_all_and_never_replaced_so(world: World) -> None:
    """A note behind 8,000 characters fits on the card; one that wipes them waits until the whole was opened."""
    _hold(world, "история " * 1000)
    card = await asked(world, _note())
    assert [_buttons(card)[0], _buttons(card)[1]] == [["➕ Добавить к прежнему"], ["✖ Отклонить"]]
    await world.work(pressing("addto", card["confirmation_id"]))
    new = cards_of(world.outbox())[-1]
    assert _buttons(new)[0][0] == "✅ Выполнить"
    assert len(_read(new)) < 500


@pytest.mark.parametrize(
    ("method", "params", "place", "field"),
    [
        ("tasks.task.update", {"taskId": 8017, "fields": {"DESCRIPTION": NEW}}, ("task", 8017), "description"),
        ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"comments": NEW}}, ("deal", 481), "COMMENTS"),
    ],
)
async def test_every_form_of_the_replacement_is_named_and_added_to(
    world: World, method: str, params: dict[str, Any], place: tuple[str, int], field: str
) -> None:
    world.portal.records[place] = {**(world.portal.records[place] or {}), field: HISTORY}
    card = await asked(world, step(method, params), text="запиши в 481: звонил")
    assert f"{SAID}{NEW}" in _read(card)
    await world.work(pressing("addto", card["confirmation_id"]))
    await world.work(press(cards_of(world.outbox())[-1]))
    (written,) = world.portal.written()
    assert f"{HISTORY}\n{NEW}" in written[1]["fields"].values()


async def test_the_text_of_a_todo_is_named_too() -> None:
    todo = call("crm.activity.todo.updateDescription", {"id": 1501, "ownerTypeId": 2, "ownerId": 481, "value": NEW}, actor=LEAD)
    facts = Facts(records={("activity", 1501): {"ID": "1501", "DESCRIPTION": HISTORY}})
    found = await preview(todo, facts, Book(), locale="ru")
    assert [line.lost for line in found.lines if line.field == "value"] == [798]
    assert list_editable_fields(todo, found, {})[0].code == "value"


async def test_of_a_text_that_goes_outside_all_is_shown() -> None:
    event = call("calendar.event.update", {"id": 5, "type": "user", "ownerId": 7, "name": "Встреча", "description": f"{HISTORY} {NEW}"})
    line = PreviewLine(field="description", before=HISTORY, after=f"{HISTORY} {NEW}")
    assert mark_old_text(line, 0, is_outward="N" in event.classes) == line
    assert mark_old_text(line, 0, is_outward=False).added.strip() == NEW


@pytest.mark.parametrize("method", ["crm.deal.update", "crm.item.update"])
async def test_a_command_of_a_batch_names_the_text_that_it_loses(world: World, method: str) -> None:
    _hold(world)
    call = (
        "crm.deal.update?id=481&fields[COMMENTS]="
        if method == "crm.deal.update"
        else "crm.item.update?entityTypeId=2&id=481&fields[comments]="
    )
    batch = step("batch", {"cmd": {"a": f"{call}{NEW}", "b": "crm.deal.update?id=482&fields[OPPORTUNITY]=60000"}})
    card = await asked(world, batch)
    assert _read(card).index("Комментарий: удалит") < _read(card).index("Сумма:")
    assert f"Комментарий: {SAID}{NEW}" in _read(card)


@pytest.mark.parametrize(
    ("held", "value", "is_prose", "lost"),
    [
        ("звонил", "перезвонить", True, 6),
        ("звонил", "перезвонить", False, 0),
        ("ж" * 81, "", False, 81),
        ("ж" * 80, "", False, 0),
        ("а  б\nв", "было: а б в", True, 0),
        ("  ", "x", True, 0),
        (None, "x", True, 0),
        (["ж" * 100], "", True, 0),
        ("звонил", None, True, 6),
        ("12", 12, True, 0),
        ("первое второе", "первое", True, 7),
    ],
)
def test_what_is_lost_is_counted(held: object, value: object, is_prose: object, lost: int) -> None:
    assert count_lost(held, value, is_prose=bool(is_prose)) == lost
