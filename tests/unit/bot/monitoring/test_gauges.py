"""Gauges: what stands in the tables, bounded in time; a database that hangs or is damaged costs a scrape its gauges and nothing else."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from bot.monitoring import gauges
from bot.monitoring.gauges import Gauges, Scrape
from state.clock import format_iso, generate_id, read_boottime
from state.journal.store import Commit, EffectChange, InboxRow, OutboxRow, StoreError, Timer
from state.sql import build_sqlite_url
from state.sql.backlog import Backlog, BacklogReader, Waiting
from state.sql.store import open_store
from tests.fixed_clock import FixedClock
from tests.unit.spine_kit import a_world, message, reply

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
AGO = NOW - timedelta(minutes=10)


def filled(path: Path) -> str:
    """A database with something in each table."""
    url = build_sqlite_url(path)
    store = open_store(url)
    lease = store.acquire("tg:1", "me", NOW, NOW + timedelta(minutes=1))
    assert lease is not None
    for number in range(3):
        store.put_inbox(
            [
                InboxRow(
                    id=generate_id(), source=f"s{number}", session="tg:1", lane="turn", kind="message", actor={}, body={}, received_at=AGO
                )
            ]
        )
    outgoing = [
        OutboxRow(id=generate_id(), session=session, channel=session[:2], kind="reply", body={}, created_at=AGO, due_at=AGO)
        for session in ("tg:1", "xy:Иван")
    ]
    changes = [EffectChange(effect_id=f"e{n}", expect=("absent",), status="requested", call={}) for n in range(2)]
    changes.append(EffectChange(effect_id="u", expect=("absent",), status="unknown", call={}))
    timers = [Timer(id="a", due_at=AGO, session="tg:1", kind="x"), Timer(id="b", due_at=NOW + timedelta(days=1), session="tg:1", kind="x")]
    store.commit(Commit(stream="session:tg:1", epoch=lease.epoch, actor="tg:1", now=AGO, outbox=outgoing, effects=changes, timers=timers))
    store.close()
    return url


def test_the_figures_are_those_of_the_tables(tmp_path: Path) -> None:
    """Depths, ages, timers, size; without opening the database for writing."""
    reader = BacklogReader(filled(tmp_path / "a.db"))
    found = reader.read(format_iso(NOW))
    reader.close()

    assert found.inbox == {"turn": Waiting(count=3, oldest=format_iso(AGO))}
    assert found.outbox == {
        ("tg", "new"): Waiting(count=1, oldest=format_iso(AGO)),
        ("xy", "new"): Waiting(count=1, oldest=format_iso(AGO)),
    }
    assert found.effects == {"requested": Waiting(count=2, oldest=format_iso(AGO)), "unknown": Waiting(count=1, oldest=format_iso(AGO))}
    assert (found.timers, found.timers_due) == (2, 1)
    assert found.database_bytes > 10_000


def test_a_damaged_or_missing_database_is_an_error_of_the_store(tmp_path: Path) -> None:
    """And of nothing else."""
    (tmp_path / "b.db").write_bytes(b"this is no database" * 500)
    for url in (build_sqlite_url(tmp_path / "b.db"), build_sqlite_url(tmp_path / "none.db")):
        with pytest.raises(StoreError):
            BacklogReader(url).read(format_iso(NOW))


async def test_a_scrape_shows_the_figures_with_unknown_channels_together(tmp_path: Path) -> None:
    """What another part of the program calls its channel is no label."""
    scrape = Scrape(CollectorRegistry(), Gauges(BacklogReader(filled(tmp_path / "a.db")).read, FixedClock(NOW)))
    found = parsed(await scrape.render())
    await scrape.aclose()

    assert found["sdelka_database_up", ""] == 1
    assert found["sdelka_inbox_depth", "turn"] == 3
    assert found["sdelka_inbox_oldest_seconds", "turn"] == 600
    assert (found["sdelka_outbox_depth", "tg"], found["sdelka_outbox_depth", "other"]) == (1, 1)
    assert found["sdelka_confirmations_waiting", ""] == 2
    assert found["sdelka_confirmation_oldest_seconds", ""] == 600
    assert found["sdelka_unknown_outcomes_open", ""] == 1
    assert found["sdelka_timers_due", ""] == 1
    assert found["sdelka_writes_frozen", ""] == 0


async def test_a_look_that_hangs_leaves_the_scrape_the_last_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers within its patience, says that the database is silent, and starts no second look beside the first."""
    monkeypatch.setattr(gauges, "PATIENCE", 0.05)
    monkeypatch.setattr(gauges, "FRESH", 0.0)
    monkeypatch.setattr(gauges, "SHARE", 0)
    monkeypatch.setattr(gauges, "TEXT_FOR", 0.0)
    hang, looks = threading.Event(), []

    def look(_: str) -> Backlog:
        looks.append(1)
        if len(looks) > 1:
            hang.wait(20)
        return Backlog(timers=7)

    scrape = Scrape(CollectorRegistry(), Gauges(look, FixedClock(NOW)))
    first = parsed(await scrape.render())
    begun = read_boottime()
    second, third = parsed(await scrape.render()), parsed(await scrape.render())
    assert read_boottime() - begun < 2
    assert [one["sdelka_database_up", ""] for one in (first, second, third)] == [1, 0, 0]
    assert second["sdelka_timers", ""] == third["sdelka_timers", ""] == 7
    assert len(looks) == 2
    hang.set()
    await scrape.aclose()


@pytest.mark.slow
async def test_a_turn_goes_on_while_a_scrape_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And while another one meets a damaged database: the person is answered in between."""
    monkeypatch.setattr(gauges, "PATIENCE", 0.5)
    (tmp_path / "b.db").write_bytes(b"this is no database" * 500)
    hang = threading.Event()
    looks = (lambda _: Backlog(timers=int(hang.wait(20))), BacklogReader(build_sqlite_url(tmp_path / "b.db")).read)
    scrapes = [Scrape(CollectorRegistry(), Gauges(look, FixedClock(NOW))) for look in looks]
    async with a_world(tmp_path) as world:
        asked = [asyncio.ensure_future(scrape.render()) for scrape in scrapes]
        world.model.will(reply())
        await world.work(message("привет"))
        assert [row for row in world.outbox() if row.kind == "reply"]
        assert not asked[0].done()
    assert [parsed(await one)["sdelka_database_up", ""] for one in asked] == [0, 0]
    hang.set()
    for scrape in scrapes:
        await scrape.aclose()


async def test_a_look_that_fails_is_no_error_of_the_scrape() -> None:
    """Whatever it raises."""

    def look(_: str) -> Backlog:
        raise MemoryError

    scrape = Scrape(CollectorRegistry(), Gauges(look, FixedClock(NOW)))
    assert parsed(await scrape.render()) == {("sdelka_database_up", ""): 0}
    await scrape.aclose()


def parsed(text: bytes) -> dict[tuple[str, str], float]:
    families = text_string_to_metric_families(text.decode())
    return {(sample.name, ",".join(sample.labels.values())): sample.value for family in families for sample in family.samples}
