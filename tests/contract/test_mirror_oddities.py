"""Portals that are not as one would wish: empty, imported, with 300 fields of their own, currencies without a rate, stages that are gone."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.mirror.books import MOST_FIELDS
from orchestrator.mirror.keeper import MirrorKeeper
from orchestrator.mirror.load import find_history_start
from orchestrator.mirror.sources import HISTORY, SOURCES, Source
from sandbox.portal import portal as sandbox_portal
from sandbox.portal.firm.size import Firm as FirmSize
from sandbox.portal.methods import HANDLERS
from sandbox.portal.schema import ACTIVITY, BY_TYPE_ID, TASK
from sandbox.portal.schema import HISTORY as HISTORY_SCHEMA
from state.mirror.rows import ChoiceRow
from state.mirror.writing import MirrorWriter
from tests.contract.mirror_kit import World, dump, open_world


@contextlib.asynccontextmanager
async def load_firm(folder: Path, **oddities: Any) -> AsyncIterator[tuple[World, MirrorKeeper]]:
    async with open_world(folder, firm=FirmSize(**oddities)) as world:
        keeper = world.keep()
        await keeper.load()
        yield world, keeper
        keeper.close()


def read(keeper: MirrorKeeper, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(keeper.file.open_for_reading()) as connection:
        return connection.execute(query).fetchall()


async def test_a_new_portal_is_ready_and_notices_its_first_deal(tmp_path: Path) -> None:
    async with load_firm(tmp_path, deals=0) as (world, keeper):
        state = keeper.read_state()
        assert state is not None
        assert state.is_ready("deals", "leads", "activities", "calls", "tasks", "invoices", "history", "older_history")
        number = int(await world.portal.result("crm.deal.add", {"fields": {"TITLE": "first", "OPPORTUNITY": "0.07"}}))
        await world.refresh(keeper)
        assert read(keeper, "SELECT id, amount, reached FROM deal") == [(number, 7, 10)]
        assert read(keeper, "SELECT deal FROM move") == [(number,)]


async def test_300_own_fields_do_not_make_requests_long(tmp_path: Path) -> None:
    """At most 40 of them are mirrored, only lists; the state says how many are not."""
    async with load_firm(tmp_path, deals=300, own_fields=300) as (world, keeper):
        state = keeper.read_state()
        assert state is not None
        assert len([field for field in state.mirrored_fields if field.startswith("deal.")]) <= MOST_FIELDS
        longest = max(len(str(call)) for call in await world.portal.ledger("batch"))
        assert longest < 500_000


async def test_deals_without_history_are_closed_when_they_last_moved(tmp_path: Path) -> None:
    async with load_firm(tmp_path, deals=300, imported=True) as (_, keeper):
        without = "semantics <> 'P' AND id NOT IN (SELECT deal FROM move)"
        assert read(keeper, f"SELECT count(*) > 20, sum(closed IS NOT coalesce(moved, modified)) FROM deal WHERE {without}") == [(1, 0)]  # noqa: S608
        assert read(keeper, "SELECT count(*) FROM deal WHERE (semantics = 'P') <> (closed IS NULL)") == [(0,)]


async def test_a_currency_without_a_rate_has_no_value_in_the_base(tmp_path: Path) -> None:
    async with load_firm(tmp_path, deals=300, unrated=True) as (_, keeper):
        unrated = read(keeper, "SELECT count(*), sum(base IS NOT NULL) FROM deal WHERE currency NOT IN (SELECT currency FROM rate)")
        assert unrated[0][0] > 0
        assert unrated[0][1] == 0
        assert read(keeper, "SELECT count(*) FROM deal WHERE currency = 'RUB' AND base IS NOT amount") == [(0,)]


async def test_a_stage_that_is_gone_from_the_books_stays_in_the_history(tmp_path: Path) -> None:
    async with load_firm(tmp_path, deals=300, retired=True) as (_, keeper):
        gone = "SELECT stage FROM move EXCEPT SELECT code FROM stage WHERE kind = 'deal'"
        assert read(keeper, gone)
        assert read(keeper, "SELECT count(*) FROM deal WHERE reached IS NULL AND semantics <> 'F'") == [(0,)]


async def test_invoices_take_their_meaning_from_their_stages(tmp_path: Path) -> None:
    async with load_firm(tmp_path, deals=300) as (_, keeper):
        kinds = read(keeper, "SELECT semantics, closed IS NULL, count(*) FROM item WHERE type = 31 GROUP BY 1, 2")
        assert {(meaning, is_open) for meaning, is_open, _ in kinds} == {("P", 1), ("S", 0), ("F", 0)}


async def test_a_new_list_field_makes_its_records_be_read_once_more(tmp_path: Path) -> None:
    """The mirror is of a time when the field was not there; values of one that is gone are deleted."""
    async with load_firm(tmp_path, deals=50) as (world, keeper):
        whole = dump(keeper)
        assert whole["choice"]
        writer = MirrorWriter(keeper.file)
        with writer.transaction():
            writer.keep_choices({})
            writer.put_choices("deal", [1], [ChoiceRow("deal", 1, "UF_CRM_GONE", "1")], ["UF_CRM_GONE"])
            writer.set_marks({"fields": "deal.UF_CRM_GONE"})
        writer.close()
        await world.refresh(keeper, after=7 * 3600)
        assert not world.is_ready(keeper, "deals")
        await keeper.load()
        assert world.is_ready(keeper, "deals")
        assert dump(keeper)["choice"] == whole["choice"]


@pytest.mark.parametrize("moment", ["2026-11-30T23:59:30+03:00", "2026-01-31T00:00:00+03:00", "2028-02-29T12:00:00+00:00"])
def test_the_history_begins_at_the_first_of_the_month_13_months_ago(moment: str) -> None:
    starts = {"2026-11-30": "2025-10-01", "2026-01-31": "2024-12-01", "2028-02-29": "2027-01-01"}
    assert find_history_start(datetime.fromisoformat(moment)).isoformat()[:10] == starts[moment[:10]]


async def test_all_people_are_read_however_many_they_are(tmp_path: Path) -> None:
    """Also those who come later, and in one request when their number is known."""
    async with load_firm(tmp_path, deals=0) as (world, keeper):
        store = world.portal.portal.store  # type: ignore[union-attr]
        for numbers in (range(1000, 1170), range(1170, 1173)):
            for number in numbers:
                store.put("user", {**store.get("user", 7), "ID": number, "ACTIVE": False})
            await world.refresh(keeper, after=700)
            assert read(keeper, "SELECT count(*) FROM person") == [(len(list(store.walk("user"))),)]
        assert await world.refresh(keeper, after=700) == 1
        assert read(keeper, "SELECT count(*) FROM person WHERE is_active = 0")[0][0] >= 173


@pytest.mark.parametrize("when", ["at the load", "later"])
async def test_a_list_that_drops_its_filter_in_silence_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Rather than counted twice, or read for ever: calls are those of activities, and all else goes on."""
    async with open_world(tmp_path, firm=FirmSize(deals=250)) as world:
        keeper = world.keep()
        answer = HANDLERS["voximplant.statistic.get"]

        def drop_filter(call: Any) -> Any:
            kept = {name: value for name, value in call.params.items() if name != "FILTER"}
            return answer(replace(call, params=kept))

        if when == "later":
            await keeper.load()
            assert world.is_ready(keeper, "calls")
        monkeypatch.setattr(sandbox_portal, "HANDLERS", {**HANDLERS, "voximplant.statistic.get": drop_filter})
        await (world.refresh(keeper, after=61) if when == "later" else keeper.load())
        state = keeper.read_state()
        assert state is not None
        assert (state.parts["calls"].status, state.calls) == ("absent", "activities")
        assert state.is_ready("deals", "leads", "activities", "tasks", "invoices")
        assert read(keeper, "SELECT count(*) - count(DISTINCT id) FROM call") == [(0,)]


SCHEMAS = {
    "deal": BY_TYPE_ID[2],
    "lead": BY_TYPE_ID[1],
    "item:31": BY_TYPE_ID[31],
    "activity": ACTIVITY,
    "task": TASK,
    "move": HISTORY_SCHEMA,
}


@pytest.mark.parametrize("source", [source for source in (*SOURCES, HISTORY) if source.select], ids=lambda source: source.part)
def test_every_name_that_is_sent_is_known_to_the_portal(source: Source) -> None:
    """It drops unknown names in silence: a filter by one would give everything."""
    schema = SCHEMAS[source.kind]
    assert {*source.select, source.changed} - {""} <= {*schema.fields, *schema.by_camel}
