"""`sdelka workflow blocks` and `block`: what workflows did on a record, as its staff reads it in a terminal."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engines.workflows.core.blocks import manager
from engines.workflows.core.blocks.manager import Finish, Opening
from orchestrator.runtime import worker
from state.journal import record_blocks
from state.journal.record_blocks import RecordPlace
from state.sql.dialect import build_sqlite_url
from state.sql.store import SqlStore, open_store
from tests.unit.engines.scenarios.terminal.scenario_files import expect, stand_alone
from tests.unit.engines.workflows.played_kit import a_workflow_world, start
from tests.unit.engines.workflows.terminal.workflow_files import call, call_json
from tests.unit.engines.workflows.test_record_runs import answers, change, meanwhile, on_deal
from tests.unit.runs.runs_kit import RUN
from tests.unit.runs.test_runs_wait import click
from tests.unit.spine_kit import ANNA, press

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
VERA = "tg:2002"
RUN_ID = RUN.removeprefix("run:")


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with an empty database of the settings; pauses of the loop are shortened, not mocked away."""
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.setattr(worker, "POLL", 0.02)
    open_here().close()


def open_here() -> SqlStore:
    return open_store(build_sqlite_url(Path("sdelka.db").resolve()))


def leave_block(
    store: SqlStore, run: str, *, owner: str = ANNA.key, number: int = 481, days: float = 0, title: str = "Ромашка", **post_user: Any
) -> None:
    """A run works on a deal and ends, with these fields changed."""
    place, block = RecordPlace("deal", number), f"deal:{number}:{run}"
    at = NOW + timedelta(days=days)
    opening = Opening(
        block=block,
        run=run,
        definition="dossier",
        version=1,
        by=owner,
        title=title,
        input={"TITLE": title, "OPPORTUNITY": "1000", "A": "1"},
    )
    given = Finish(raw_text=f"итог {run}", origins=("model",), operations=(), post_ai={"OPPORTUNITY": 1200}, post_user=post_user)
    change_ = record_blocks.change_blocks
    change_(store, place, lambda known: manager.open_block(known, opening, frozenset(), 1), owner, at)
    change_(store, place, lambda known: manager.finish_block(known, block, given), owner, at + timedelta(minutes=2))


@pytest.mark.req("S003-54", "S003-X10")
async def test_the_blocks_of_a_record_tell_what_a_run_did_there(tmp_path: Path) -> None:
    """While a person is asked, which field; then who chose what, the fields before and after, and what became of the changes."""
    document = on_deal(change("OPPORTUNITY", 120000), change("TITLE", "Роза"))
    async with a_workflow_world(tmp_path, document, world_options={"store": open_here()}) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00", TITLE="Лютик"))
        await world.work(start(deal="481"))
        told = expect(call("blocks", "deal:481"), 0)
        assert all(part in told for part in ("ждёт выбора", "OPPORTUNITY?, TITLE?", ANNA.key, "dossier"))
        (asked,) = [one for one in answers(world) if one["actions"]]
        await world.work(click(*asked["actions"][1]["words"]))
        asked = [one for one in answers(world) if one["actions"]][-1]
        await world.work(click(*asked["actions"][0]["words"]))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=RUN))
    _, told = call("blocks", "deal:481")
    assert "OPPORTUNITY: 1000000.00 → 120000; TITLE: Ромашка → Лютик" in told
    assert "готов" in told
    told = expect(call("block", RUN_ID), 0)
    lines = [[cell.strip() for cell in line.split("│")] for line in told.splitlines() if "│" in line]
    assert ["OPPORTUNITY", "1000000.00", "120000", "120000"] in lines
    assert ["TITLE", "Ромашка", "Роза", "Лютик"] in lines
    assert ["OPPORTUNITY", "1000000.00", "150000.00", "120000", "как предложено", ANNA.key] in lines
    assert ["TITLE", "Ромашка", "Лютик", "Роза", "оставить как изменили", ANNA.key] in lines
    assert ["ModifyEntity deal 481", "сделано", ""] in lines
    assert "\nитог\n" in told
    _, (block,) = call_json("block", f"deal:481:{RUN_ID}")
    assert (block["raw_text"], block["person"], block["erased"]) == ("итог", ANNA.key, False)
    assert [(one["key"], one["chosen"], one["by"]) for one in block["conflicts"]] == [
        ("OPPORTUNITY", "process", ANNA.key),
        ("TITLE", "person", ANNA.key),
    ]
    assert block["changed"]["TITLE"] == {"before": "Ромашка", "after": "Лютик"}


