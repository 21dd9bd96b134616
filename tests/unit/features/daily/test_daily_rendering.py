"""What people read of daily help in both languages, and buttons that carry what comes back, within Telegram's 64 bytes."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.daily import build_reminder_buttons, parse_reminder_click, render_daily, render_reminder
from bot.rendering.spans import to_plain_text

ID = "0123456789abcdef" * 2
ITEM = {"reminder": ID, "text": "позвонить *Ромашке*", "when": "пт, 27 ноября, 11:00", "hour": "11:00", "url": ""}


def body(what: str, **more: Any) -> dict[str, Any]:
    return {"what": what, **ITEM, "place": f"{what[0]}1764230400", **more}


@pytest.mark.parametrize(
    ("what", "said", "buttons"),
    [
        ("set", "⏰ Напомню пт, 27 ноября, 11:00: позвонить *Ромашке*", ["✖ Удалить"]),
        ("due", "⏰ Напоминание: позвонить *Ромашке*", ["Через час", "Завтра в 9"]),
        ("late", "⏰ Напоминание на 11:00 (бот не работал): позвонить *Ромашке*", ["Через час", "Завтра в 9"]),
        ("moved", "⏰ Отложено, напомню пт, 27 ноября, 11:00: позвонить *Ромашке*", ["✖ Удалить"]),
        ("dropped", "✖ Напоминание удалено: позвонить *Ромашке*", []),
    ],
)
def test_a_reminder_in_words(what: str, said: str, buttons: list[str]) -> None:
    """The person's words stand there as they are, and no markup is made of them."""
    tr = Translator("ru")
    assert to_plain_text(render_reminder(body(what), tr)) == said
    assert [button.text for row in build_reminder_buttons(body(what), tr) for button in row] == buttons
    assert {span.style for span in render_reminder(body(what), tr) if "Ромашке" in span.text} == {""}


def test_a_late_one_of_another_day_says_the_day() -> None:
    assert "на пт, 27 ноября, 11:00 (бот не работал)" in to_plain_text(render_reminder(body("late", hour=""), Translator("ru")))


@pytest.mark.parametrize(
    ("what", "actions"), [("set", ["drop"]), ("due", ["hour", "morning"]), ("late", ["hour", "morning"]), ("moved", ["drop"])]
)
def test_what_a_button_carries_comes_back(what: str, actions: list[str]) -> None:
    """At most 64 bytes, and only what was packed is unpacked."""
    for locale in ("ru", "en"):
        data = [button.data for row in build_reminder_buttons(body(what), Translator(locale)) for button in row]  # type: ignore[arg-type]
        assert all(len(item.encode()) <= 64 for item in data)
        assert [parse_reminder_click(item) for item in data] == [
            {"reminder": ID, "action": action, "place": body(what)["place"]} for action in actions
        ]


@pytest.mark.parametrize(
    "data", ["", "r1", f"r1:{ID}:x:list", f"r1:{ID[:-1]}:d:list", f"r1:{ID}:d:lists", f"r1:{ID}:d:s", f"r1:{ID}:d:list\n", f"r1:{ID.upper()}:d:list", f"r1:{ID}:d:s1:x"]
)  # fmt: skip
def test_data_that_we_never_made_is_nothing(data: str) -> None:
    assert parse_reminder_click(data) is None


def test_the_list() -> None:
    """One button for each, long words cut on the button and whole in the text."""
    tr, long = Translator("ru"), {**ITEM, "text": "я" * 200}
    shown = {"what": "list", "items": [ITEM, long], "more": 3}
    text = to_plain_text(render_reminder(shown, tr))
    assert text.splitlines()[:2] == ["Напоминания", "• пт, 27 ноября, 11:00 — позвонить *Ромашке*"]
    assert text.endswith("и ещё 3")
    assert "я" * 200 in text
    assert [len(row) for row in build_reminder_buttons(shown, tr)] == [1, 1]
    assert max(len(row[0].text) for row in build_reminder_buttons(shown, tr)) < 45
    assert parse_reminder_click(build_reminder_buttons(shown, tr)[0][0].data) == {"reminder": ID, "action": "drop", "place": "list"}
    empty = {"what": "list", "items": [], "more": 0}
    assert to_plain_text(render_reminder(empty, tr)).startswith("Напоминаний нет.")
    assert build_reminder_buttons(empty, tr) == []
    assert "личном чате" in to_plain_text(render_reminder({"what": "elsewhere", "items": [], "more": 0}, tr))


def test_a_digest_in_both_languages() -> None:
    """Day, lists with «показано N из M» and sums, the team, how to switch it off."""
    table = {"kind": "table", "rows": [{"label": "Ромашка · 1 млн ₽ · №481", "url": "https://p.example/crm/deal/details/481/"}], "shown": 1, "total": 12, "sum_text": "12,4 млн ₽"}  # fmt: skip
    team = [
        {"name": "Анна", "overdue": 2, "due": 0, "closing": 1, "idle": 3},
        {"name": "", "overdue": 2, "due": 0, "closing": 1, "idle": 3},
    ]
    given = {"what": "digest", "day": "2026-11-23", "sections": [{"code": "today-idle", "table": table}], "team": team, "unread": []}
    assert to_plain_text(render_daily(given, Translator("ru"))).split("\n\n") == [
        "☀️ Доброе утро! пн, 23 ноября",
        "Команда: просрочено 2, на сегодня 0, закрываются 1, без движения 3\n• Анна: просрочено 2, на сегодня 0, закрываются 1, без движения 3",
        "Сделки без движения 7 дней и дольше\n1. Ромашка (https://p.example/crm/deal/details/481/) · 1 млн ₽ · №481\nПоказано 1 из 12, всего 12,4 млн ₽",
        "Отключить: /settings",
    ]
    english = to_plain_text(render_daily(given, Translator("en")))
    assert english.startswith("☀️ Good morning! Mon, 23 November")
    assert english.endswith("Switch off: /settings")
    free = {**given, "sections": [], "team": []}
    assert to_plain_text(render_daily(free, Translator("ru"))).split("\n\n")[1].startswith("На сегодня ничего срочного")
