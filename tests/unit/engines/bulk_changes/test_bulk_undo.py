"""What a change of many records has done is taken back as a whole, but for what others have changed since."""

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain import bulk
from orchestrator.domain.outputs import Reply
from sandbox.portal.faults import Fault
from sandbox.portal.firm.size import Firm as FirmSize
from state.journal.run_index import RunFilter
from tests.unit.engines.bulk_changes.bulk_kit import (
    Firm,
    a_bulk_world,
    a_firm,
    a_program,
    click,
    decide,
    find_card,
    find_end,
    propose,
    read_end,
)
from tests.unit.spine_kit import BORIS, VERA, World, command, message, reply, step

MARK, THEIRS = "Проверено 30 ноября", "Звонил, ждут счёт"


async def read_comment(firm: Firm, deal: int) -> str:
    return (await firm.read("crm.deal.get", {"id": deal})).get("COMMENTS") or ""


async def change_opened(world: World, params: dict[str, Any]) -> list[Any]:
    """Approve a change of more records than a glance takes in: its file is opened first."""
    card = find_card(await propose(world, params, actor=VERA, key=VERA.key))
    return await approve_opened(world, card)


async def approve_opened(world: World, card: dict[str, Any]) -> list[Any]:
    if card["is_cut"]:
        await world.work(command("details", actor=VERA, key=VERA.key, confirmation_id=card["confirmation_id"]))
        card = [row for row in world.outbox() if row.kind == "card"][-1].body
    return await decide(world, card, actor=VERA, key=VERA.key)


def write_end(rows: list[Any]) -> str:
    return to_plain_text(render_reply(Reply.model_validate(find_end(rows)), Translator("ru")))


async def press_undo(world: World, rows: list[Any]) -> list[Any]:
    return await click(world, find_end(rows)["actions"][0]["words"], actor=VERA)


async def test_of_three_hundred_with_twelve_edited_since_all_but_these_come_back(tmp_path: Path) -> None:
    async with a_firm(FirmSize(deals=700)) as firm, a_program(tmp_path, firm) as world:
        closed = [number for number, row in firm.box.store.table("deal").rows.items() if row["CLOSED"] == "Y"]
        chosen = sorted(closed)[:300]
        before = [await read_comment(firm, number) for number in chosen]
        rows = await change_opened(world, {"of": "deals", "filter": {"ID": chosen}, "fields": {"COMMENTS": MARK}})
        assert read_end(rows) == [("bulk-done", {"made": 300, "count": 300})]
        edited = chosen[5:300:25]
        assert len(edited) == 12
        for number in edited:
            await firm.read("crm.deal.update", {"id": number, "fields": {"COMMENTS": THEIRS}})
        back = find_card(await press_undo(world, rows))
        assert back["preview"]["count"] == 288
        (held,) = [line for line in back["preview"]["lines"] if line.get("is_held")]
        assert held["after"].startswith("12 (")
        assert read_end(await approve_opened(world, back)) == [("bulk-done", {"made": 288, "count": 288})]
        after = [await read_comment(firm, number) for number in chosen]
        assert after == [THEIRS if number in edited else comment for number, comment in zip(chosen, before, strict=True)]


async def test_what_was_taken_back_is_not_taken_back_twice_and_an_undo_can_be_taken_back(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        rows = await decide(world, find_card(await propose(world)))
        undo = find_end(rows)["actions"][0]["words"]
        first = find_card(await click(world, undo))
        second = find_card(await click(world, undo))
        assert first["confirmation_id"] == second["confirmation_id"]
        undone = await decide(world, first)
        assert read_end(undone) == [("bulk-done", {"made": 19, "count": 19})]
        again = await click(world, undo)
        assert not [row for row in again if row.kind == "card"]
        assert "gate-bulk-nothing" in str([row.body for row in again])
        redo = find_card(await click(world, find_end(undone)["actions"][0]["words"]))
        assert read_end(await decide(world, redo)) == [("bulk-done", {"made": 19, "count": 19})]
        assert len(await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}})) == 19


async def test_what_was_found_out_by_reading_is_taken_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to its batch was lost."""
    monkeypatch.setattr(bulk, "PART", 4)
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        card = find_card(await propose(world))

        async def spoil(number: int) -> None:
            if number == 2:
                firm.box.faults.armed.append(Fault(kind="504_html", method="batch"))

        firm.meanwhile = spoil
        await decide(world, card)
        world.clock.advance(timedelta(minutes=11))
        await world.work()
        rows = world.outbox()
        assert read_end(rows) == [("bulk-done", {"made": 19, "count": 19})]
        back = find_card(await click(world, find_end(rows)["actions"][0]["words"]))
        assert back["preview"]["count"] == 19


async def test_new_records_are_not_offered_to_be_taken_back(tmp_path: Path) -> None:
    add = {"method": "tasks.task.add", "fields": {"TITLE": "Позвонить: {TITLE}"}}
    async with a_bulk_world(tmp_path) as world:
        rows = await decide(world, find_card(await propose(world, {"of": "deals", "filter": {"CLOSED": "N"}, "add": add})))
        end = find_end(rows)
        assert end["actions"] == []
        (run,) = world.sql.list_runs(RunFilter())
        forced = await click(world, ["bulk", run.run_id, "undo"])
        assert not [row for row in forced if row.kind == "card"]


async def test_nobody_takes_back_what_another_persons_run_did_beyond_their_own_rights(tmp_path: Path) -> None:
    """The button of a message that was passed on makes a card in the rights of who presses, and asks them."""
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        rows = await decide(world, find_card(await propose(world)))
        changed = len(firm.list_writes())
        await click(world, find_end(rows)["actions"][0]["words"], actor=BORIS)
        assert len(firm.list_writes()) == changed


async def test_an_old_value_that_a_batch_would_read_as_a_reference_is_not_put_back(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        await firm.read("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "$result[c1]"}})
        rows = await decide(world, find_card(await propose(world)))
        back = find_card(await click(world, find_end(rows)["actions"][0]["words"]))
        assert back["preview"]["count"] == 18
        assert len([line for line in back["preview"]["lines"] if line.get("is_held")]) == 1


async def test_in_words_one_record_of_a_change_of_many_comes_back_alone(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        await decide(world, find_card(await propose(world)))
        deal = min(int(row["ID"]) for row in await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}}))
        world.model.will(reply({**step("undo.propose", {"deal": deal}), "last": True}))
        await world.work(message("верни у неё, как было"))
        back = find_card(world.outbox())
        assert back["preview"]["count"] == 1
        await decide(world, back)
        assert await read_comment(firm, deal) != "Проверено"
        assert len(await firm.read("crm.deal.list", {"filter": {"COMMENTS": "Проверено"}})) == 18


async def test_the_end_says_what_was_done_to_which_records(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        rows = await decide(world, find_card(await propose(world)))
        assert write_end(rows) == "✅ Изменено: 19 из 19 сделок"
        undone = await decide(world, find_card(await click(world, find_end(rows)["actions"][0]["words"])))
        assert write_end(undone) == "✅ Возвращено: 19 из 19 сделок"
