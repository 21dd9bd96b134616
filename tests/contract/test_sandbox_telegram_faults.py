"""The Telegram sandbox fails on demand as Telegram and networks do, and forgets nothing when it is restarted or killed."""

import asyncio
import json
import math
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiogram.exceptions import ClientDecodeError, TelegramForbiddenError, TelegramNetworkError, TelegramRetryAfter, TelegramServerError

from sandbox.telegram.__main__ import main
from tests.contract.sandbox_telegram_kit import BORIS, VERA, keyboard, opened, until
from tests.forker import forked

_ROOT = Path(__file__).parents[2]
FAULTS: list[tuple[str, type[Exception], int]] = [
    ("429", TelegramRetryAfter, 0),
    ("500", TelegramServerError, 0),
    ("html", ClientDecodeError, 0),
    ("403_blocked", TelegramForbiddenError, 0),
    ("timeout", TelegramNetworkError, 0),
    ("lost_answer", TelegramNetworkError, 1),
]


async def test_each_fault_reaches_the_bot_as_the_error_it_is(tmp_path: Path) -> None:
    """Every kind raises aiogram's own error; only a lost answer has sent the message; afterwards all is well again."""
    async with opened(tmp_path) as kit:
        delivered = 0
        for kind, error, sent in FAULTS:
            fault = {"method": "sendMessage", "kind": kind, "times": 1, "retry_after": 7, "seconds": 0.05}
            await kit.control("/sandbox/faults", fault)
            with pytest.raises(error) as caught:
                await kit.bot.send_message(BORIS, kind)
            if isinstance(caught.value, TelegramRetryAfter):
                assert caught.value.retry_after == 7
            delivered += sent
            assert len(await kit.seen()) == delivered, kind
        await kit.bot.send_message(BORIS, "снова хорошо")
        log = (await kit.control("/sandbox/requests"))["requests"]

    assert [entry.get("fault") for entry in log] == [*[kind for kind, _, _ in FAULTS], None]


async def test_a_fault_meets_only_the_calls_it_was_armed_for(tmp_path: Path) -> None:
    """Method, chat and number of times are respected; disarming ends it."""
    async with opened(tmp_path) as kit:
        await kit.control("/sandbox/faults", {"method": "sendmessage", "kind": "500", "times": 2, "chat_id": VERA})
        await kit.bot.get_me()
        await kit.bot.send_message(BORIS, "мимо")
        with pytest.raises(TelegramServerError):
            await kit.bot.send_message(VERA, "раз")
        left = await kit.control("/sandbox/faults")
        await kit.http.delete("/sandbox/faults")
        await kit.bot.send_message(VERA, "прошло")
        wrong = await kit.http.post("/sandbox/faults", json={"kind": "earthquake"})

    assert [fault["times"] for fault in left["faults"]] == [1]
    assert wrong.status_code == 400


async def test_flood_limits_hold_when_they_are_switched_on(tmp_path: Path) -> None:
    """A chat takes its message in so many seconds, a group its number a minute; the seconds to wait are told truly."""
    async with opened(tmp_path) as kit:
        group = (await kit.control("/sandbox/chats", {"title": "Отдел", "members": [BORIS]}))["chat_id"]
        await kit.control("/sandbox/limits", {"chat_per_second": 1 / 30, "group_per_minute": 2})
        begun = time.monotonic()
        card = await kit.bot.send_message(BORIS, "раз", reply_markup=keyboard([("Да", "y")]))
        with pytest.raises(TelegramRetryAfter) as edit:
            await card.edit_text("два")
        since = time.monotonic() - begun
        await kit.later(30.1)
        await card.edit_text("два")
        begun = time.monotonic()
        await kit.bot.send_message(group, "1")
        await kit.bot.send_message(group, "2")
        await kit.later(20)
        with pytest.raises(TelegramRetryAfter) as third:
            await kit.bot.send_message(group, "3")
        meanwhile = time.monotonic() - begun
        await kit.later(third.value.retry_after)
        await kit.bot.send_message(group, "3")

    assert math.ceil(30 - since) <= edit.value.retry_after <= 30
    assert math.ceil(40 - meanwhile) <= third.value.retry_after <= 40


