"""How long the first `/history` and the first `GET /audit` about a record take after a start, beside a short journal and a long one.

SQLite on disk, a new process's store for each question, the portal answers at once. The floor is what cannot be left out: the stored calls
that are told of, read by their ids. The same number of calls is about the record in both journals.
"""

import asyncio
import contextlib
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.journal import turn
from bench.turn_world import InstantClient, InstantModel, Portal
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.features.history.call_audit import CallAudit, CallFilter
from orchestrator.features.history.record_index import RecordIndex
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.viewer import Viewer
from orchestrator.runtime.worker import Orchestrator
from state.canonical import dumps, hash_text
from state.clock import SystemClock, generate_id
from state.events.base import Event
from state.events.calls import CallStarted, CallSucceeded
from state.events.confirmations import ConfirmationApproved, ConfirmationRequested
from state.journal.store import Commit, EffectChange, InboxRow
from state.sql import build_sqlite_url, open_store
from state.sql.dialect import open_database
from tests.assembly_kit import assemble
from tests.unit.state.transfer.older_kit import take_back_to_0003

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
SHORT, LONG = 1_500, 15_000
"""Turns, of eight events each."""
ABOUT = 250
"""So many of their calls are about the record that is asked for."""
STREAMS = 20
DEALS = 1_000
TOGETHER = 25
TRIES = 5
PAGE = 50
BAR = 300
RECORD = 481
PORTAL = "bench"
ADMIN = Actor(key="tg:7", name="Борис", role="admin", bitrix_user_id=7)


async def history_benches() -> list[dict[str, Any]]:
    """First answers over both journals, their memory, the floor, and the upgrade of an older database."""
    with tempfile.TemporaryDirectory() as name:
        short, long = _settings(Path(name) / "short"), _settings(Path(name) / "long")
        for settings, turns in ((short, SHORT), (long, LONG)):
            await asyncio.to_thread(write_conversations, _url(settings), turns)
        small, large = await _memory(short, _page), await _memory(long, _page)
        shown = [await _first(settings, _page) for settings in (short, long)]
        told = [await _first(settings, _audit) for settings in (short, long)]
        floor = await asyncio.to_thread(_floor, _url(long))
        upgraded = await asyncio.to_thread(_upgraded, _url(long))
    beside = f"{SHORT * 8:,} events: {shown[0]:.0f} ms"
    return [
        _row(f"first /history, {LONG * 8:,} events", shown[1], "ms", f"<= {BAR} ms", holds=shown[1] <= BAR) | {"versus": beside},
        _row("first /history / reading its calls by their ids", shown[1] / floor, "x", "", holds=None)
        | {"versus": f"floor {floor:.1f} ms"},
        _row("first /history, long / short journal", shown[1] / shown[0], "x", "<= 1.5", holds=shown[1] <= 1.5 * shown[0]),
        _row("memory of the first /history, long / short", large / small, "x", "<= 1.2", holds=large <= 1.2 * small)
        | {"versus": f"at most {large / 1024:.0f} KiB at a time"},
        _row(f"first GET /audit of a record, {PAGE} calls", told[1], "ms", f"<= {BAR} ms", holds=told[1] <= BAR)
        | {"versus": f"{SHORT * 8:,} events: {told[0]:.0f} ms"},
        _row("upgrade of an older database, records/s", LONG * 8 / upgraded, "1/s", "", holds=None) | {"versus": f"{upgraded:.1f} s"},
    ]


def _settings(folder: Path) -> Settings:
    return Settings(_env_file=None, state_dir=folder / "state", log_dir=folder / "logs", agent_mode="full")


def _url(settings: Settings) -> str:
    return build_sqlite_url(settings.state_dir / "sdelka.db")


async def _first(settings: Settings, ask: Callable[[Orchestrator], Awaitable[None]]) -> float:
    """Milliseconds of the first answer after a start, in the middle of some starts."""
    took = []
    for _ in range(TRIES):
        async with _started(settings) as orchestrator:
            begun = time.perf_counter()
            await ask(orchestrator)
            took.append(time.perf_counter() - begun)
    return statistics.median(took) * 1000


async def _memory(settings: Settings, ask: Callable[[Orchestrator], Awaitable[None]]) -> int:
    """Bytes that the first answer takes at most, what it keeps and what it lets go."""
    async with _started(settings) as orchestrator:
        tracemalloc.start()
        await ask(orchestrator)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


@contextlib.asynccontextmanager
async def _started(settings: Settings) -> AsyncIterator[Orchestrator]:
    """The product on that database, as after a start."""
    async with open_async_store(settings) as store:
        orchestrator = assemble(
            settings,
            store,
            InstantClient(Portal()),
            InstantModel(),  # type: ignore[arg-type]
            clock=SystemClock(),
            people=People(report_trouble=_ignore, show_partial=_silent),
        )
        orchestrator.tools = replace(orchestrator.tools, features=replace(orchestrator.tools.features, periodic_tasks=()))
        working = asyncio.ensure_future(orchestrator.run())
        yield orchestrator
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _page(orchestrator: Orchestrator) -> None:
    """`/history 481` in a chat of its own, until its answer is stored."""
    done, row_id = asyncio.Event(), generate_id()
    orchestrator.listeners.append(done.set)
    body = {"name": "history", "args": str(RECORD)}
    actor = ADMIN.model_dump(mode="json")
    now = SystemClock().now()
    row = InboxRow(
        id=row_id, source=row_id, session=f"tg:{row_id}", lane="express", kind="command", actor=actor, body=body, received_at=now
    )
    await orchestrator.receive([row])
    await done.wait()
    found = [one for one in await orchestrator.tools.store.list_due_outbox("tg", SystemClock().now()) if one.session == row.session]
    if [one.body.get("total") for one in found] != [ABOUT]:
        raise RuntimeError([one.body for one in found])
    await orchestrator.tools.store.mark_outbox_sent(found[0].id, "1")


