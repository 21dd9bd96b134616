"""The card of an approved add said "did not change" of a field that the portal did not take."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView

LINE = {"field": "UF_CRM_1", "name": "Город", "before": "", "after": "Тверь"}
ADD: dict[str, Any] = {"verb": "add", "entity": "deal", "title": "Ромашка", "url": "", "lines": [LINE], "items": []}
UPDATE = ADD | {"verb": "update"}
BATCH = {"verb": "batch", "lines": [], "count": 2, "items": [{"key": "a", **ADD}, {"key": "b", **UPDATE}]}


@pytest.mark.parametrize(
    ("preview", "unchanged", "said", "unsaid"),
    [
        (ADD, ["UF_CRM_1"], ["Создано, но Битрикс24 не принял: поле Город"], "не изменил"),
        (ADD, ["UF_CRM_1", "UF_CRM_2"], ["не принял: поле Город и ещё 1"], "не изменил"),
        (UPDATE, ["UF_CRM_1"], ["не изменил: Город"], "не принял"),
        (BATCH, ["a: UF_CRM_1"], ["не принял: поле Город"], "не изменил"),
        (BATCH, ["a: UF_CRM_1", "b: UF_CRM_1"], ["не принял: поле Город", "не изменил: Город"], "ещё"),
        (ADD, [], ["Выполнено"], "⚠️"),
    ],
)
def test_the_card_says_not_taken_of_adds_and_not_changed_of_updates(
    preview: dict[str, Any], unchanged: list[str], said: list[str], unsaid: str
) -> None:
    """Also in a batch, where each command has its own verb."""
    at = "2026-11-21T12:00:00.000000Z"
    body = {"confirmation_id": "0a1b2c3d4e", "status": "executed", "executed_at": at, "approved_by_name": "Вера", "method": "crm.deal.add"}
    text = to_plain_text(render_card(CardView.from_body(body | {"preview": preview, "unchanged": unchanged}), Translator("ru")))
    assert all(piece in text for piece in said), text
    assert unsaid not in text
