"""Bodies of cards as the outbox has them, and what a person sees of one."""

from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.callbacks import unpack
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.card_view import CardView

RU, EN = Translator("ru"), Translator("en")
AT = "2020-11-21T12:00:00.000000Z"
"""Not today at any hour of any run: a moment of today is told without its day."""
URL = "https://p/crm/deal/details/481/"


def a_line(name: str = "Сумма", before: str = "1 000 000 ₽", after: str = "1 200 000 ₽") -> dict[str, str]:
    return {"field": "OPPORTUNITY", "name": name, "before": before, "after": after}


def a_preview(**more: Any) -> dict[str, Any]:
    base = {"verb": "update", "entity": "deal", "id": 481, "title": "Ромашка", "url": URL, "lines": [a_line()], "items": [], "count": 1}
    return base | more


def a_card(**more: Any) -> dict[str, Any]:
    base = {"confirmation_id": "0a1b2c3d4e", "nonce": "12345678", "method": "crm.deal.update", "status": "requested", "taps": 1, "stage": 1}
    reasons = [{"code": "gate-critical", "args": {"field": "OPPORTUNITY"}}]
    base |= {"call_class": "W", "effect_id": "f" * 32, "slot": "t1/1/1"}
    return base | {"preview": a_preview(), "reasons": reasons, "requested_by_name": "Анна", "expires_at": AT} | more


def an_item(number: int, **more: Any) -> dict[str, Any]:
    base = {
        "key": f"k{number}",
        "method": "crm.deal.update",
        "verb": "update",
        "entity": "deal",
        "id": number,
        "title": f"Сделка-{number}",
        "url": f"{URL}{number}",
    }
    return base | {"lines": [a_line(name="Ответственный", before="Анна", after="Борис")]} | more


def a_batch(count: int, **more: Any) -> dict[str, Any]:
    return a_card(
        method="batch", preview={"verb": "batch", "lines": [], "items": [an_item(n) for n in range(1, count + 1)], "count": count}, **more
    )


def shown(body: dict[str, Any], tr: Translator = RU) -> str:
    return to_plain_text(render_card(CardView.from_body(body), tr))


def pressable(body: dict[str, Any], tr: Translator = RU) -> list[list[Any]]:
    markup = build_card_keyboard(CardView.from_body(body), tr)
    rows = markup.inline_keyboard if markup else []
    pressed = [[unpack(str(button.callback_data)) for button in row if button.copy_text is None] for row in rows]
    return [row for row in pressed if row]
