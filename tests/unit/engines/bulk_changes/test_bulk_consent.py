"""What is carried out as a part of an approved file is that part, and nothing else runs as one."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote_plus

import pytest

from bot.i18n.translate import Translator
from bot.telegram.view.message_builder import build_message
from engines.bulk_changes.core.engine import _Tally
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Outcome, write_batch
from orchestrator.gate.call.kinds.bulk_methods import build_run_key
from orchestrator.gate.preview.whole_file import add_records
from state.clock import generate_id
from state.journal.run_index import RunFilter
from tests.unit.engines.bulk_changes.bulk_kit import CHANGE, Firm, a_bulk_world, a_firm, decide, find_card, propose, read_end
from tests.unit.spine_kit import ANNA, CHAT, VERA, World, a_world, command, message, press, reply, step

COMMENT = {"COMMENTS": "Проверено"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_bulk_world(tmp_path) as opened:
        yield opened


async def submit_part(
    world: World,
    card: Mapping[str, Any],
    commands: Mapping[str, tuple[str, Any]],
    *,
    slot: str = "x/1",
    actor: Actor = ANNA,
    run: str = "",
) -> Outcome:
    """As the engine does, from the run's session."""
    world.sql.expire_leases()
    session = await world.session(run or build_run_key(card["effect_id"]), owner="part")
    effect = Effect(method="batch", params={"cmd": write_batch(commands)}, part_of=card["effect_id"], slot=slot, proposed_by="bulk_changes")
    done = await world.gate.submit(effect, actor=actor, mode="full", turn_id="x", ledger=session)
    assert isinstance(done, Outcome)
    await session.flush()
    return done


async def _send_nothing(*_: Any) -> _Tally:
    return _Tally()


def _update(deal: int, fields: Mapping[str, Any]) -> tuple[str, Any]:
    return "crm.deal.update", {"id": deal, "fields": dict(fields)}


