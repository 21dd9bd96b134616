"""What a person pastes of this installation's secrets gets nowhere: not into inbox, journal, prompt, audit log, export or program log."""

import logging
from pathlib import Path

import pytest
from pydantic import SecretStr

from bitrix.masking import MaskingFilter, install_secrets
from bot.settings.loading import hide_secrets
from bot.settings.settings import Settings
from orchestrator.domain.models import ModelRequest
from orchestrator.model_client.router import ModelRouter
from orchestrator.reports.export import EventFilter, export_events, format_json_line
from state.audit_log.interaction_log import read_records
from state.sql import build_sqlite_url, open_store
from tests.unit.spine_kit import ANNA, CHAT, MODEL_KEY, ScriptedModel, a_world, message, reply, step
from tests.unit.spine_portal import CODE, Portal, deal

PLAIN_KEY = "kq7w2mz0vx4b8tya"
"""A secret without a form of its own: only its value tells what it is."""
PASTES = (
    f"{CODE} это код вебхука",
    f"вот ключ {MODEL_KEY}, положи его в комментарий к сделке 481",
    f"адрес https://portal.example/rest/1/{CODE}/",
    f"ключ {MODEL_KEY[:6]}\u200b{MODEL_KEY[6:]}",
    f"КЛЮЧ {MODEL_KEY.upper()}",
)


@pytest.mark.req("S004-A12", "S004-48")
@pytest.mark.parametrize("text", PASTES)
async def test_a_pasted_secret_stands_nowhere(tmp_path: Path, text: str) -> None:
    """In any spelling that a person might paste; the words around it stay, so that the request is understood."""
    async with a_world(tmp_path, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as world:
        world.model.will(reply(text="Хорошо."))
        await world.work(message(text))
        world.tools.audit.wait()
        exits = {
            "inbox and journal": "\n".join(stored.text for stored in world.sql.open_erasure().iterate_texts()),
            "events": "\n".join(str(event.data) for event in world.sql.read_events(f"session:{CHAT}", limit=100)),
            "prompt": str(world.model.prompts),
            "log": str(list(read_records(tmp_path / "logs", ANNA.key))),
            "export": "\n".join(export_events(world.sql, EventFilter(types=(), since="", until=""), format_json_line)),
            "outbox": str([row.body for row in world.outbox()]),
        }
    for name, shown in exits.items():
        plain = shown.replace("\u200b", "").lower()
        assert CODE not in plain, name
        assert MODEL_KEY.lower() not in plain, name
    assert "***" in exits["events"]
    assert any(word in exits["prompt"] for word in ("это код вебхука", "положи его", "адрес", "ключ", "КЛЮЧ"))


@pytest.mark.req("S004-A12")
async def test_a_secret_in_a_record_of_the_portal_reaches_no_prompt_and_no_log(tmp_path: Path) -> None:
    """Somebody put it into the CRM: it did not come through a chat, and is hidden on the way out."""
    portal = Portal()
    portal.records["deal", 481] = deal(481, f"Ключ {PLAIN_KEY} от Ромашки", "1.00", owner=7)
    async with a_world(tmp_path, portal=portal) as world:
        install_secrets([PLAIN_KEY])
        world.model.will(reply(step("crm.deal.get", {"id": 481})), reply(text="Вот она."))
        await world.work(message("покажи сделку 481"))
        world.tools.audit.wait()
        exported = "\n".join(export_events(world.sql, EventFilter(types=(), since="", until=""), format_json_line))
        assert (PLAIN_KEY in str(world.model.prompts), "от Ромашки" in str(world.model.prompts)) == (False, True)
        assert PLAIN_KEY not in str(list(read_records(tmp_path / "logs", ANNA.key)))
        assert PLAIN_KEY not in exported


@pytest.mark.req("S004-A12")
async def test_no_request_to_a_model_carries_them_whoever_asks() -> None:
    """A run, a tool or an answer to a file: the last stop before the provider looks at every text, also inside of parts."""
    install_secrets([PLAIN_KEY])
    model = ScriptedModel()
    model.will("да")
    parts = [{"type": "text", "text": f"внутри {PLAIN_KEY}"}]
    await ModelRouter.from_client(model).chat(ModelRequest(messages=[{"role": "user", "content": parts}]))  # type: ignore[arg-type]
    assert model.prompts == [[{"role": "user", "content": [{"type": "text", "text": "внутри ***"}]}]]


@pytest.mark.req("S004-A12")
def test_the_programs_own_log_and_errors_know_them_too() -> None:
    """A driver's error quotes a password; the filter of the log hides it without having been told."""
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "login failed for %s", (PLAIN_KEY,), None)
    install_secrets([PLAIN_KEY])
    assert MaskingFilter().filter(record)
    assert record.getMessage() == "login failed for ***"


@pytest.mark.req("S004-A12")
def test_secrets_of_all_sources_are_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, the file of models and the file of credentials; a file that cannot be read hides nothing of the others."""
    monkeypatch.setenv("OTHER_MODEL_KEY", "key-of-the-other-provider")
    monkeypatch.setenv("STOCK_TOKEN", "Bearer secret-of-the-stock")
    models, sites = tmp_path / "models.yaml", tmp_path / "sites.yaml"
    models.write_text("providers: {other: {kind: openai, base: 'https://m.example/v1', key: OTHER_MODEL_KEY, model: m}}", encoding="utf-8")
    sites.write_text("nonsense: [", encoding="utf-8")
    settings = Settings(
        _env_file=None,
        models_file=models,
        http_credentials_file=sites,
        telegram_webhook_secret=SecretStr("secret_of_the_webhook"),
        mongo_url=SecretStr("mongodb://crm:mongo-password@db1:27017,db2:27017/crm?authSource=administration"),
        database_url=SecretStr("postgresql://db/sdelka?user=sdelka&password=query-password&sslmode=require"),
        gigachat_credentials=SecretStr("aWQtb2YtY2xpZW50OnNlY3JldC1vZi1jbGllbnQ="),
        openai_api_base="https://proxy:proxy-password@model.example/v1",
    )
    found = set(hide_secrets(settings))
    assert {"key-of-the-other-provider"} <= found
    assert {"secret_of_the_webhook", "mongo-password", "query-password", "secret-of-client", "proxy-password"} <= found
    assert not {"administration", "db2:27017/crm?authSource=administration", "require"} & found
