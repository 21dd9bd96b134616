"""Whatever others do between the file, the press and the parts: nothing but the file is changed, and nothing of theirs is overwritten.

A history is what befell one record. No portal writes only if a value still holds, so nobody edits a record between its look and its write.
"""

import json
import random
import re
from pathlib import Path
from typing import Final, cast

import httpx
import pytest

from orchestrator.domain import bulk
from tests.unit.engines.bulk_changes.bulk_kit import Firm, a_bulk_world, decide, find_card, propose, read_end

OURS: Final = "Проверено"
SAID: Final = ("Звонил", "Ждём счёт", OURS, "")
RECORDS: Final = 41
"""Open deals of the sample firm, each with its history; the file has those of one person."""
_READ: Final = re.compile(r"crm\.deal\.get\?id=(\d+)")
_WRITTEN: Final = re.compile(r"crm\.deal\.update\?id=(\d+)")


class Others:
    """Edit deals at random moments, and know what the program saw."""

    def __init__(self, firm: Firm, chance: random.Random) -> None:
        self._store, self._chance = firm.box.store, chance
        self.expected = self.read()
        self.seen: dict[int, str] = {}
        """By deal, at the last look before its write."""
        self.written: list[int] = []
        self._under_way: set[int] = set()

    def read(self) -> dict[int, str]:
        return {number: row.get("COMMENTS") or "" for number, row in self._store.table("deal").rows.items()}

    def edit(self, most: int) -> None:
        free = sorted(self.expected.keys() - self._under_way)
        for number in self._chance.sample(free, min(len(free), self._chance.randint(0, most))):
            said, closed = self._chance.choice(SAID), self._chance.choice("NNNY")
            self._store.put("deal", {**self._store.table("deal").rows[number], "COMMENTS": said, "CLOSED": closed})
            self.expected[number] = said
        self._store.commit()

    def watch(self, request: httpx.Request) -> None:
        params = json.loads(request.content)
        method = request.url.path.rpartition("/")[2]
        commands = " ".join(params["cmd"].values()) if method == "batch" else f"{method}?id={params.get('id')}"
        if writes := [int(number) for number in _WRITTEN.findall(commands)]:
            self.written += writes
            self.expected |= dict.fromkeys(writes, OURS)
        elif reads := {int(number) for number in _READ.findall(commands)}:
            self.edit(6)
            first = reads - set(self.written)
            self.seen |= {number: text for number, text in self.read().items() if number in first}
            self._under_way = (self._under_way | first) - (reads - first)


async def play(folder: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - edits, no secrets
    async with a_bulk_world(folder) as world:
        firm = cast("Firm", world.portal)
        others = Others(firm, chance)
        others.edit(20)
        card = find_card(await propose(world))
        (frozen,) = world.events("BulkFrozen")
        file = await world.gate.deps.bulk.load(frozen.data["file"])
        assert file is not None
        before = {int(item.record.partition(":")[2]): item.before.get("COMMENTS") or "" for item in file.items}
        others.edit(20)
        firm.watch = others.watch
        done, *left = read_end(await decide(world, card))
        assert len(set(others.written)) == len(others.written), f"{seed}: written twice"
        assert set(others.written) <= before.keys(), f"{seed}: not in the file"
        assert {number: others.seen[number] for number in others.written} == {number: before[number] for number in others.written}, seed
        assert others.read() == others.expected, f"{seed}: somebody's words are gone"
        assert done[1]["made"] == len(others.written), seed
        assert done[1]["made"] + sum(one[1]["count"] for one in left) == len(file.items), seed
        stayed = {number for number in before if number not in others.written}
        assert all(others.seen[number] != before[number] for number in stayed), f"{seed}: left out for nothing"


async def test_some_histories_of_edits_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PART", 3)
    for seed in range(4):
        await play(tmp_path / str(seed), seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 10_000, 1_000))
async def test_ten_thousand_histories_of_edits_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    monkeypatch.setattr(bulk, "PART", 3)
    for seed in range(first, first + 1_000, RECORDS):
        await play(tmp_path / str(seed), seed)
