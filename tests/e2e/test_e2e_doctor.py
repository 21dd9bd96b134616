"""`sdelka doctor` against the sandbox servers and worse ones: each fault is named with its mending, nothing is changed, no secret is shown."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.doctor_kit import CODE, KEY, TOKEN, Told, answering, asked_here, hanging_server, self_signed
from tests.e2e.e2e_kit import World


def digests(folder: Path) -> dict[str, str]:
    """What every file of the folder holds, empty ones apart; SQLite's table of locks is no part of the database."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size and path.suffix != ".db-shm")
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.req("S004-67")
async def test_all_is_well_and_nothing_was_changed(world: World) -> None:
    """Over the database of a bot: only reads reach the portal, nothing that takes or sends reaches Telegram, no byte of ours changes."""
    async with world.bot():
        await world.boris.card("подними сумму сделки Ромашка до 150 000")
        beside = await asked_here(world)
        assert beside.line("database", "schema")["says"].endswith("a bot is at work on it.")
    before = digests(world.folder)
    await world.portal.delete("/sandbox/ledger")
    seen = (await world.model.get("/sandbox/requests")).json()
    at = max(entry["seq"] for entry in (await world.telegram.get("/sandbox/requests")).json()["requests"])

    told = await asked_here(world)

    assert (told.wrong(), told.warned() - {("machine", "open files"), ("disk", "LOG_DIR"), ("disk", "STATE_DIR")}) == (set(), set()), (
        told.text
    )
    assert told.line("portal", "people")["verdict"] == "ok"
    assert told.line("portal", "currency")["verdict"] == "ok"
    calls = await world.calls()
    assert {call["method"] for call in calls} == {
        "profile",
        "scope",
        "server.time",
        "crm.currency.base.get",
        "user.get",
        "voximplant.statistic.get",
        "crm.stagehistory.list",
        "crm.currency.list",
    }
    assert not any(call["applied"] for call in calls)
    assert (await world.model.get("/sandbox/requests")).json() == seen
    asked = (await world.telegram.get("/sandbox/requests", params={"after": at})).json()["requests"]
    assert {entry["method"].lower() for entry in asked} == {"getme", "getwebhookinfo"}
    assert digests(world.folder) == before


async def test_an_application_is_looked_at_with_the_token_it_has(world: World) -> None:
    """No token is renewed, stored or used up by looking: where a new one is needed that is said, and the next start finds all as it was."""
    application = await world.application()
    told = await asked_here(world, bitrix_webhook_url="", **application)
    assert told.line("portal", "access")["verdict"] == "warning"
    async with world.bot(bitrix_webhook_url="", **application):
        await world.boris.ask("покажи мои сделки")
    before = digests(world.folder)
    told = await asked_here(world, bitrix_webhook_url="", **application)
    assert "The application acts as" in told.line("portal", "acts as")["says"]
    assert told.wrong() == set(), told.text
    await world.portal.post("/sandbox/oauth/expire")
    told = await asked_here(world, bitrix_webhook_url="", **application)
    assert "ran out" in told.line("portal", "access")["says"]
    assert digests(world.folder) == before


@pytest.mark.req("S004-67")
async def test_what_is_not_accepted_is_named_and_never_shown(world: World) -> None:
    """A dead webhook, a revoked key and a wrong token: three faults, three sentences, exit code 2 at the command line, no secret anywhere."""
    over = {"bitrix_webhook_url": f"{world.servers.portal}/rest/1/{CODE}/", "telegram_bot_token": TOKEN, "openai_api_key": KEY}
    async with answering({}, status=401) as model:
        over["openai_api_base"] = f"http://{model}/v1"
        async with world.process("doctor", "--json", "--within", "5", **over) as process:
            out, _ = await process.communicate()
    told = Told.of(out.decode())
    assert process.returncode == 2
    assert {("portal", "access"), ("model", "key"), ("telegram", "token")} <= told.wrong()
    log = (world.folder / "bot.log").read_text(encoding="utf-8")
    for secret in (CODE, KEY, TOKEN, TOKEN.partition(":")[2]):
        assert secret not in told.text + log


async def test_one_that_hangs_stops_no_other(world: World) -> None:
    """Portal, model and Telegram take the connection and stay silent: each is named within its time, the rest is looked at."""
    with hanging_server() as silent:
        begun = asyncio.get_running_loop().time()
        over = {"bitrix_webhook_url": f"http://{silent}/rest/1/{CODE}/", "openai_api_base": f"http://{silent}/v1"}
        over["metrics_token"] = "a-token-so-that-the-door-is-open"
        told = await asked_here(world, within=0.3, telegram_api_base=f"http://{silent}", http_port=int(silent.partition(":")[2]), **over)
        assert asyncio.get_running_loop().time() - begun < 8
    assert {("portal", "reachable"), ("model", "reachable"), ("telegram", "reachable"), ("http", "port")} <= told.wrong(), told.text
    assert told.line("files", "ACCESS_FILE")["verdict"] == "ok"
    assert CODE not in told.text


async def test_no_name_and_no_certificate(world: World, tmp_path: Path) -> None:
    """A host that nobody knows and a certificate that nobody signed are told apart by their sentences."""
    over = {"openai_api_base": "https://model.invalid/v1", "telegram_api_base": "http://telegram.invalid"}
    async with self_signed(tmp_path) as address:
        told = await asked_here(world, bitrix_webhook_url=f"https://{address}/rest/1/{CODE}/", **over)
    assert "CERTIFICATE_VERIFY_FAILED" in told.line("portal", "reachable")["says"]
    assert {("model", "reachable"), ("telegram", "reachable")} <= told.wrong()
    assert CODE not in told.text


