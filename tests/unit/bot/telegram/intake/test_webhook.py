"""Updates by webhook: only from Telegram, stored before they are answered, a bad one set aside; switching loses nothing (facts: telegram §2.4, 8, 19)."""

import asyncio
from typing import Any

import httpx
import orjson
import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramUnauthorizedError
from aiogram.types import Update
from pydantic import SecretStr

from bot.http_api.server.app import build_app
from bot.telegram.intake.ingest import ALLOWED_UPDATES, UpdateIntake
from bot.telegram.intake.webhook import HEADER, LOOK_EVERY, MAX_BYTES, build_webhook_router, drop_webhook, keep_webhook, parse_webhook
from orchestrator.domain.errors import SettingsError
from state.journal.store import StoreUnwritable
from tests.unit.bot.telegram.door_kit import TOKEN, Wire, raw_message, refused

SECRET = "s3cret_of-sixteen"
URL = "https://bot.example.ru/telegram/hook"


class Door:
    """Keeps what it accepts; the store may be broken for a while."""

    def __init__(self) -> None:
        self.accepted: list[int] = []
        self.quarantined: list[int] = []
        self.broken: list[Exception] = []
        webhook = parse_webhook(URL, SecretStr(SECRET))
        assert webhook is not None
        self.app = build_app(build_webhook_router(webhook, UpdateIntake(Bot(TOKEN, session=Wire()), self.accept, self.quarantine).take))

    async def accept(self, update: Update) -> None:
        if self.broken:
            raise self.broken.pop(0)
        self.accepted.append(update.update_id)

    async def quarantine(self, update_id: int, why: str) -> None:
        assert "секрет" not in why
        self.quarantined.append(update_id)

    async def post(self, body: Any, **headers: str) -> int:
        """As Telegram does unless the headers say otherwise; the status."""
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://bot") as client:
            content = body if isinstance(body, bytes) else orjson.dumps(body)
            return (
                await client.post(
                    "/telegram/hook",
                    content=content,
                    headers=[(name.encode(), value.encode()) for name, value in {HEADER: SECRET, **headers}.items()],
                )
            ).status_code


@pytest.fixture
def door() -> Door:
    return Door()


def _update(number: int, **more: Any) -> dict[str, Any]:
    return {"update_id": number, "message": raw_message("привет"), **more}


async def test_an_update_is_stored_and_then_answered(door: Door) -> None:
    assert [await door.post(_update(number)) for number in (5, 6)] == [200, 200]
    assert door.accepted == [5, 6]


@pytest.mark.parametrize("secret", ["", "wrong", SECRET[:-1], SECRET + "x", SECRET.upper(), "Ð¿Ð°"])
async def test_without_the_secret_nothing_is_read(door: Door, secret: str) -> None:
    """Without secret_token everything is accepted, from anybody."""
    assert await door.post(_update(5), **{HEADER: secret}) == 403
    assert door.accepted == []


async def test_an_update_that_is_not_stored_is_not_confirmed_and_comes_again(door: Door) -> None:
    door.broken = [StoreUnwritable("disk full")]
    assert [await door.post(_update(5)), await door.post(_update(5))] == [503, 200]
    assert door.accepted == [5]


@pytest.mark.parametrize(
    ("body", "set_aside"),
    [
        ({"update_id": 6, "message": {"text": "секрет"}}, [6]),
        ({"update_id": 6, "callback_query": {"id": "1"}}, [6]),
        (b"{", []),
        ([], []),
        ("x", []),
        ({"message": {}}, []),
    ],
)
async def test_what_cannot_be_read_is_confirmed_and_set_aside(door: Door, body: Any, set_aside: list[int]) -> None:
    """A foreground webhook repeats it for a day, a background one loses it: here it is quarantined, and the next one is taken."""
    assert [await door.post(body), await door.post(_update(7))] == [200, 200]
    assert (door.accepted, door.quarantined) == ([7], set_aside)


async def test_what_nothing_can_be_made_of_is_set_aside_and_what_is_too_long_is_not_read(door: Door) -> None:
    door.broken = [ValueError("секрет")]
    assert await door.post(_update(5)) == 200
    assert door.quarantined == [5]
    assert await door.post(b" " * (MAX_BYTES + 1)) == 413


@pytest.mark.parametrize(
    ("url", "secret", "named"),
    [
        (URL, None, "TELEGRAM_WEBHOOK_SECRET"),
        (URL, "short", "TELEGRAM_WEBHOOK_SECRET"),
        (URL, "с пробелом и кириллицей", "TELEGRAM_WEBHOOK_SECRET"),
        ("http://bot.example.ru/hook", SECRET, "TELEGRAM_WEBHOOK_URL"),
        ("https://bot.example.ru", SECRET, "TELEGRAM_WEBHOOK_URL"),
        ("https://bot.example.ru/?a=1", SECRET, "TELEGRAM_WEBHOOK_URL"),
        ("bot.example.ru/hook", SECRET, "TELEGRAM_WEBHOOK_URL"),
    ],
)
def test_a_webhook_needs_an_address_and_a_secret(url: str, secret: str | None, named: str) -> None:
    with pytest.raises(SettingsError, match=named) as raised:
        parse_webhook(url, SecretStr(secret) if secret else None)
    assert secret is None or secret not in str(raised.value)
    assert parse_webhook(None, None) is None


async def test_the_webhook_is_set_with_its_secret_and_kinds_and_nothing_that_waits_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not given means as before: new kinds such as stopped_message_generation would never come. Telegram's troubles are waited out."""
    wire, waited = Wire(), []

    async def at_once(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("bot.telegram.intake.webhook.asyncio.sleep", at_once)
    webhook = parse_webhook(URL, SecretStr(SECRET))
    assert webhook is not None
    wire.will(refused(502, "Bad Gateway"))
    wire.will(refused(401, "Unauthorized"), when=lambda name, _: name == "setWebhook" and len(wire.calls("setWebhook")) > 1)
    with pytest.raises(TelegramUnauthorizedError):
        await asyncio.wait_for(keep_webhook(Bot(TOKEN, session=wire), webhook), 5)
    said = wire.calls("setWebhook")[0]
    assert said == {"url": URL, "secret_token": SECRET, "allowed_updates": ALLOWED_UPDATES, "drop_pending_updates": False}
    assert waited == [1, LOOK_EVERY]


@pytest.mark.parametrize("url", ["", URL])
async def test_polling_takes_a_webhook_away_and_keeps_what_waits(url: str) -> None:
    wire = Wire()
    wire.will({"ok": True, "result": {"url": url, "has_custom_certificate": False, "pending_update_count": 3}})
    await drop_webhook(Bot(TOKEN, session=wire))
    assert wire.calls("deleteWebhook") == ([{"drop_pending_updates": False}] if url else [])


async def test_a_telegram_in_trouble_at_the_start_is_waited_for_before_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """One 502 or 429 there used to end the program: with the webhook still set, polling is a conflict, and a flood was no trouble it knew."""
    wire, waited = Wire(), []

    async def at_once(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("bot.telegram.intake.webhook.asyncio.sleep", at_once)
    wire.will(refused(502, "Bad Gateway"))
    wire.will(refused(429, "Too Many Requests: retry after 7", retry_after=7))
    wire.will({"ok": True, "result": {"url": URL, "has_custom_certificate": False, "pending_update_count": 3}})
    await drop_webhook(Bot(TOKEN, session=wire))
    assert waited == [1, 7]
    assert wire.calls("deleteWebhook") == [{"drop_pending_updates": False}]
