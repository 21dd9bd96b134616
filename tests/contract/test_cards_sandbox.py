"""Cards in all their states against the sandbox Telegram, which refuses what the Bot API would: no call is refused, no card lost."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.message_views import EditableField
from orchestrator.features.cards import open_cards
from orchestrator.sessions import outbox
from state.clock import SystemClock, format_iso
from state.journal.store import OutboxRow
from state.model.card import Card
from tests.contract.sandbox_telegram_kit import BORIS
from tests.contract.test_delivery_sandbox import Bench, _benched, _until

SESSION = f"tg:{BORIS}"
LINE = {"field": "OPPORTUNITY", "name": "Сумма", "before": "1 ₽", "after": "2 ₽"}
LONG = {"field": "COMMENTS", "name": "Комментарий 😀", "before": "<b>я*" * 40, "after": "ю_[" * 60}
FIELD = EditableField(code="OPPORTUNITY", name="Сумма", value="2 ₽", kind="money")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with _benched(tmp_path) as made:
        yield made


def entry(number: int, **more: Any) -> Card:
    now = format_iso(SystemClock().now())
    preview = {"verb": "update", "entity": "deal", "id": 481, "title": "Ромашка", "url": "https://p/481/", "lines": [LONG, *[LINE] * 30]}
    base = {"confirmation_id": f"{number:010x}", "effect_id": f"{number:032x}", "nonce": "12345678", "method": "crm.deal.update", "taps": 1}
    base |= {
        "status": "requested",
        "preview": preview,
        "requested_by_name": "Анна",
        "expires_at": now,
        "executed_at": now,
        "denied_at": now,
    }
    return Card.from_stored(base | {"approved_at": now, "expired_at": now, "call_class": "W", "slot": "t/1/1"} | more)


def _with_home(row: OutboxRow, more: dict[str, Any]) -> OutboxRow:
    return replace(row, body={**row.body, "home": more["home"]}) if "home" in more else row


def batch(count: int) -> dict[str, Any]:
    item = {"method": "crm.deal.update", "verb": "update", "entity": "deal", "lines": [LINE]}
    return {"verb": "batch", "lines": [], "count": count, "items": [{**item, "key": f"k{n}", "title": f"С{n}"} for n in range(count)]}


@pytest.mark.long
async def test_every_state_of_a_card_is_taken_by_telegram_at_the_first_try(bench: Bench) -> None:
    """Folded blocks, styles, copy buttons, a forced reply, edits in place, a file: nothing has to be sent plain or without its buttons."""
    now = SystemClock().now()
    states: list[dict[str, Any]] = [
        {"taps": 2, "stage_wanted": 2}, {"status": "approved"}, {"status": "executed", "undo_until": format_iso(now)}, {"status": "denied", "reason": "нет"},
        {"status": "expired"}, {"status": "unknown"}, {"status": "refused", "code": "portal-not-reached"}, {"status": "superseded", "why": "edited"},
        {"lead": True, "told_names": ["Вера"]}, {"home": "tg:5", "told_names": ["Вера"], "lead": True}, {"preview": batch(20)},
    ]  # fmt: skip
    cards = [
        _with_home(outbox.build_card_row(SESSION, entry(n, **more), now, stage=more.pop("stage_wanted", 1)), more)
        for n, more in enumerate(states, start=1)
    ]
    again = open_cards.build_fresh_card_row(SESSION, entry(1, taps=2), now)
    asked = [
        open_cards.build_picker_row(SESSION, "0" * 10, [FIELD, FIELD], now),
        open_cards.build_question_row(SESSION, "0" * 10, FIELD, now, ask=1, objection=None, options=()),
    ]
    await bench.put(*cards)
    await _until(bench, BORIS, lambda texts: len(texts) >= len(cards) + 1)
    await bench.put(again, *asked)
    texts = await _until(bench, BORIS, lambda texts: len(texts) >= len(cards) + 4)
    assert "↓ Эта карточка теперь ниже" in texts
    assert texts[-1].startswith("Новое значение: Сумма")
    assert "Полный список: что было и что станет" in texts
    counts = await bench.counted()
    assert counts["refused"] == 0, counts["refusals"]
    buttons = [button for message in await bench.kit.seen(BORIS) for line in message["buttons"] for button in line]
    assert {button.get("style") for button in buttons} >= {"success", "danger"}
    assert any(button["text"] == "📋 №481" for button in buttons)
