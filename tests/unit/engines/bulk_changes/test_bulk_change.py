"""One approval changes many records, each only as the card's file has it."""

from pathlib import Path
from typing import Any, cast

import pytest

from tests.unit.engines.bulk_changes.bulk_kit import CHANGE, Firm, a_bulk_world, click, decide, find_card, find_end, propose, read_end
from tests.unit.spine_kit import VERA, message, reply, step


async def test_one_card_changes_all_records_of_a_filter_and_one_press_takes_them_back(tmp_path: Path) -> None:
    """Nothing is written before the press; each record once after it, and its old value comes back by a card of its own."""
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        card = find_card(await propose(world))
        count = card["preview"]["count"]
        assert count == 19
        assert firm.list_writes() == []
        rows = await decide(world, card)
        assert read_end(rows) == [("bulk-done", {"made": count, "count": count})]
        assert len(set(firm.list_writes())) == len(firm.list_writes()) == count
        deals = await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}})
        assert len(deals) == count
        words = find_end(rows)["actions"][0]["words"]
        back = find_card(await click(world, words))
        assert back["preview"]["count"] == count
        rows = await decide(world, back)
        assert read_end(rows) == [("bulk-done", {"made": count, "count": count})]
        assert await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}}) == []


async def test_in_words_all_of_it_is_taken_back_as_one_change(tmp_path: Path) -> None:
    """«Верни всё, что сделал за час»: one card for the whole change, none for each of its parts."""
    async with a_bulk_world(tmp_path) as world:
        await decide(world, find_card(await propose(world)))
        made = len(cast("Firm", world.portal).list_writes())
        assert made
        world.model.will(reply(step("undo.propose", {"since": "@date:час назад"}, last=True), text="Возвращаю."))
        await world.work(message("верни всё, что сделал за час"))
        card = find_card(world.outbox())
        assert card["method"] == "bulk.undo"
        await decide(world, card)
        assert len(cast("Firm", world.portal).list_writes()) == 2 * made


