"""A change of many records, killed anywhere between the request and the end of its way back: each record once, none lost, the rest goes on.

Short form: a dozen places. Long form (`make crash`): 240 places, of about 540.
"""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.lab import Nursery
from tests.crash.lab_bulk import judge_bulk, kill_bulk, list_bulk_kills, serve_portal
from tests.crash.lab_walk import Record

FEW, MANY, DEATHS = 12, 240, 200


async def _walk(nursery: Nursery, folder: Path, count: int, record: Record) -> Counter[str]:
    figures: Counter[str] = Counter(dict.fromkeys(("deaths", "doubles", "lost", "wrong"), 0))
    found: dict[str, list[str]] = {}
    async with serve_portal() as portal:
        whole = await kill_bulk(nursery, folder / "whole", portal)
        assert judge_bulk(whole) == []
        for number, kill in enumerate(list_bulk_kills(whole, count)):
            run = await kill_bulk(nursery, folder / str(number), portal, kill)
            figures["runs"] += 1
            figures["deaths"] += run.deaths
            wrong = judge_bulk(run)
            shutil.rmtree(folder / str(number))
            found |= {str(kill["at"]): wrong} if wrong else {}
            figures["doubles"] += sum("doubled" in text for text in wrong)
            figures["lost"] += sum("lost" in text for text in wrong)
            figures["wrong"] += len(wrong)
    record("crash_count", dict(figures))
    assert found == {}
    return figures


@pytest.mark.long
@pytest.mark.timeout(120)
async def test_a_double_and_a_loss_are_found(nursery: Nursery, lab_folder_of_runs: Path) -> None:
    """The judge sees what it is for."""
    async with serve_portal() as portal:
        run = await kill_bulk(nursery, lab_folder_of_runs / "run", portal)
    write = next(call for call in run.calls if call["method"] == "crm.deal.update")
    ends = [line for line in run.lines if not str(line.get("key")).endswith(":progress")]
    assert any("doubled" in text for text in judge_bulk(replace(run, calls=[*run.calls, write])))
    assert any("record is lost" in text for text in judge_bulk(replace(run, calls=[call for call in run.calls if call is not write])))
    assert any("run is lost" in text for text in judge_bulk(replace(run, lines=ends)))


@pytest.mark.long
@pytest.mark.timeout(120)
async def test_killed_at_a_dozen_places(nursery: Nursery, lab_folder_of_runs: Path, record_property: Record) -> None:
    """Between the request and the way back."""
    figures = await _walk(nursery, lab_folder_of_runs, FEW, record_property)
    assert figures["deaths"] >= FEW // 2  # a busy machine may store two things at once, so that a place is not reached


@pytest.mark.crash_long
@pytest.mark.timeout(3600)
async def test_killed_at_places_of_all_it_does(nursery: Nursery, lab_folder_of_runs: Path, record_property: Record) -> None:
    """While it is frozen, sent, approved, written, told, and taken back, evenly."""
    figures = await _walk(nursery, lab_folder_of_runs, MANY, record_property)
    record_property("crash", f"long, many records: {figures['deaths']} deaths in {figures['runs']} runs of 60 records and their way back")
    assert figures["deaths"] >= DEATHS
