"""The switch over the API and in a terminal; what ops read of it afterwards."""

import json
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from typer.testing import CliRunner

from bot.cli.limits import budgets as budget
from bot.cli.limits import freezing as freeze
from bot.http_api.approvals.freeze import build_freeze_router
from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.error_handlers import explain_errors
from bot.http_api.server.tokens import Tokens, read_tokens
from orchestrator.domain.errors import SettingsError
from state.events.conversation import ModelAnswered
from state.journal import freeze_switch
from state.journal.store import Commit
from state.sql import open_store
from state.sql.dialect import build_sqlite_url
from tests.unit.spine_kit import World, effect

CHIEF, SITE = "chief-0123456789abcdef", "site-0123456789abcdef"


@pytest.mark.req("S004-58")
async def test_the_api_freezes_for_administrators_only(world: World) -> None:
    """It says how things stand, changes nothing twice, and a write asked for right afterwards is refused."""
    app = FastAPI()
    explain_errors(app)
    app.state.identity = Authenticator(Tokens(read_tokens(SecretStr(f"chief={CHIEF}:admin:full,site={SITE}:lead:full"), "full")))
    app.include_router(build_freeze_router(world.gate.deps.switch, world.clock))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://bot") as http:

        async def call(method: str, token: str = CHIEF, **body: object) -> tuple[int, dict[str, object]]:
            answer = await http.request(method, "/freeze", headers={"X-API-Key": token}, json=body or None)
            return answer.status_code, answer.json()

        for method, body in (("GET", {}), ("POST", {"frozen": True})):
            assert (await call(method, SITE, **body))[0] == 403
            assert (await call(method, "wrong", **body))[0] == 401
        assert (await call("POST", frozen="yes"))[0] == 400
        assert (await call("POST", frozen=True, reason="x" * 201))[0] == 400
        nothing = {"frozen": False, "at": "", "by": "", "reason": "", "changed": False}
        assert await call("GET") == (200, nothing)
        status, told = await call("POST", frozen=True, reason="сверка")
        assert (status, told["frozen"], told["changed"], told["by"], told["reason"]) == (200, True, True, "chief", "сверка")
        assert (await call("POST", frozen=True))[1]["changed"] is False
        found = await world.submit(await world.session(), effect("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}))
        assert (found.reason.code, found.reason.args["who"]) == ("frozen", "chief")
        assert await call("POST", frozen=False) == (200, nothing | {"changed": True})
        assert [item.data["via"] for item in world.sql.read_events(freeze_switch.STREAM)] == ["http", "http"]


@pytest.fixture(name="home")
def a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the database of a bot that has run once."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.setenv("ACCESS_FILE", str(tmp_path / "access.yaml"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    people = "people: [{telegram_id: 1007, name: Анна, bitrix_user_id: 7}, {telegram_id: 1008, name: Борис, bitrix_user_id: 8}]"
    (tmp_path / "access.yaml").write_text(people, encoding="utf-8")
    open_store(build_sqlite_url(tmp_path / "sdelka.db")).close()
    return tmp_path


def run(app: object, *words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(words))  # type: ignore[arg-type]
    if isinstance(found.exception, SettingsError):
        return 2, found.exception.reason
    return found.exit_code, found.stdout


def test_the_command_works_without_a_bot_and_tells_how_it_stands(home: Path) -> None:
    """Exit codes as its help says; what the bot is to tell lies ready for its next start."""
    assert run(freeze, "--status") == (0, "Writing may start: it is not frozen.\n")
    assert run(freeze, "--reason", "учение")[0] == 0
    code, told = run(freeze, "--status")
    assert code == 1
    assert "учение" in told
    assert "stopped already" in run(freeze)[1]
    assert json.loads(run(freeze, "--status", "--json")[1])["reason"] == "учение"
    assert json.loads(run(freeze, "--off", "--json")[1]) == {"changed": True, "frozen": False}
    assert run(freeze, "--off") == (0, "Writing was not frozen.\n")
    assert run(freeze, "--off", "--status")[0] == 2
    store = open_store(build_sqlite_url(home / "sdelka.db"))
    assert [row.body["what"] for row in store.list_waiting_inbox("freeze-news", "express")] == ["frozen", "released"]
    store.close()
    (home / "sdelka.db").unlink()
    assert run(freeze)[0] == 2
    assert not (home / "sdelka.db").exists()


def test_the_budget_command_shows_everybody_with_what_they_may(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By person, money by the prices of now; exit code 1 once somebody has used theirs up."""
    from state.clock import SystemClock  # noqa: PLC0415 - only here

    rules = "budget: {tokens_per_month: 1000, prices: {big: {input: 100, output: 1000}}, people: {'employee:8': {tokens_per_month: null}}}"
    (home / "policy.yaml").write_text(rules, encoding="utf-8")
    monkeypatch.setenv("POLICY_FILE", str(home / "policy.yaml"))
    now = SystemClock().now()
    store = open_store(build_sqlite_url(home / "sdelka.db"))
    lease = store.acquire("tg:1", "one", now, now.replace(year=2100))
    assert lease is not None
    from orchestrator.domain.budget import to_month  # noqa: PLC0415 - only here

    def used(model: str, user: int | None, actor: str) -> None:
        answer = ModelAnswered(
            turn_id="t", iteration=1, text="x", model=model, prompt_tokens=600, completion_tokens=300,
            user=user, month=to_month(now, "Europe/Moscow"),
        )  # fmt: skip
        store.commit(Commit(stream="session:tg:1", epoch=lease.epoch, actor=actor, now=now, events=[answer]))

    used("big-2026", 7, "tg:1007")
    used("other", 8, "tg:1008")
    code, told = run(budget, "--json")
    rows = {row["person"]: row for row in map(json.loads, told.splitlines())}
    assert code == 0
    anna, boris = rows["employee:7"], rows["employee:8"]
    assert (anna["name"], anna["tokens"], anna["tokens_limit"], anna["money"], anna["percent"]) == ("Анна", 900, 1000, "0.36", 90)
    assert (boris["percent"], boris["unpriced"]) == (None, ["other"])
    used("big", 7, "tg:2007")
    used("big", None, "http:site")
    code, told = run(budget)
    assert code == 1
    assert "180 %" in told
    assert "http:site" in told
    assert "and more: no price" in told
    assert run(budget, "--month", "2026-13")[0] == 2
    assert run(budget, "--month", "2025-01")[0] == 0
    store.close()