async def test_a_restart_keeps_chats_updates_and_numbers(tmp_path: Path) -> None:
    """Messages, buttons, menus and unconfirmed updates outlive the process, and no number is given twice."""
    async with opened(tmp_path) as kit:
        card = await kit.bot.send_message(BORIS, "карточка", reply_markup=keyboard([("Да", "y")]))
        first = await kit.say("до")
        await kit.bot.get_updates(offset=first["update_id"] + 1)
        waiting = await kit.say("ждёт")
        before = await kit.seen()
    async with opened(tmp_path) as kit:
        after = await kit.seen()
        updates = await kit.bot.get_updates()
        await kit.bot.get_updates(offset=waiting["update_id"] + 1)
        await kit.control(f"/sandbox/users/{BORIS}/press", {"message_id": card.message_id, "data": "y"})
        pressed = await kit.bot.get_updates()
        later = await kit.bot.send_message(BORIS, "после")

    assert after == before
    assert [update.update_id for update in updates] == [waiting["update_id"]]
    assert pressed[0].update_id == waiting["update_id"] + 1
    assert later.message_id == waiting["message_id"] + 1


async def test_the_process_says_where_it_is_and_survives_a_kill(tmp_path: Path) -> None:
    """One JSON line, a health answer, kill -9 in mid poll, the same chats again; SIGTERM ends it at once with 0."""
    process, url = await _started(tmp_path)
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        health = (await http.get("/sandbox/health")).json()
        await http.post(f"/sandbox/users/{BORIS}/send", json={"text": "помни меня"})
    process.kill()
    process.communicate()
    process, url = await _started(tmp_path)
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        seen = (await http.get(f"/sandbox/chats/{BORIS}/messages")).json()["messages"]
        poll = asyncio.create_task(http.get("/bot1:sandbox/getUpdates?timeout=50&offset=999999999", timeout=20))
        await until(lambda: _polled(http))
        process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(process.wait, 60)
        await asyncio.gather(poll, return_exceptions=True)
    process.communicate()

    assert (health["ok"], [message["text"] for message in seen]) == (True, ["помни меня"])
    assert code in {0, -signal.SIGTERM}


def test_a_taken_port_is_one_clear_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """The program ends with 2 and names the address; it prints no address of its own and no traceback."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code = main(["--port", str(port)])
    printed = capsys.readouterr()

    assert (code, printed.out) == (2, "")
    assert printed.err.startswith(f"the sandbox cannot listen on 127.0.0.1:{port}: ")
    assert len(printed.err.splitlines()) == 1


def test_the_sandbox_imports_nothing_of_the_product() -> None:
    """No file of the sandbox names a package of the product in an import."""
    files = list((_ROOT / "sandbox" / "telegram").rglob("*.py"))
    named = re.compile(r"^\s*(?:from|import)\s+(?:bot|orchestrator|bitrix|state)\b", re.MULTILINE)

    assert len(files) > 10
    assert [file.name for file in files if named.search(file.read_text(encoding="utf-8"))] == []


async def _started(folder: Path) -> tuple[subprocess.Popen[str], str]:
    process, line = await asyncio.to_thread(_spawned, folder)
    async with httpx.AsyncClient(base_url=line["telegram"], trust_env=False, timeout=10) as http:
        assert (await http.get("/sandbox/health")).is_success
    return process, line["telegram"]


async def _polled(http: httpx.AsyncClient) -> bool:
    calls = (await http.get("/sandbox/requests")).json()["requests"]
    return bool(calls)


def _spawned(folder: Path) -> tuple[subprocess.Popen[str], Any]:
    command = forked("-m", "sandbox.telegram", "--data", str(folder))
    process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())