async def test_a_portal_of_another_kind(world: World) -> None:
    """A right that is missing names what stops; another currency, another hour, people who are gone and unknown: each in a line."""
    wrong_hour = (datetime.now(UTC) + timedelta(minutes=10)).isoformat()
    answers: Mapping[str, Any] = {
        "profile": {"ID": "7", "ADMIN": False, "NAME": "Борис", "LAST_NAME": "Смирнов"},
        "scope": ["crm", "user_brief"],
        "server.time": wrong_hour,
        "crm.currency.base.get": "USD",
        "user.get": [{"ID": "1", "ACTIVE": True}, {"ID": "6", "ACTIVE": True}, {"ID": "7", "ACTIVE": False}],
    }
    async with answering({f"/rest/7/{CODE}/{name}": {"result": result} for name, result in answers.items()}) as address:
        told = await asked_here(world, bitrix_webhook_url=f"http://{address}/rest/7/{CODE}/")
    rights = [line for line in told.lines if (line["area"], line["check"]) == ("portal", "rights")]
    assert [line["verdict"] for line in rights] == ["wrong", "warning"]
    assert "creating, finding and completing tasks" in rights[0]["says"]
    assert "no administrator" in told.line("portal", "acts as")["says"]
    assert "base currency is USD" in told.line("portal", "currency")["says"]
    behind = re.search(r"([0-9]+) s behind", told.line("portal", "clock")["says"])
    assert behind
    assert 480 < int(behind[1]) <= 600  # what the bot needs to begin on a busy machine is taken off
    people = [line["verdict"] for line in told.lines if (line["area"], line["check"]) == ("portal", "people")]
    assert sorted(people) == ["warning", "wrong"]  # Boris was dismissed, Vera is unknown


async def test_with_spend_the_model_answers_one_word_and_hears_silence(world: World) -> None:
    """Only then does anything cost anything; a transcription that the provider does not have is found out by asking it."""
    told = await asked_here(world, spend=True, openai_transcribe_model="no-ears")
    assert told.line("model", "one answer")["verdict"] == "ok"
    assert told.line("model", "OPENAI_TRANSCRIBE_MODEL")["verdict"] == "warning"
    assert told.line("model", "one recording")["verdict"] == "wrong"  # the sandbox hears its own recordings only
    assert 2 <= len(await world.prompts()) <= 3  # a word, and a call with or without its result
    said = {"index": 0, "message": {"content": "OK"}, "finish_reason": "stop"}
    completion = {"choices": [said], "usage": {"prompt_tokens": 8, "completion_tokens": 1}}
    service = {"/v1/models": {"data": [{"id": "m"}, {"id": "ears"}]}, "/v1/chat/completions": completion}
    async with answering({**service, "/v1/audio/transcriptions": {"text": ""}}) as address:
        over = {"openai_api_base": f"http://{address}/v1", "openai_model": "m", "openai_transcribe_model": "ears"}
        told = await asked_here(world, spend=True, **over)
    verdicts = {line["check"]: line["verdict"] for line in told.lines if line["area"] == "model"}
    assert verdicts.pop("one call of a tool") == "warning"  # a service that always says OK calls nothing
    assert list(verdicts.values()) == ["ok"] * 7, told.text
    assert "9 tokens" in told.line("model", "one answer")["says"]


async def test_a_webhook_that_somebody_else_set(world: World) -> None:
    """Polling beside a foreign webhook is told with the host only: its path may be a secret."""
    token = world.environment()["TELEGRAM_BOT_TOKEN"]
    await world.telegram.post(f"/bot{token}/setWebhook", json={"url": "https://other.example/secret-path-of-another"})
    try:
        told = await asked_here(world)
    finally:
        await world.telegram.post(f"/bot{token}/deleteWebhook")
    line = told.line("telegram", "updates")
    assert (line["verdict"], "other.example" in line["says"], "secret-path" in told.text) == ("warning", True, False)


async def test_the_door_and_the_switch(world: World) -> None:
    """A running bot is told from another program at its port; faulty tokens are named by their place; frozen writing is said."""
    token = "a-token-of-metrics-0123456789"
    async with world.running_bot(metrics_token=token) as http:
        await world.boris.ask("/status")
        assert (await world.command("freeze", "--reason", "учения"))[0] == 0
        port = http.base_url.port
        tokens = "site=short:manager:full"
        told = await asked_here(world, http_port=port, metrics_token=token, http_api_tokens=tokens)
    assert told.line("http", "port")["says"].startswith("The bot is running")
    assert told.line("database", "freeze")["verdict"] == "warning"
    assert "entry 1" in told.line("http", "HTTP_API_TOKENS")["says"]
    assert "short" not in told.line("http", "HTTP_API_TOKENS")["says"]
    assert token not in told.text
    async with answering({}) as other:
        told = await asked_here(
            world, http_port=int(other.partition(":")[2]), metrics_token=token, http_api_tokens="site=" + "x" * 40 + ":lead"
        )
    assert told.line("http", "port")["verdict"] == "wrong"
    assert "site (lead" in told.line("http", "HTTP_API_TOKENS")["says"]
    told = await asked_here(world, http_host="0.0.0.0", metrics_token=token)  # noqa: S104 - nothing is bound
    assert told.line("http", "way in")["verdict"] == "warning"


async def test_what_the_numbers_lack_is_named(world: World) -> None:
    """Without telephony the doctor says how calls are counted then; nothing is wrong with the rest."""
    well = await asked_here(world)
    assert well.line("numbers", "sources")["verdict"] == "ok"
    await world.portal.post("/sandbox/rights", json={"without_scopes": ["telephony"]})
    told = await asked_here(world)
    line = told.line("numbers", "voximplant.statistic.get")
    assert (line["verdict"], told.wrong()) == ("warning", set())
    assert "calls are counted from activities" in line["says"]