async def _carry_out_and_put_back(world: World, card: Mapping[str, Any]) -> None:
    """The first records are as the file has them again, and were not sent, so that nothing but the check of the part is in the way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engines.bulk_changes.core.engine._run_part", _send_nothing)
        await decide(world, card)
    for deal in (410, 481):
        await cast("Firm", world.portal).read("crm.deal.update", {"id": deal, "fields": {"COMMENTS": ""}})


@pytest.mark.parametrize("commands", [
    {"c1": _update(410, {"COMMENTS": "Иное"})},
    {"c1": _update(481, COMMENT)},
    {"c99": _update(410, COMMENT)},
    {"c1": _update(410, {**COMMENT, "OPPORTUNITY": 1})},
    {"c1": _update(410, COMMENT), "x": _update(481, {"OPPORTUNITY": 1})},
    {"c1": ("crm.deal.delete", {"id": 410})},
], ids=["value", "record", "place", "field", "beside", "method"])  # fmt: skip
async def test_a_batch_with_anything_else_than_the_file_has_does_not_run(world: World, commands: dict[str, Any]) -> None:
    card = find_card(await propose(world))
    await _carry_out_and_put_back(world, card)
    written = len(cast("Firm", world.portal).list_writes())
    done = await submit_part(world, card, commands)
    assert done.status == "refused"
    assert len(cast("Firm", world.portal).list_writes()) == written


async def test_no_part_of_a_file_that_nobody_approved_runs(world: World) -> None:
    """Neither while its card waits nor after it was denied, nor of a card that stands for one call."""
    card = find_card(await propose(world))
    for slot in ("a/1", "a/2"):
        done = await submit_part(world, card, {"c1": _update(410, COMMENT)}, slot=slot)
        assert (done.status, done.reason.code if done.reason else "") == ("refused", "gate-bulk-part")
        if slot == "a/1":
            await decide(world, card, approve=False)
    assert cast("Firm", world.portal).list_writes() == []


async def test_no_part_runs_for_somebody_else(world: World) -> None:
    """The same call runs for who asked."""
    card = find_card(await propose(world))
    await _carry_out_and_put_back(world, card)
    done = await submit_part(world, card, {"c1": _update(410, COMMENT)}, actor=VERA)
    assert done.status == "refused"
    assert (await submit_part(world, card, {"c1": _update(410, COMMENT)}, slot="x/2")).status == "succeeded"


ADD = {"method": "tasks.task.add", "fields": {"TITLE": "Позвонить: {TITLE}"}}
CALLS: dict[str, Any] = {"update": CHANGE, "add": {"of": "deals", "filter": {"CLOSED": "N"}, "add": ADD}}


async def _read_part(world: World, card: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """The first two calls of the file as the engine sends them."""
    row = world.sql.find_effect(card["effect_id"])
    assert row is not None
    file = await world.gate.deps.bulk.load(row.call["call"]["params"]["digest"])
    assert file is not None
    return {item.key: (item.method, item.params) for item in file.items[:2]}


@pytest.mark.parametrize("verb", CALLS)
async def test_no_second_slot_and_no_second_run_sends_a_call_of_the_file_again(world: World, verb: str) -> None:
    firm = cast("Firm", world.portal)
    card = find_card(await propose(world, CALLS[verb]))
    await _carry_out_and_put_back(world, card)
    part = await _read_part(world, card)
    assert (await submit_part(world, card, part, slot="y/1", run=f"run:{generate_id()}")).status == "refused"
    assert (await submit_part(world, card, part)).status == "succeeded"
    for deal in (params["id"] for _, params in part.values() if "id" in params):  # put back, so that the record is no reason
        await firm.read("crm.deal.update", {"id": deal, "fields": {"COMMENTS": ""}})
    written = len(firm.list_writes())
    again = await submit_part(world, card, part, slot="x/2")
    assert (again.status, again.reason.code if again.reason else "") == ("refused", "gate-bulk-part")
    assert len(firm.list_writes()) == written


async def test_the_same_file_started_twice_makes_each_task_once(world: World) -> None:
    """As a second copy of the input that begins the run would, in a run of its own."""
    firm = cast("Firm", world.portal)
    card = find_card(await propose(world, CALLS["add"]))
    await decide(world, card)
    written = len(firm.list_writes())
    (run,) = world.sql.list_runs(RunFilter())
    begun = world.sql.find_inbox(f"start:run:{run.run_id}")
    assert begun is not None
    key = f"run:{generate_id()}"
    await world.work(replace(begun, id=generate_id(), source=f"start:{key}", session=key, status="new"))
    assert len(world.sql.list_runs(RunFilter())) == 2
    assert len(firm.list_writes()) == written


async def test_above_the_limit_of_a_role_a_second_person_approves(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path, policy={"bulk": {"records": {"manager": 5}}}) as world:
        card = find_card(await propose(world))
        assert card["four_eyes"]
        await decide(world, card)
        assert cast("Firm", world.portal).list_writes() == []
        rows = await decide(world, card, actor=VERA)
        assert read_end(rows)[0] == ("bulk-done", {"made": 19, "count": 19})


async def test_more_records_than_the_policy_allows_are_refused_with_both_numbers(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path, policy={"bulk": {"most": 10}}) as world:
        sent = len(cast("Firm", world.portal).sent)
        rows = await propose(world, is_refused=True)
        assert not [row for row in rows if row.kind == "card"]
        (notice,) = [one for row in rows for one in row.body.get("notices", ()) if one["code"] == "gate-bulk-many"]
        assert notice["args"] == {"count": 19, "limit": 10}
        lists = [method for method, _ in cast("Firm", world.portal).sent[sent:] if method in {"crm.deal.list", "batch"}]
        assert lists == ["crm.deal.list"]  # counted, and not read


async def test_above_fifty_records_the_press_counts_once_the_file_was_opened(tmp_path: Path) -> None:
    """It is the spreadsheet with every record."""
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        handed = {"from": 7, "to": [8]}
        card = find_card(await propose(world, handed, method="person.handover", actor=VERA, key=VERA.key))
        assert card["preview"]["count"] > 50
        assert card["is_cut"]
        await decide(world, card, actor=VERA, key=VERA.key)
        assert firm.list_writes() == []
        await world.work(command("details", actor=VERA, key=VERA.key, confirmation_id=card["confirmation_id"]))
        rows = world.outbox()
        (details,) = [row for row in rows if row.kind == "details"]
        assert len(details.body["preview"]["items"]) == card["preview"]["count"] + 2  # the notices to who gets all, or some
        assert [file.name for file in build_message(details, Translator("ru")).files] == ["Что изменится.xlsx"]
        opened = [row for row in rows if row.kind == "card"][-1].body
        await decide(world, opened, actor=VERA, key=VERA.key)
        assert len([write for write in firm.list_writes() if "im.notify" not in write]) == card["preview"]["count"]


async def test_every_record_of_a_card_is_there_for_doors_that_show_all_of_them(tmp_path: Path) -> None:
    """The card itself holds ten, and no file of ten that would look like all."""
    async with a_bulk_world(tmp_path) as world:
        rows = await propose(world)
        (row,) = [row for row in rows if row.kind == "card"]
        assert build_message(row, Translator("ru")).files == ()
        card = (await world.session(CHAT)).state.cards[row.body["confirmation_id"]]
        whole = await add_records(card, world.gate.deps.bulk)
        assert (len((card.preview or {})["items"]), len((whole.preview or {})["items"])) == (10, 19)


async def test_an_approved_card_says_that_it_has_begun_and_not_that_it_is_done(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        rows = await decide(world, find_card(await propose(world)))
        card = [row for row in rows if row.kind == "card"][-1]
        text = "".join(words for words, _ in build_message(card, Translator("ru")).pieces)
        assert "Начато" in text
        assert "Выполнено" not in text


async def test_a_hand_over_goes_to_several_evenly_and_tells_each(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        card = find_card(
            await propose(world, {"from": 7, "to": [6, 8], "what": ["deals"]}, method="person.handover", actor=VERA, key=VERA.key)
        )
        rows = await decide(world, card, actor=VERA, key=VERA.key)
        made = card["preview"]["count"]
        assert read_end(rows) == [("bulk-done", {"made": made, "count": made})]
        assert await firm.read("crm.deal.list", {"filter": {"ASSIGNED_BY_ID": 7, "CLOSED": "N"}}) == []
        told = [write for write in firm.list_writes() if write.startswith("im.notify.personal.add")]
        assert len(told) == 1  # who hands over is no other


async def test_who_got_none_of_their_records_after_all_is_told_of_none(tmp_path: Path) -> None:
    """All that was meant for them moved on while the card waited."""
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        handed = {"from": 7, "to": [6, 8], "what": ["deals"]}
        card = find_card(await propose(world, handed, method="person.handover", actor=VERA, key=VERA.key))
        asked = {"filter": {"ASSIGNED_BY_ID": 7, "CLOSED": "N"}, "order": {"ID": "ASC"}, "select": ["ID"]}
        for deal in (await firm.read("crm.deal.list", asked))[1::2]:
            await firm.read("crm.deal.update", {"id": deal["ID"], "fields": {"ASSIGNED_BY_ID": 6}})
        (done, _left) = read_end(await decide(world, card, actor=VERA, key=VERA.key))
        assert done[1] == {"made": 10, "count": 19}
        assert [write for write in firm.list_writes() if write.startswith("im.notify")] == []


async def test_who_got_only_a_part_is_not_told_of_the_others(tmp_path: Path) -> None:
    """One of the deals that were meant for them moved on: no list, which would name it, but that there are some."""
    async with a_bulk_world(tmp_path) as world:
        firm = cast("Firm", world.portal)
        handed = {"from": 7, "to": [6, 8], "what": ["deals"]}
        card = find_card(await propose(world, handed, method="person.handover", actor=VERA, key=VERA.key))
        asked = {"filter": {"ASSIGNED_BY_ID": 7, "CLOSED": "N"}, "order": {"ID": "ASC"}, "select": ["ID", "TITLE"]}
        moved = (await firm.read("crm.deal.list", asked))[1]
        await firm.read("crm.deal.update", {"id": moved["ID"], "fields": {"ASSIGNED_BY_ID": 6}})
        await decide(world, card, actor=VERA, key=VERA.key)
        (told,) = [unquote_plus(write) for write in firm.list_writes() if write.startswith("im.notify")]
        assert "передана часть записей" in told
        assert moved["TITLE"] not in told


async def test_one_task_is_made_for_each_record_with_its_own_words(tmp_path: Path) -> None:
    add = {
        "method": "tasks.task.add",
        "fields": {"TITLE": "Позвонить: {TITLE}", "UF_CRM_TASK": ["D_{ID}"], "DEADLINE": "2026-11-25T18:00:00+03:00"},
    }
    async with a_bulk_world(tmp_path) as world:
        card = find_card(await propose(world, {"of": "deals", "filter": {"CLOSED": "N"}, "add": add}))
        rows = await decide(world, card)
        assert read_end(rows)[0] == ("bulk-done", {"made": 19, "count": 19})
        tasks = (await cast("Firm", world.portal).read("tasks.task.list", {"filter": {"%TITLE": "Позвонить: "}}))["tasks"]
        assert len({task["title"] for task in tasks if task["title"] != "Позвонить: "}) >= 19


@pytest.mark.parametrize(("params", "code"), [
    ({"of": "dogs", "filter": {"ID": 1}, "fields": COMMENT}, "gate-param-invalid"),
    ({"of": "deals", "filter": {}, "fields": COMMENT}, "gate-param-invalid"),
    ({"of": "deals", "filter": {"CLOSED": "N"}}, "gate-param-invalid"),
    ({"of": "deals", "filter": {"CLOSED": "N"}, "fields": {"NO_SUCH": 1}}, "gate-param-unknown"),
    ({"of": "deals", "filter": {"CLOSED": "N"}, "fields": {"COMMENTS": "{TITEL}"}}, "gate-bulk-place"),
    ({"of": "deals", "filter": {"NO_SUCH": 1}, "fields": COMMENT}, "gate-filter-field"),
    ({"of": "deals", "filter": {"TITLE": "нет такой"}, "fields": COMMENT}, "gate-bulk-none"),
    ({"of": "deals", "filter": {"CLOSED": "N"}, "fields": {"OPPORTUNITY": "много"}}, "gate-value-number"),
    ({"of": "deals", "filter": {"CLOSED": "N"}, "add": {"method": "im.message.add", "fields": {"MESSAGE": "x"}}}, "gate-param-invalid"),
    ({"of": "deals", "filter": {"CLOSED": "N"}, "add": {"method": "crm.deal.delete", "fields": {"id": 1}}}, "gate-param-invalid"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
async def test_what_cannot_be_done_is_refused_with_its_reason_before_any_card(tmp_path: Path, params: dict[str, Any], code: str) -> None:
    async with a_bulk_world(tmp_path) as world:
        rows = await propose(world, params, is_refused=True)
        assert not [row for row in rows if row.kind == "card"]
        assert code in str([row.body for row in rows])
        assert cast("Firm", world.portal).list_writes() == []


async def test_in_shadow_mode_the_whole_change_is_only_planned(tmp_path: Path) -> None:
    async with a_bulk_world(tmp_path, mode="shadow") as world:
        rows = await propose(world, CHANGE)
        assert not [row for row in rows if row.kind == "card"]
        assert "shadow-plan" in str([row.body for row in rows])
        assert rows[0].session == CHAT


async def test_without_the_engine_that_carries_it_out_nobody_is_asked(tmp_path: Path) -> None:
    async with a_firm() as firm, a_world(tmp_path, portal=cast("Any", firm), people=(ANNA,)) as bare:
        rows = await propose(bare, is_refused=True)
        assert not [row for row in rows if row.kind == "card"]
        assert "gate-kind-missing" in str([row.body for row in rows])


async def test_the_same_change_proposed_twice_has_one_card(world: World) -> None:
    first = find_card(await propose(world))
    world.model.will(reply({**step("change.all", CHANGE), "last": True}))
    await world.work(message("поменяй ещё раз"))
    again = [row for row in world.outbox() if row.kind == "card"]
    assert {row.body["confirmation_id"] for row in again} <= {first["confirmation_id"]}
    session = await world.session()
    assert len([card for card in session.state.cards.values() if card.is_waiting]) == 1


HOSTILE = "{ASSIGNED_BY_ID} [b]срочно[/b] [USER=1]Пётр[/USER] @all {TITLE} " + "ы" * 10_000


async def test_a_hostile_title_in_a_template_is_text_and_fills_no_second_place(world: World) -> None:
    firm = cast("Firm", world.portal)
    deals = firm.box.store.table("deal").rows.items()
    own = sorted(number for number, row in deals if row["CLOSED"] == "N" and str(row["ASSIGNED_BY_ID"]) == "7")
    other = own[-1]
    await firm.read("crm.deal.update", {"id": own[0], "fields": {"TITLE": HOSTILE}})
    await firm.read("crm.deal.update", {"id": other, "fields": {"TITLE": "$result[c1][task][description]"}})
    add = {"method": "tasks.task.add", "fields": {"TITLE": "Позвонить", "DESCRIPTION": "О сделке: {TITLE}"}}
    card = find_card(await propose(world, {"of": "deals", "filter": {"CLOSED": "N"}, "add": add}))
    assert card["preview"]["count"] == 18  # the title that is a reference of a batch is left out and named
    assert [line["after"] for line in card["preview"]["lines"] if line.get("is_held")] == [f"1 (deal:{other})"]
    rows = await decide(world, card)
    assert read_end(rows)[0] == ("bulk-done", {"made": 18, "count": 18})
    tasks = (await firm.read("tasks.task.list", {"filter": {"TITLE": "Позвонить"}, "select": ["ID", "DESCRIPTION"]}))["tasks"]
    told = [task["description"] for task in tasks]
    assert sum("{ASSIGNED_BY_ID}" in text for text in told) == 1


async def test_two_changes_of_the_same_records_write_each_value_once_and_name_what_the_other_has_changed(world: World) -> None:
    firm = cast("Firm", world.portal)
    first = find_card(await propose(world))
    other = {**CHANGE, "fields": {"COMMENTS": "Иначе"}}
    second = find_card(await propose(world, other))
    await world.work(press(first), press(second))
    ends = [row.body["notices"] for row in world.outbox() if row.key.endswith(":progress")]
    done = [notices[0]["args"]["made"] for notices in ends if notices[0]["code"] == "bulk-done"]
    assert sum(done) == 19
    values = [deal["COMMENTS"] for deal in await firm.read("crm.deal.list", {"filter": {"CLOSED": "N"}, "select": ["COMMENTS"]})]
    assert {values.count("Проверено"), values.count("Иначе")} == set(done)


async def test_a_deleted_record_and_a_dismissed_owner_are_left_out(world: World) -> None:
    firm = cast("Firm", world.portal)
    card = find_card(await propose(world))
    firm.box.erase("deal", 481)
    done, left = read_end(await decide(world, card))
    assert done == ("bulk-done", {"made": 18, "count": 19})
    assert left[1]["count"] == 1
    assert left[1]["why"] == "gate-bulk-changed"


async def test_nothing_goes_to_somebody_who_was_dismissed(world: World) -> None:
    firm = cast("Firm", world.portal)
    gone = next(number for number, row in firm.box.store.table("user").rows.items() if not row["ACTIVE"])
    rows = await propose(world, {"of": "deals", "filter": {"CLOSED": "N"}, "fields": {"ASSIGNED_BY_ID": gone}}, is_refused=True)
    assert not [row for row in rows if row.kind == "card"]
    assert firm.list_writes() == []


async def test_an_owner_who_is_dismissed_while_the_card_waits_gets_nothing(world: World) -> None:
    firm = cast("Firm", world.portal)
    card = find_card(await propose(world, {**CHANGE, "fields": {"ASSIGNED_BY_ID": 8}}))
    firm.box.store.table("user").rows[8]["ACTIVE"] = False
    world.clock.advance(timedelta(hours=2))
    _, left = read_end(await decide(world, card))
    assert (left[1]["why"], left[1]["count"]) == ("gate-user-inactive", 19)
    assert firm.list_writes() == []