async def _audit(orchestrator: Orchestrator) -> None:
    """What `GET /audit?entity=deal:481` tells on its first page."""
    store, deps = orchestrator.tools.store, orchestrator.tools.gate.deps
    auditor = CallAudit(store=store, index=RecordIndex(store))
    voice = Narrator(lambda code, _: code)
    calls = await auditor.load_page(Viewer(actor=ADMIN, deps=deps), CallFilter(record=f"deal:{RECORD}"), voice, after="", limit=PAGE)
    if len(calls.calls) != PAGE:
        raise RuntimeError(len(calls.calls))


def _floor(url: str) -> float:
    """Milliseconds to read the calls of the record, whose ids are known."""
    store = open_store(url)
    ids = [one.effect_id for one in store.list_index_entries(f"deal:{RECORD}", "call")]
    store.close()
    took = []
    for _ in range(TRIES):
        store = open_store(url)
        begun = time.perf_counter()
        rows = [store.find_effect(one) for one in ids]
        took.append(time.perf_counter() - begun)
        store.close()
        if len(rows) != ABOUT:
            raise RuntimeError(len(rows))
    return statistics.median(took) * 1000


def _upgraded(url: str) -> float:
    """Seconds in which a database of the schema before the table is brought to today's."""
    with open_database(url) as dialect:
        with dialect.engine.begin() as connection:
            take_back_to_0003(connection)
        dialect.engine.dispose()
    begun = time.perf_counter()
    open_store(url).close()
    return time.perf_counter() - begun


def write_conversations(url: str, turns: int) -> None:
    """Conversations with one approved change a turn, some turns in one transaction."""
    store = open_store(url)
    keys = [f"tg:{1000 + number}" for number in range(STREAMS)]
    until = NOW + timedelta(days=1)
    leases = [store.acquire(key, "bench", NOW, until) for key in keys]
    every = turns // ABOUT
    for first in range(0, turns, TOGETHER):
        lease = leases[(first // TOGETHER) % STREAMS]
        if lease is None:
            raise RuntimeError("a lease of the bench is taken")
        steps = [
            Commit(stream=f"session:{lease.session}", epoch=lease.epoch, actor=ADMIN.key, now=NOW, events=events, effects=effects)
            for number in range(first, first + TOGETHER)
            for events, effects in _steps(number, RECORD if number % every == 0 else 1000 + number % DEALS)
        ]
        store.commit(steps[-1]._replace(earlier=steps[:-1]))
    for lease in leases:
        if lease is not None:
            store.release(lease)
    store.close()


def _steps(number: int, deal: int) -> Iterator[tuple[list[Event], list[EffectChange]]]:
    """The events of a turn about that deal, each with what it does to the call."""
    params = {"id": deal, "fields": {"OPPORTUNITY": 100_000 + number}}
    bound = {"params": params, "fingerprint": hash_text(dumps([PORTAL, "crm.deal.update", params]))}
    call: dict[str, Any] = {}
    for event in turn(number):
        match event:
            case ConfirmationRequested():
                before = {f"deal:{deal}": event.before["deal:481"]}
                asked = event.model_copy(update={**bound, "before": before})
                call = _stored(asked, params, before)
                change = EffectChange(
                    effect_id=asked.effect_id, expect=("absent",), status="requested", fingerprint=asked.fingerprint, call=call
                )
                yield [asked], [change]
            case ConfirmationApproved():
                yield [event], [EffectChange(effect_id=event.effect_id, expect=("requested",), status="approved")]
            case CallStarted():
                started = {**call, "approved_by": ADMIN.key, "started_at": call["at"]}
                change = EffectChange(effect_id=event.effect_id, expect=("approved",), status="started", call=started)
                yield [event.model_copy(update={**bound, "before": call["before"]})], [change]
            case CallSucceeded():
                outcome = {"effect_id": event.effect_id, "method": event.method, "call_class": "W", "status": "succeeded"}
                yield [event], [EffectChange(effect_id=event.effect_id, expect=("started",), status="succeeded", outcome=outcome)]
            case _:
                yield [event], []


def _stored(card: ConfirmationRequested, params: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """The call as the gate stores it with a card."""
    frozen = {
        "kind": "bitrix",
        "method": card.method,
        "params": params,
        "classes": ["W"],
        "portal": PORTAL,
        "key": "",
        "commands": [],
        "halt": False,
        "targets": [["deal", params["id"]]],
        "unknown_target": False,
        "references": [],
        "system_fields": [],
        "entity": "deal",
        "entities": ["deal"],
        "target_created": False,
        "ties": [],
        "wish": "",
    }
    place = {"turn_id": card.turn_id, "slot": card.slot, "confirmation_id": card.confirmation_id}
    who = {"requested_by": ADMIN.key, "approved_by": "", "proposed_by": "crm_agent", "actor": ADMIN.model_dump(mode="json")}
    return {"call": frozen, **place, **who, "before": before, "named": {}, "at": card.requested_at}


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(value, 2) if unit != "1/s" else round(value),
        "unit": unit,
        "bar": bar,
        "holds": holds,
        "versus": "",
    }


async def _ignore(session: str, notice: Notice) -> None:
    del session, notice


async def _silent(session: str, text: Any) -> None:
    del session, text
