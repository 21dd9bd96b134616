"""What is kept of a run that ended long ago: its records, and nothing else."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.inputs import FeatureClick
from orchestrator.reports.consistency import EffectChecker
from orchestrator.runs.feature import RunRetention
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow
from state.sql import build_sqlite_url, open_store
from state.verify.journal import verify_journal
from tests.unit.runs.runs_kit import RUN, a_run_world, events, start, steps
from tests.unit.spine_kit import ANNA, CHAT, NOW, World

OTHER = "run:0190aaaa-0000-7000-8000-000000000002"
LARGE = "Поставка трансформаторов. " * 200
KEEP = timedelta(days=90)
DOCUMENTS = {
    "model": steps({"model": "скажи"}),
    "child": steps({"child": "model"}),
    "waits": steps({"ask": "Да?", "options": ["Да"]}),
    "fails": steps({"odd": "x"}),
}


async def look(world: World, task: RunRetention | None = None) -> list[InboxRow]:
    """One round of the periodic task; the orders that it gave are obeyed."""
    ordered: list[InboxRow] = []

    async def receive(rows: Any) -> None:
        ordered.extend(rows)

    await (task or RunRetention(world.store, KEEP)).run(receive, world.clock.now())
    await world.work(*ordered)
    return ordered


def keys(world: World) -> set[str]:
    return {f"run:{row.run_id}" for row in world.sql.list_runs(RunFilter())}


def blob_of(world: World, key: str = RUN) -> str | None:
    """The large value of the run's first node."""
    (done,) = events(world, "NodeDone", key=key)
    return world.sql.load_blob(done.data["output_blob"])


def findings(url: str) -> list[Any]:
    return [one for one in verify_journal(url, judge=EffectChecker, anchors={}, progress=lambda _: None).findings if one.kind != "note"]


@pytest.mark.req("G2")
async def test_a_run_that_ended_long_ago_is_forgotten_and_a_later_one_is_not(tmp_path: Path) -> None:
    """Entry, snapshot and own blob go, the same answer of another run stays, the records stay, and the journal is whole."""
    url = build_sqlite_url(tmp_path / "state" / "sdelka.db")
    async with a_run_world(tmp_path, DOCUMENTS, store=open_store(url)) as world:
        world.model.will(LARGE)
        await world.work(start("model"))
        world.clock.advance(timedelta(days=2))
        world.model.will(LARGE)
        await world.work(start("model", key=OTHER))
        assert blob_of(world) != blob_of(world, OTHER)
        world.clock.advance(timedelta(days=89))
        assert [row.session for row in await look(world)] == [RUN]
        assert keys(world) == {OTHER}
        assert [one.type for one in events(world)] == ["RunStarted", "ModelAsked", "NodeDone", "RunFinished", "RunForgotten"]
        assert (blob_of(world), world.sql.load_snapshot(RUN)) == (None, None)
        assert blob_of(world, OTHER) is not None
        assert findings(url) == []
        assert await look(world) == []


async def test_what_is_not_over_is_never_forgotten(tmp_path: Path) -> None:
    """However long a run waits."""
    async with a_run_world(tmp_path, DOCUMENTS) as world:
        await world.work(start("waits"))
        world.clock.advance(timedelta(days=4000))
        assert await look(world) == []
        assert keys(world) == {RUN}


async def test_a_button_of_a_forgotten_run_does_nothing(tmp_path: Path) -> None:
    """«Повторить» under a message of last year: the person reads that it is outdated, and nothing begins."""
    async with a_run_world(tmp_path, DOCUMENTS) as world:
        await world.work(start("fails"))
        world.outbox()
        world.clock.advance(timedelta(days=91))
        await look(world)
        fresh = generate_id()
        body = FeatureClick(words=("run", RUN.removeprefix("run:"), "retry"), callback_id=fresh).to_json()
        click = InboxRow(
            id=fresh, source=fresh, session=CHAT, lane="express", kind=FeatureClick.KIND, actor=ANNA.model_dump(mode="json"),
            body=body, received_at=NOW,
        )  # fmt: skip
        await world.work(click)
        assert world.codes() == ["toast:card-outdated"]
        assert (keys(world), events(world)[-1].type) == (set(), "RunForgotten")


async def test_a_removal_that_was_cut_off_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process died between the note and the removal: the entry is still listed, so the next round removes it, with one note."""
    async with a_run_world(tmp_path, DOCUMENTS) as world:
        world.model.will(LARGE)
        await world.work(start("model"))
        world.clock.advance(timedelta(days=91))
        with monkeypatch.context() as dying:
            dying.setattr(world.sql, "remove_run", _die)
            await look(world)
        assert (keys(world), blob_of(world) is None) == ({RUN}, False)
        world.clock.advance(timedelta(hours=2))
        await look(world)
        assert (keys(world), blob_of(world)) == (set(), None)
        assert len(events(world, "RunForgotten")) == 1


async def test_the_task_looks_every_few_hours(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, DOCUMENTS) as world:
        task = RunRetention(world.store, KEEP)
        assert await look(world, task) == []
        await world.work(start("fails"))
        started: datetime = world.clock.now()
        world.clock.advance(timedelta(days=91))
        assert [row.session for row in await look(world, task)] == [RUN]
        assert world.clock.now() - started == timedelta(days=91)


def _die(*_: Any) -> int:
    msg = "the process died"
    raise RuntimeError(msg)
