"""Words of customers and of the portal on everything that goes to Telegram: nothing of them can be tapped, and nothing of ours is harmed."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.defang_links import JOINER, disable_links
from bot.telegram.view.message_builder import build_message
from sandbox.telegram.text import formatted_text
from state.journal.store import OutboxRow
from tests.unit.bot.rendering.card_kit import a_batch, a_card, a_line, a_preview, an_item

BAD = "Пётр http://evil.example, https://evil.example/pay или пишите @evil_bot … /start /unfreeze, +7 901 123-45-67, p@evil.ru #срочно @evil.ru evil.com 10.0.0.1 $TON $1INCH xn--e1afmkfd.xn--p1ai"
PORTAL = "https://p/crm/deal/details/481/"
NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
ITEM = {"what": "changed", "entity": "deal", "title": BAD, "url": PORTAL, "kind": "", "who": [{"name": BAD, "via": False}]}
ENTRY = {"what": "portal", "when": "12:00", "lines": [a_line(name="Название", before="Ромашка", after=BAD)]}
HISTORY = {"title": BAD, "number": 413, "url": PORTAL, "entity": "deal", "deleted": False, "pages": 1, "page": 0, "total": 1}
ROW = {"label": BAD, "url": PORTAL}
TABLE = {"kind": "table", "rows": [ROW], "shown": 1, "total": 1}
EDIT = {
    "what": "value",
    "name": "Название",
    "value": BAD,
    "options": [BAD],
    "field_kind": "text",
    "confirmation_id": "0a1b2c3d4e",
    "number": 0,
    "ask": 0,
}
WAITS = {"preview": a_preview(title=BAD), "method": "crm.deal.update", "who": BAD, "until": "2026-11-22T12:00:00Z", "ref": "7"}
SHOWN: list[tuple[str, dict[str, Any]]] = [
    ("card", a_card(preview=a_preview(title=BAD, lines=[a_line(name="Название", before=BAD, after=BAD * 3)]), comment=BAD)),
    ("card", a_card(reasons=[{"code": "gate-taint-value", "args": {"field": BAD}}], requested_by_name=BAD)),
    ("card", a_card(status="denied", denied_by_name=BAD, reason=BAD)),
    (
        "card",
        a_batch(3) | {"preview": {"verb": "batch", "lines": [], "items": [an_item(1, title=BAD, lines=[a_line(after=BAD)])], "count": 1}},
    ),
    ("edit", EDIT),
    ("waiting", {"chat": "tg:-1001", "count": 1, "cards": [WAITS]}),
    ("history", {**HISTORY, "entries": [ENTRY]}),
    ("news", {"items": [{**ITEM, "lines": [a_line(name="Название", before=BAD, after=BAD)]}]}),
    ("reminder", {"what": "due", "when": "12:00", "text": BAD, "url": PORTAL, "reminder": "0" * 32, "place": "s1"}),
    ("people", {"code": "people-asks", "about": {"name": BAD}, "args": {"telegram": BAD}}),
    ("reply", {"parts": [TABLE]}),
    ("reply", {"sections": [[{"code": "daily-free", "args": {}}, TABLE]]}),
    ("reply", {"notices": [{"code": "portal-refused", "args": {"text": BAD}}]}),
]


@pytest.mark.parametrize("locale", ["ru", "en"])
@pytest.mark.parametrize(("kind", "body"), SHOWN)
def test_a_customers_words_make_nothing_to_tap(kind: str, body: dict[str, Any], locale: Any) -> None:
    """Telegram finds no address, mention or command in them, and the way to the record stays."""
    row = OutboxRow(id="o1", session="tg:1007", channel="tg", kind=kind, body=body, key="", created_at=NOW, due_at=NOW)
    for text, marks in build_message(row, Translator(locale)).pieces:
        found = formatted_text(text, "", [mark.model_dump(exclude_none=True) for mark in marks])[1]
        assert not {"url", "mention", "bot_command", "email", "phone_number", "hashtag", "cashtag"} & {entity["type"] for entity in found}
        assert "://evil" not in text
        assert ".example" not in text
        if body.get("url"):
            assert any(mark.url == PORTAL for mark in marks)


def test_a_card_shows_the_whole_address_that_is_to_be_written() -> None:
    """Somebody decides on it: it is not hidden, and looks as it is."""
    row = OutboxRow(
        id="o1",
        session="tg:1007",
        channel="tg",
        kind="card",
        body=a_card(preview=a_preview(lines=[a_line(after=BAD)])),
        key="",
        created_at=NOW,
        due_at=NOW,
    )
    text = build_message(row, Translator("ru")).pieces[0][0]
    assert BAD in text.replace(JOINER, "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("почта ivan.petrov@mail.ru", "почта ivan.petrov@mail.ru"),
        ("22.11.2026, 1 000.50 ₽, т.е. 3/4", "22.11.2026, 1 000.50 ₽, т.е. 3/4"),
        ("и/или https://p/crm/deal/details/481/", "и/или https://p/crm/deal/details/481/"),
        ("evil.com", f"evil.{JOINER}com"),
        ("tg://resolve?domain=x", f"tg:{JOINER}//resolve?domain=x"),
        ("(/unfreeze)", f"(/{JOINER}unfreeze)"),
        ("@evil_bot", f"@{JOINER}evil_bot"),
        ("@evil.com", f"@{JOINER}evil.{JOINER}com"),
        ("#срочно #481", f"#{JOINER}срочно #481"),
        ("10.0.0.1", f"10.{JOINER}0.{JOINER}0.{JOINER}1"),
        ("версия 1.2.3, 22.11.26", "версия 1.2.3, 22.11.26"),
        ("xn--e1afmkfd.xn--p1ai", f"xn--e1afmkfd.{JOINER}xn--p1ai"),
        ("$TON, 5$", f"${JOINER}TON, 5$"),
    ],
)
def test_only_what_would_be_live_is_touched(text: str, found: str) -> None:
    """Addresses of people, days, sums and the portal's own addresses stay as they are."""
    assert disable_links(text, frozenset({"p"})) == found


def test_commands_that_we_name_stay_commands() -> None:
    """The list of commands is there to be tapped."""
    body = {"notices": [{"code": "unknown-command", "args": {"commands": "/today /pending"}}]}
    row = OutboxRow(id="o1", session="tg:1007", channel="tg", kind="reply", body=body, key="", created_at=NOW, due_at=NOW)
    text = build_message(row, Translator("ru")).pieces[0][0]
    assert JOINER not in text
    assert "/today /pending" in text