async def test_a_record_that_changed_while_the_card_waited_is_left_out_and_named(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        card = find_card(await propose(world))
        await firm.read("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "Не трогать"}})
        done, left = read_end(await decide(world, card))
        assert done == ("bulk-done", {"made": 18, "count": 19})
        assert (left[1]["why"], left[1]["count"]) == ("gate-bulk-changed", 1)
        assert (await firm.read("crm.deal.get", {"id": 481}))["COMMENTS"] == "Не трогать"


async def test_a_record_that_came_to_fit_since_the_card_is_not_changed(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        card = find_card(await propose(world))
        new = await firm.read("crm.deal.add", {"fields": {"TITLE": "Новая", "ASSIGNED_BY_ID": 7}})
        await decide(world, card)
        assert not (await firm.read("crm.deal.get", {"id": new})).get("COMMENTS")


async def test_records_that_have_the_value_already_are_no_part_of_it(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        await firm.read("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "Проверено"}})
        card = find_card(await propose(world, CHANGE))
        assert card["preview"]["count"] == 18
        (left,) = [line for line in card["preview"]["lines"] if line.get("is_held")]
        assert (left["field"], left["after"][:2]) == ("already", "1 ")


async def test_a_denied_card_changes_nothing(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        card = find_card(await propose(world))
        await decide(world, card, approve=False)
        assert cast("Firm", world.portal).list_writes() == []


async def test_plain_names_of_people_are_found_as_references_are(tmp_path: Path) -> None:
    """Also one person alone in place of a list."""
    handed = {"from": "Борис Смирнов", "to": "@user:Анна Ковалёва", "what": ["deals"]}
    async with a_bulk_world(tmp_path) as world:
        card = find_card(await propose(world, handed, method="person.handover", actor=VERA, key=VERA.key))
        (line,) = [line for line in card["preview"]["lines"] if line["name"] == "Ответственный"]
        assert (line["before"], line["after"]) == ("Борис Смирнов", "Анна Ковалёва")


@pytest.mark.parametrize(
    ("counted", "fields"),
    [("deals", {"CONTACT_IDS": [2]}), ("contacts", {"PHONE": [{"VALUE": "+74950000000", "VALUE_TYPE": "WORK"}]})],
)
async def test_a_field_that_lists_do_not_give_is_not_changed_in_many_records(tmp_path: Path, counted: str, fields: dict[str, Any]) -> None:
    """The file could not show what is replaced, see that it moved on, or put it back."""
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        rows = await propose(world, {"of": counted, "filter": {">ID": 0}, "fields": fields}, actor=VERA, key=VERA.key, is_refused=True)
        assert [row.kind for row in rows if row.kind == "card"] == []
        assert "gate-bulk-field" in str([row.body for row in rows])
        assert firm.list_writes() == []


async def test_each_record_gets_its_own_text_where_a_field_stands_in_it(tmp_path: Path) -> None:
    titled = {"of": "deals", "filter": {"CLOSED": "N"}, "fields": {"TITLE": "Тендер: {TITLE}"}}
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        before = {row["ID"]: row["TITLE"] for row in await firm.read("crm.deal.list", {"filter": {"CLOSED": "N", "ASSIGNED_BY_ID": 7}})}
        card = find_card(await propose(world, titled))
        await decide(world, card)
        after = await firm.read("crm.deal.list", {"filter": {"CLOSED": "N", "ASSIGNED_BY_ID": 7}})
        assert {row["ID"]: row["TITLE"] for row in after} == {number: f"Тендер: {title}" for number, title in before.items()}


async def test_only_the_first_by_an_order_change_and_the_card_says_of_how_many(tmp_path: Path) -> None:
    largest = {"of": "deals", "filter": {"CLOSED": "N"}, "order": {"OPPORTUNITY": "DESC"}, "limit": 5, "fields": {"COMMENTS": "Проверено"}}
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        own = await firm.read("crm.deal.list", {"filter": {"CLOSED": "N", "ASSIGNED_BY_ID": 7}, "select": ["ID", "OPPORTUNITY"]})
        wanted = sorted(own, key=lambda row: float(row["OPPORTUNITY"] or 0), reverse=True)[:5]
        card = find_card(await propose(world, largest))
        assert card["preview"]["count"] == 5
        told = next(line["after"] for line in card["preview"]["lines"] if line["field"] == "first")
        assert told == "первые 5 из 19, сначала наибольшие по полю «Сумма»"
        await decide(world, card)
        changed = await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}, "select": ["ID"]})
        assert {row["ID"] for row in changed} == {row["ID"] for row in wanted}


@pytest.mark.parametrize(
    "wrong",
    [{"limit": 5}, {"order": {"OPPORTUNITY": "DESC"}}, {"order": {"NO_SUCH": "ASC"}, "limit": 5}, {"order": {"ID": "up"}, "limit": 5}],
)
async def test_an_order_that_says_nothing_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async with a_bulk_world(tmp_path) as world:
        rows = await propose(world, {**CHANGE, **wrong}, is_refused=True)
        assert [row for row in rows if row.kind == "card"] == []


async def test_a_place_of_no_field_is_refused_instead_of_written(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        rows = await propose(world, {**CHANGE, "fields": {"COMMENTS": "О {NO_SUCH}"}}, is_refused=True)
        assert [row for row in rows if row.kind == "card"] == []
        assert "{NO_SUCH}" in str([row.body for row in rows])


async def test_who_is_responsible_may_be_each_records_own_person(tmp_path: Path) -> None:
    add = {"method": "tasks.task.add", "fields": {"TITLE": "Позвонить: {TITLE}", "RESPONSIBLE_ID": "{ASSIGNED_BY_ID}"}}
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        card = find_card(await propose(world, {"of": "deals", "filter": {"CLOSED": "N"}, "add": add}))
        await decide(world, card)
        tasks = (await firm.read("tasks.task.list", {"filter": {"%TITLE": "Позвонить: "}, "select": ["ID", "RESPONSIBLE_ID"]}))["tasks"]
        assert {str(task["responsibleId"]) for task in tasks} == {"7"}
        assert len(tasks) == card["preview"]["count"]


async def test_a_hand_over_of_several_kinds_says_the_sum_of_each_kind_and_no_sum_of_all(tmp_path: Path) -> None:
    handed = {"from": 7, "to": [6], "what": ["deals", "leads"]}
    async with a_bulk_world(tmp_path) as world:
        preview = find_card(await propose(world, handed, method="person.handover", actor=VERA, key=VERA.key))["preview"]
        lines = {line["field"]: line["after"] for line in preview["lines"]}
        assert lines["deal"].startswith("19 на ")
        assert not preview["sum"]
