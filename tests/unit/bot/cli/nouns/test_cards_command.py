"""`sdelka cards` and what tells of them afterwards: the local user decides through the gate, as everybody else."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from bot.cli.nouns import local_api
from bot.cli.nouns.commands import audit, cards, sessions
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.spine_kit import CHAT, World, a_world, message, raise_sum, reply

pytestmark = pytest.mark.req("G1")


async def call(app: Typer, *arguments: str) -> tuple[int, str]:
    """Exit code and all that was shown."""
    result = await asyncio.to_thread(CliRunner().invoke, app, [*arguments], catch_exceptions=False)
    return result.exit_code, result.output


@asynccontextmanager
async def a_waiting_card(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A bot at work with one card, on the database that the settings of the commands name."""
    monkeypatch.setenv("STATE_DIR", str(folder))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(folder)
    async with a_world(folder, store=open_store(build_sqlite_url(folder / "sdelka.db"))) as world, world.working():
        monkeypatch.setattr(local_api, "SystemClock", lambda: world.clock)
        world.model.will(reply(raise_sum()))
        await world.orchestrator.receive([message("подними сумму сделки 481")])
        await world.idle()
        yield world


async def test_a_card_is_decided_once_by_who_saw_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong fingerprint is refused; the decision is the local user's, and one call is made."""
    async with a_waiting_card(tmp_path, monkeypatch) as world:
        card = json.loads((await call(cards, "list", "--json"))[1])
        assert card["asked_by"]["id"] == CHAT
        code, told = await call(cards, "approve", card["id"], "wrong")
        assert (code, "fingerprint" in told) == (1, True)
        assert world.portal.written("crm.deal.update") == []
        code, told = await call(cards, "approve", card["id"][:6], card["fingerprint"])
        assert (code, "executed" in told) == (0, True)
        assert len(world.portal.written("crm.deal.update")) == 1
        shown = json.loads((await call(cards, "show", card["id"], "--json"))[1])
        assert (shown["state"], shown["decided"]["by"]["id"][:4], shown["decided"]["via"]) == ("executed", "cli:", "api")
        code, told = await call(audit, "list", "--entity", "deal:481")
        assert (code, "crm.deal.update" in told, "succeeded" in told) == (0, True, True)
        code, told = await call(sessions, "events", CHAT)
        assert (code, "подними" in told) == (0, True)


async def test_a_card_whose_time_is_over_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is that of a refusal, not of wrong use, and nothing is written."""
    async with a_waiting_card(tmp_path, monkeypatch) as world:
        card = json.loads((await call(cards, "list", "--json"))[1])
        world.clock.advance(timedelta(hours=25))
        for decision in ("approve", "deny"):
            code, told = await call(cards, decision, card["id"], card["fingerprint"])
            assert (code, told.strip()) == (1, "The time of this confirmation is over.")
        assert world.portal.written() == []


async def test_a_list_is_cut_to_so_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them, as they stand in the whole list; 0 asks for all."""
    async with a_waiting_card(tmp_path, monkeypatch):
        every = (await call(sessions, "events", CHAT, "--last", "0", "--json"))[1].splitlines()
        assert len(every) > 1
        for last in (1, len(every), len(every) + 1):
            assert (await call(sessions, "events", CHAT, "--last", str(last), "--json"))[1].splitlines() == every[:last]
