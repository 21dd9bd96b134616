"""News of the portal as people read them, in both languages, from any mix of what can happen to any kind of record."""

from itertools import product
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.record_changes import render_news
from bot.rendering.spans import to_plain_text

URL = "https://portal.example/crm/deal/details/481/"
PETR, IRINA = {"name": "Пётр Иванов", "via": False}, {"name": "Ирина Лебедева", "via": True}
STAGE = {"name": "Стадия", "before": "Договор", "after": "Оплата"}
SUM = {"name": "Сумма", "before": "", "after": "1 ₽"}


def item(what: str = "changed", entity: str = "deal", **over: Any) -> dict[str, Any]:
    """One record."""
    return {"what": what, "entity": entity, "kind": "", "title": "Ромашка", "url": "", "who": [PETR], "lines": [STAGE, SUM], **over}


def said(*items: dict[str, Any], more: int = 0, locale: Any = "ru") -> str:
    return to_plain_text(render_news({"items": list(items), "more": more}, Translator(locale)))


@pytest.mark.parametrize(
    ("one", "ru", "en"),
    [
        (item(), "🔔 Сделка «Ромашка» · изменено: Пётр Иванов\nСтадия: Договор → Оплата\nСумма: 1 ₽", "🔔 Deal “Ромашка” · changed by Пётр Иванов"),
        (item(who=[IRINA, PETR], lines=[]), "🔔 Сделка «Ромашка» · изменено: Ирина Лебедева через Sdelka, Пётр Иванов", "Ирина Лебедева through Sdelka, Пётр"),
        (item(who=[], lines=[]), "🔔 Сделка «Ромашка»", "🔔 Deal “Ромашка”"),
        (item("added", "lead", lines=[]), "🔔 Новый лид «Ромашка» · создано: Пётр Иванов", "🔔 New lead “Ромашка” · created by"),
        (item("deleted", "task", who=[IRINA], lines=[]), "🔔 Задача удалена: «Ромашка» · удалено: Ирина Лебедева через Sdelka", "🔔 Task deleted: “Ромашка” · deleted by"),
        (item("first", "item", kind="счёт", who=[], lines=[SUM]), "🔔 Счёт «Ромашка»\nСумма: 1 ₽", "🔔 Счёт “Ромашка”"),
    ],
)  # fmt: skip
def test_one_record_has_a_line_for_each_change(one: dict[str, Any], ru: str, en: str) -> None:
    assert said(one) == ru
    assert en in said(one, locale="en")


def test_several_records_have_a_line_each() -> None:
    text = said(item(url=URL), item("deleted", who=[], lines=[]), more=3)
    assert text.splitlines() == [
        "🔔 Изменилось 5 записей",
        f"• Сделка «Ромашка» ({URL}) · изменено: Пётр Иванов — Стадия: Договор → Оплата; Сумма: 1 ₽",
        "• Сделка удалена: «Ромашка»",
        "и ещё 3",
    ]


def test_every_kind_and_deed_has_words() -> None:
    """A code without a sentence would stand in the message as itself."""
    for locale, what, entity in product(("ru", "en"), ("added", "changed", "first", "deleted"), ("deal", "lead", "task", "item")):
        assert "news-" not in said(item(what, entity), item(what, entity), locale=locale), (locale, what, entity)