def test_the_chain_is_told_in_its_order_with_times_and_parents() -> None:
    """Of many fields only the first are told; the table names each run by the end of its id, by which it is found."""
    with_fields: Mapping[str, Any] = {"A": "2", "OPPORTUNITY": "1200", "X": "1", "Y": "2", "Z": "3"}
    store = open_here()
    leave_block(store, "0190aaaa-0000-7000-8000-00000000000a", **with_fields)
    leave_block(store, "0190aaaa-0000-7000-8000-00000000000b", days=1)
    store.close()
    code, told = call("blocks", "deal:481", "--language", "en")
    first, second = [line for line in told.splitlines() if "ready" in line]
    assert (code, first.split()[0], second.split()[0]) == (0, "00000000000a", "00000000000b")
    assert "2026-11-21 12:00:00Z │ 2026-11-21 12:02:00Z │ OPPORTUNITY: 1000 → 1200; A: 1 → 2; X: — → 1; 2 more" in first
    code, rows = call_json("blocks", "deal:481")
    assert [(one["id"][-1], one["parent"][-1:], one["status"]) for one in rows] == [("a", "", "Idle"), ("b", "a", "Idle")]
    assert call_json("block", "00000000000b")[1][0]["id"] == rows[1]["id"]
    assert call_json("block", "deal:481:00000000000b")[1][0]["id"] == rows[1]["id"]


def test_a_run_that_is_not_known_any_more_does_not_seem_to_work() -> None:
    """A block whose run is over keeps nobody out, and the terminal does not say that somebody works on the record."""
    store = open_here()
    opening = Opening(block="deal:481:a", run="a", definition="dossier", version=1, by=ANNA.key, title="Ромашка", input={})
    record_blocks.change_blocks(
        store, RecordPlace("deal", 481), lambda known: manager.open_block(known, opening, frozenset(), 1), ANNA.key, NOW
    )
    store.close()
    assert "запуск завершён без результата" in call("blocks", "deal:481")[1]
    (row,) = call_json("blocks", "deal:481")[1]
    assert (row["status"], row["run_is_over"], row["ended"]) == ("Loading", True, "")


@pytest.mark.req("S003-54", "S003-72")
def test_what_an_erased_person_left_shows_as_erased() -> None:
    """The block stays in the chain; its texts and pictures are told as erased, those of others as they are."""
    store = open_here()
    leave_block(store, "a", OPPORTUNITY="1200")
    leave_block(store, "b", owner=VERA, days=1, OPPORTUNITY="1300")
    store.open_erasure().erase(ANNA.key, NOW, digests=[], change=lambda body: body)
    store.close()
    first, second = [line for line in call("blocks", "deal:481")[1].splitlines() if "готов" in line]
    assert "стёрто" in first
    assert "OPPORTUNITY: 1000 → 1300" in second
    told = call("block", "deal:481:a")[1]
    assert "Тексты и значения стёрты вместе с данными сотрудника." in told
    assert "итог" not in told
    (block,) = call_json("block", "deal:481:a")[1]
    assert (block["erased"], block["input"], block["raw_text"]) == (True, {}, "")
    assert "стёрт" not in call("block", "deal:481:b")[1]


@pytest.mark.parametrize(("words", "why"), [
    (("blocks", "deal:7"), "deal:7: no workflow has worked on this record, or its blocks are older than a year"),
    (("blocks", "481"), "'481' is no record: write its kind and number, such as deal:481 (kinds: company, contact, deal, lead)"),
    (("blocks", "task:481"), "'task:481' is no record"),
    (("blocks", "deal:0"), "'deal:0' is no record"),
    (("blocks", "deal:" + "0" * 16 + "9" * 5000), "is no record"),
    (("block", "deal:481"), "'deal:481' is no block: write the id of its run behind the record, such as deal:481:5f2c"),
    (("block", "task:481:a"), "'task:481' is no record"),
    (("block", "zz"), "there is no block 'zz'; `sdelka workflow blocks deal:481` lists those of a record"),
    (("block", ""), "there is no block ''"),
    (("block", "run"), "'run' may be deal:481:run1, deal:482:run2: give more of it"),
])  # fmt: skip
def test_what_cannot_be_shown_is_said_in_a_sentence(words: tuple[str, ...], why: str) -> None:
    """Records and blocks that there are not, that are written wrongly, or of which several fit."""
    store = open_here()
    leave_block(store, "run1")
    leave_block(store, "run2", number=482)
    store.close()
    expect(call(*words), 2, why)


@pytest.mark.long
def test_a_block_that_is_not_kept_any_more_is_told_so() -> None:
    """Its opening still stands in the journal, and nothing of it is read."""
    store = open_here()
    leave_block(store, "old")
    for number in range(record_blocks.MOST_BLOCKS):
        opening = Opening(block=f"deal:481:r{number}", run=f"r{number}", definition="d", version=1, by=VERA, title="", input={})
        record_blocks.change_blocks(
            store,
            RecordPlace("deal", 481),
            lambda known, one=opening: manager.open_block(known, one, frozenset({known[-1].run}), record_blocks.find_kept_from(known, NOW)),
            VERA,
            NOW,
        )
    store.close()
    expect(call("block", "old"), 2, "the block deal:481:old is not kept any more")
