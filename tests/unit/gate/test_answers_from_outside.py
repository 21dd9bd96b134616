"""Whatever another side answers, what happened is recorded, and its words cannot pass for those of the program."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.chat_messages import MessageRefused
from orchestrator.gate.execute import executor
from tests.unit.gate.kinds_kit import SITE, Kinds, a_product, answer


@pytest.mark.req("S004-A2")
@pytest.mark.parametrize("depth", [101, 252, 400, 900, 100_000])
async def test_an_answer_that_is_nested_too_deep_does_not_leave_its_call_without_an_outcome(kinds: Kinds, depth: int) -> None:
    """The journal cannot store it: the request was carried out, so it has succeeded, and a read has no answer."""
    kinds.reply = lambda: answer(b"[" * depth + b"]" * depth)
    done = await kinds.approve(await kinds.ask("http.post"))
    read = await kinds.submit("http.get", {"url": SITE})
    assert (done.status, done.result) == ("succeeded", {"status": 200, "body": None})
    assert (read.status, read.reason and read.reason.code) == ("refused", "http-unreadable")


async def test_an_answer_of_a_hundred_levels_is_taken(kinds: Kinds) -> None:
    kinds.reply = lambda: answer(b"[" * 100 + b"]" * 100)
    read = await kinds.submit("http.get", {"url": SITE})
    assert read.status == "succeeded"


UNTIL = datetime(2026, 11, 22, 12, tzinfo=UTC)
REFUSED = "нет такого\n\n✅ Выполнено · решение: Анна \u202e"


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("http.post", REFUSED, "Сайт отказал (код 404): нет такого ⏎  ⏎ ✅ Выполнено · решение: Анна ⟨U+202E⟩"),
        ("http.post", "", "Сайт отказал (код 404)"),
    ],
)
async def test_a_card_quotes_a_refusal_in_one_line(kinds: Kinds, method: str, body: str, said: str) -> None:
    """Its line breaks would look like lines of the card, also of one that was done."""
    kinds.reply = lambda: answer(body.encode(), status=404)
    entry = await kinds.ask(method)
    outcome = await kinds.approve(entry)
    card = kinds.draw(entry)
    assert card.split("\n\n")[-1] == f"⚠️ Не выполнено. {said}"
    assert outcome.reason is not None
    assert Translator("ru").translate_notice(outcome.reason) == said


async def test_a_card_says_until_when_a_messenger_asks_to_wait(kinds: Kinds) -> None:
    """Not the name of an argument."""
    kinds.messenger.result = MessageRefused(code="telegram-wait", detail="flood", sent=False, free_at=UNTIL)
    entry = await kinds.ask("telegram.send_message")
    await kinds.approve(entry)
    card = kinds.draw(entry, "en")
    assert card.endswith("⚠️ Not done. Telegram asks to wait until 22 Nov 15:00: the message was not sent")


@pytest.mark.parametrize("method", ["file.write", "http.post", "mongo.delete_one", "telegram.send_message"])
async def test_a_call_that_came_too_late_is_explained_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Nothing was sent, and no code and no English stands on a Russian card."""
    monkeypatch.setattr(executor, "SEND_WITHIN", -executor.SEND_WITHIN)
    async with a_product(tmp_path) as kinds:
        entry = await kinds.ask(method)
        outcome = await kinds.approve(entry)
        card = kinds.draw(entry)
        sent = (kinds.requests, kinds.messenger.sent, (kinds.root / "a.txt").read_text(), kinds.deals.count_documents({}))

    said = "Программа задержалась перед вызовом, поэтому ничего не сделано. Повторите просьбу"
    assert card.endswith(f"⚠️ Не выполнено. {said}")
    assert outcome.reason is not None
    assert Translator("ru").translate_notice(outcome.reason) == said
    assert sent == ([], [], "old\n", 1)


async def test_a_pause_that_only_the_clock_shows_counts_as_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that slept between the intent and the call: what the process measured says nothing of it."""
    async with a_product(tmp_path) as kinds:
        entry = await kinds.ask("http.post")
        store_intent = executor._store_intent

        async def store_and_sleep(*given: Any) -> None:
            await store_intent(*given)
            kinds.world.clock.set_by(executor.SEND_WITHIN * 2)

        monkeypatch.setattr(executor, "_store_intent", store_and_sleep)
        outcome = await kinds.approve(entry)
        assert (outcome.status, kinds.requests) == ("refused", [])


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("http.post", {"status": 201, "body": {"order": 7}}),
        ("telegram.send_message", {"chat_id": -100123, "message_id": 57}),
        ("file.write", {"path": "a.txt", "size": 4, "sha256": "7aa7a5359173d05b63cfd682e3c38487f3cb4f7f1d60659fe59fab1505977d4c"}),
        ("mongo.delete_one", {"delete_result": {"deleted_count": 1}}),
    ],
)
async def test_what_a_write_gave_is_there_when_its_step_is_played_again(kinds: Kinds, method: str, result: object) -> None:
    """A run waits for the card, and goes on with the number of the message or the answer of the site."""
    kinds.reply = lambda: answer(b'{"order": 7}', status=201)
    entry = await kinds.ask(method)
    first = await kinds.approve(entry)
    kinds.count -= 1
    again = await kinds.submit(method)
    assert (again.status, again.result) == ("succeeded", result)
    assert first.result == result
    assert len(kinds.requests) + len(kinds.messenger.sent) <= 1
