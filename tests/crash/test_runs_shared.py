"""Two processes play the same runs on one database, with their person at both; whoever is killed, another takes over after the lease."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.lab import DEAD, Evidence, Nursery, told
from tests.crash.lab_run_checks import judge_runs
from tests.crash.lab_run_walk import COUNTED, count_findings
from tests.crash.lab_run_world import opened_run_world
from tests.crash.lab_runs import WAYS
from tests.crash.lab_walk import Record, death
from tests.postgres_kit import Server

LONG = 3600
LEASE = 2.0
"""Seconds; a living process renews it three times as often, also on a busy machine."""
SHARED = [name for name, way in WAYS.items() if way.shared]
SAMPLED = 20
"""How many times the long form kills in each way; every fourth time both processes."""


@pytest.fixture
def figures(record_property: Record) -> dict[str, int]:
    """What is counted for the summary."""
    counted = dict.fromkeys(COUNTED, 0)
    record_property("crash_runs", counted)
    return counted


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """A fresh database on a real server."""
    url = postgres.fresh()
    yield url
    postgres.drop(url)


async def play_shared(
    nurseries: tuple[Nursery, Nursery], folder: Path, url: str, way: str, *, kill: int | str = 0, also: int | str = 0
) -> Evidence:
    """Play a way by two processes at once; whichever first comes to the place `kill` is killed there.

    With `also` each has a place of its own, and where both have died a third process comes.
    """
    shown = folder / "told.jsonl"
    folder.mkdir(parents=True)  # noqa: ASYNC240 - a test's own folder
    shown.touch()
    marks = [folder / "died-a", folder / "died-b"] if also else [folder / "died"] * 2
    async with opened_run_world() as world:
        common = {"port": world.port, "script": way, "told": str(shown), "database_url": url, "lease": LEASE, "settles": False}
        configs: list[dict[str, Any]] = [
            {**common, "folder": str(folder / name), "generation": number, "shared": f"{name}-", "alone": str(marks[number - 1])}
            for number, name in enumerate("abc")
        ]
        for config, at, mark in zip(configs, (kill, also or kill), marks, strict=False):
            if at:
                config["kill"] = death(at) | {"first": str(mark)}
        for config in configs:
            Path(config["folder"]).mkdir()  # noqa: ASYNC240 - a test's own folder
        codes = await asyncio.gather(*(asyncio.to_thread(one.run, config) for one, config in zip(nurseries, configs, strict=False)))
        if all(code in DEAD for code in codes):
            codes.append(await asyncio.to_thread(nurseries[0].run, configs[2]))
        codes.sort(key=lambda code: (code not in DEAD, code != 0))  # the last one is to have come to rest
        return Evidence(script=way, world=world, lines=told(folder), inbox=[], codes=codes)


async def _judge(run: Evidence, figures: dict[str, int]) -> list[str]:
    found = judge_runs(run)
    count_findings(figures, found)
    figures["points"] += sum(code in DEAD for code in run.codes)
    return found


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2", "S004-A2")
async def test_another_process_takes_over(
    nursery: Nursery, second_nursery: Nursery, tmp_path: Path, shared: str, figures: dict[str, int]
) -> None:
    """A process dies behind the first result that it stored: the other one ends the run, asks nothing again and writes once."""
    run = await play_shared((nursery, second_nursery), tmp_path / "lab", shared, "run-plan", kill="~commit.NodeDone.*:after")
    assert await _judge(run, figures) == []
    assert figures["points"] == 1


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2")
async def test_another_process_settles_an_unknown_outcome(
    nursery: Nursery, second_nursery: Nursery, tmp_path: Path, shared: str, figures: dict[str, int]
) -> None:
    """A process dies with a call on its way that the portal refused: the other one looks once it can no longer arrive, and the run goes on."""
    at = "~send.crm.deal.update.:acted"
    run = await play_shared((nursery, second_nursery), tmp_path / "lab", shared, "run-refused", kill=at)
    assert await _judge(run, figures) == []
    assert figures["points"] == 1


@pytest.mark.timeout(300)
@pytest.mark.req("G1", "G2")
async def test_a_third_process_takes_over(
    nursery: Nursery, second_nursery: Nursery, tmp_path: Path, shared: str, figures: dict[str, int]
) -> None:
    """Both processes die, each with something stored: a third one that is started ends the run."""
    at = "~put_inbox.*:after"
    run = await play_shared((nursery, second_nursery), tmp_path / "lab", shared, "run-child-again", kill=at, also=at)
    assert await _judge(run, figures) == []
    assert figures["points"] == len("ab")


@pytest.mark.crash_long
@pytest.mark.timeout(LONG)
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("way", SHARED)
async def test_one_of_two_killed_anywhere(
    way: str, nursery: Nursery, second_nursery: Nursery, tmp_path: Path, postgres: Server, figures: dict[str, int]
) -> None:
    """Decisions are pressed at both processes on PostgreSQL, and one of them or both die at any place: the runs end as if nothing had been."""
    dice = random.Random(f"14 {way}")  # noqa: S311 - a plan is no secret
    places, wrong = [0], {}
    for number in range(SAMPLED + 1):
        at = dice.choice(places)
        also = dice.choice(places) if number % 4 == 0 else 0
        url = postgres.fresh()
        try:
            run = await play_shared((nursery, second_nursery), tmp_path / str(number), url, way, kill=at, also=also)
        finally:
            postgres.drop(url)
        if found := await _judge(run, figures):
            wrong[f"{way} at {at}, {also}"] = found
        if not number:  # of two processes one may have nothing to do: both die where the busier one comes to
            places = list(range(5, max(len(line["labels"]) for line in run.lines if line["kind"] == "report")))
    assert wrong == {}
