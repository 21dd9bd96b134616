"""A database that a real conversation left behind, and the check of it: for tests that damage it."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from orchestrator.reports.consistency import EffectChecker
from state.findings import Finding
from state.journal.store import InboxRow
from state.sql import build_sqlite_url, open_store
from state.verify.journal import Anchors, JournalReport, verify_journal
from tests.unit.spine_kit import CHAT, a_world, message, press, raise_sum, reply, step

STREAM = f"session:{CHAT}"
TURNS = 8
KEPT = ("events", "leases", "effects", "snapshots", "blobs")


def conversation(path: Path) -> None:
    """Changes approved and denied, a free one, a card that waits, a list long enough to lie apart, and a snapshot; all of it in the one file."""
    asyncio.run(_talk(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def _talk(path: Path) -> None:
    async with a_world(path.parent, store=open_store(build_sqlite_url(path))) as world, world.working() as orchestrator:

        async def comes(row: InboxRow) -> None:
            await orchestrator.receive([row])
            await world.idle()

        world.model.will(reply(step("crm.deal.add", {"fields": {"TITLE": "Осина"}})), reply(text="Завела."))
        await comes(message("заведи сделку Осина"))
        for number in range(600, 640):
            world.portal.records["deal", number] = world.portal.records["deal", 481] | {"ID": str(number)}
        world.model.will(reply(step("crm.deal.list", {})), reply(text="Вот они."))
        await comes(message("покажи сделки"))
        for number in range(TURNS):
            world.model.will(reply(raise_sum(2_000_000 + number)))
            await comes(message(f"подними сумму сделки 481, раз {number}"))
            waiting = world.events("ConfirmationRequested")[-1].data
            await comes(press(waiting, approve=number % 3 != 2))
        world.model.will(reply(raise_sum(7_000_000)))
        await comes(message("и ещё раз подними сумму сделки 481"))


def verified(path: Path, anchors: Anchors | None = None) -> JournalReport:
    """The whole check of that database."""
    return verify_journal(build_sqlite_url(path), judge=EffectChecker, anchors=anchors or {}, progress=lambda _: None)


def told(findings: Sequence[Finding]) -> list[str]:
    """What was found, without what is only worth knowing."""
    return [f"{finding.kind}: {finding.place}: {finding.why}" for finding in findings if finding.kind != "note"]


def content(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of what the journal holds, as plain as the database gives it."""
    with closing(sqlite3.connect(path)) as connection:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in KEPT}  # noqa: S608 - names of ours


def written(path: Path, *statements: str) -> None:
    """Change the database behind everybody's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


__all__ = ["STREAM", "content", "conversation", "told", "verified", "written"]
