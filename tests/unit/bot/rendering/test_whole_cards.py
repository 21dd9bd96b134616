"""A card shows all that will be sent or waits until the rest was opened; nothing of others' words in it can be tapped."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.i18n.translate import Translator
from bot.rendering.card_reasons import list_reasons
from bot.rendering.cards import render_card, render_details
from bot.rendering.defang_links import JOINER, disable_links
from bot.rendering.headings import list_changes
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.callbacks import CardClick
from bot.telegram.view.entities import LIMIT
from bot.telegram.view.message_builder import build_message
from orchestrator.directory.answers import RecordRow
from orchestrator.domain.card_view import CARD_ROOM, CardView, PreviewPart, count_units, is_shown_in_part
from orchestrator.sessions import outbox
from sandbox.telegram.text import formatted_text
from state.clock import parse_iso
from state.journal.store import OutboxRow
from state.model.card import Card
from tests.unit.bot.rendering.card_kit import AT, EN, RU, a_batch, a_card, a_line, a_preview, an_item, pressable, shown

VALUES = st.one_of(
    st.text(alphabet="абвгд xyz.@😀", min_size=1, max_size=3000),
    st.lists(st.text(alphabet="+7 901", min_size=1, max_size=20), min_size=1, max_size=60).map("\n".join),
)
LINES = st.lists(st.builds(a_line, name=st.just("Поле"), before=VALUES | st.just(""), after=VALUES), min_size=1, max_size=60)


def as_row(body: dict[str, Any], session: str = "tg:1007") -> dict[str, Any]:
    """The body of the row that the outbox gets for this card in that chat."""
    entry = Card.from_stored({key: value for key, value in body.items() if key != "stage"})
    return dict(outbox.build_card_row(session, entry, parse_iso(AT)).body)


def draw(body: dict[str, Any]) -> str:
    return to_plain_text(render_card(CardView.from_body(body), RU))


def has_approval(body: dict[str, Any]) -> bool:
    return any(isinstance(click, CardClick) and click.approve for row in pressable(body) for click in row)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(lines=LINES)
def test_a_card_is_whole_or_says_that_it_is_not(lines: list[dict[str, str]]) -> None:
    """Nothing that will be written is left out of a card that can be approved at once, and a card never outgrows one message."""
    body = as_row(a_card(preview=a_preview(lines=lines)))
    text = draw(body)
    assert count_units(text) <= LIMIT
    if body.get("is_cut"):
        assert "Показано не всё" in text
        assert not has_approval(body)
    else:
        assert all(element in text for line in lines for value in (line["before"], line["after"]) for element in value.split("\n"))
        assert has_approval(body)
    details = to_plain_text(render_details(CardView.from_body(body), RU))
    assert all(element in details for line in lines for value in (line["before"], line["after"]) for element in value.split("\n"))


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(items=st.lists(st.builds(an_item, st.integers(1, 99), lines=LINES.map(lambda lines: lines[:3])), min_size=1, max_size=30))
def test_a_batch_is_whole_or_says_that_it_is_not(items: list[dict[str, Any]]) -> None:
    """A card of many commands fits in one message; its details name each command with its values."""
    body = as_row(a_card(method="batch", preview={"verb": "batch", "lines": [], "items": items, "count": len(items)}))
    text = draw(body)
    assert count_units(text) <= LIMIT
    assert bool(body.get("is_cut")) == (not has_approval(body)) == ("Показано не всё" in text)
    details = to_plain_text(render_details(CardView.from_body(body), RU))
    for whole in (details, *([] if body.get("is_cut") else [text])):
        for item in items:
            assert item["title"] in whole
            assert all(element in whole for line in item["lines"] for element in line["after"].split("\n"))


def test_the_end_of_a_long_text_is_on_the_card_or_behind_the_button() -> None:
    """The nine hundredth sign of a message to a colleague is read before it is sent."""
    long = "Добрый день! " * 70 + "Скидка 90 процентов."
    body = as_row(a_card(call_class="N", preview=a_preview(lines=[a_line(name="Текст", before="", after=long)])))
    assert "Скидка 90 процентов." in draw(body)
    assert has_approval(body)
    text = "Добрый день! " * 300 + "Скидка 90 процентов."
    letter = a_card(call_class="N", preview=a_preview(lines=[a_line(name="Текст", before="", after=text)]))
    assert "Скидка 90 процентов." not in draw(as_row(letter))
    assert "Скидка 90 процентов." in to_plain_text(render_details(CardView.from_body(letter), RU))


def test_a_text_that_goes_outside_is_never_folded() -> None:
    """What a customer or a colleague will read stands open on the card; other long values are folded."""
    for call_class, style in (("N", "block"), ("W", "quote")):
        view = CardView.from_body(a_card(call_class=call_class, preview=a_preview(lines=[a_line(before="", after="я" * 500)])))
        assert [span.style for span in render_card(view, RU) if "яя" in span.text] == [style]


def test_lists_stand_one_a_line_with_their_last_element() -> None:
    """The last of nine phones is read as easily as the first."""
    phones = [f"добавить +7 901 000-00-0{n}" for n in range(9)]
    text = shown(a_card(preview=a_preview(lines=[a_line(name="Телефон", before="+7 900\n+7 905", after="\n".join(phones))])))
    assert "Телефон:\n+7 900\n+7 905\n→ добавить +7 901 000-00-00\n" in text
    assert all(f"\n→ {phone}\n" in text for phone in phones)


def test_after_it_was_opened_the_card_can_be_approved_there_and_nowhere_else() -> None:
    """Each person who may decide reads the rest themselves; a group reads it together."""
    long = a_card(preview=a_preview(lines=[a_line(after="я" * CARD_ROOM)]), requested_by="tg:1007", opened=["tg:1007"])
    assert has_approval(as_row(long, "tg:1007"))
    assert not has_approval(as_row(long, "tg:1006"))
    assert has_approval(as_row(long, "tg:-100200"))
    assert "Остальное — в сообщениях выше" in draw(as_row(long, "tg:1007"))
    assert "Press “Details”" not in to_plain_text(render_card(CardView.from_body(as_row(long, "tg:1007")), EN))


@pytest.mark.parametrize(("count", "named"), [(15, 15), (16, 5)])
def test_a_long_batch_names_five_records_and_says_how_many_more(count: int, named: int) -> None:
    body = as_row(a_batch(count))
    text = draw(body)
    assert is_shown_in_part(Card.from_stored(body)) is (named < count)
    assert text.count("Сделка-") == named
    assert ("… и ещё 11" in text) is (named < count)


def test_a_decided_long_card_still_fits_in_one_message() -> None:
    body = as_row(a_card(preview=a_preview(lines=[a_line(after="я" * 9000)]), status="executed", executed_at=AT))
    assert count_units(draw(body)) <= LIMIT
    assert "Показано не всё" not in draw(body)


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


def _said(*codes: str, **args: object) -> Sequence[str]:
    reasons = [{"code": code, "args": args} for code in codes]
    return list_reasons(CardView.from_body(a_card(reasons=reasons)), RU)


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (["gate-not-ordered"], ["Прямой просьбы в сообщении нет: проверьте, так ли я понял"]),
        (["gate-not-ordered", "gate-not-plain", "gate-taint-prose"], ["Прямой просьбы в сообщении нет: проверьте, так ли я понял"]),
        (["gate-critical", "gate-not-ordered"], ["Меняется сумма"]),
        (["gate-critical", "gate-only-asked"], ["Меняется сумма", "Это вопрос, а не поручение: проверьте, нужно ли это"]),
        (
            ["gate-replaces", "gate-not-ordered"],
            ["Заменит то, что записано: сумма", "Прямой просьбы в сообщении нет: проверьте, так ли я понял"],
        ),
        (["gate-reference-field", "gate-critical"], ["Меняется сумма"]),
        (["gate-critical-action", "gate-no-addition"], []),
        (["gate-critical-action", "gate-no-addition", "gate-not-ordered"], ["Прямой просьбы в сообщении нет: проверьте, так ли я понял"]),
        (["gate-critical-action", "gate-replaces", "gate-not-ordered"], ["Заменит то, что записано: сумма"]),
        (["gate-undo", "gate-critical"], ["Меняется сумма"]),
        (["gate-undo"], []),
        (["gate-class-delete", "gate-no-addition"], ["Это нельзя отменить"]),
        (["gate-reference-field", "gate-not-ordered"], ["Значение возьмётся из ответа другой команды: сумма"]),
        (["gate-critical", "gate-replaces", "gate-class-delete", "gate-not-plain"], ["Это нельзя отменить", "Меняется сумма"]),
    ],
)
def test_the_weightiest_reasons_are_said(codes: list[str], said: list[str]) -> None:
    """What deletes stands first; a statement such as «481 выиграна» is not told that it asked for nothing."""
    assert _said(*codes, field="OPPORTUNITY", method="crm.deal.update") == said


@pytest.mark.parametrize(("call_class", "shows"), [("W", False), ("WM", True)])
def test_a_reason_that_says_only_that_it_asks_is_no_line(call_class: str, *, shows: bool) -> None:
    """«Завершить задачу «Позвонить»» needs no word more; what is dangerous is marked all the same."""
    body = a_card(reasons=[{"code": "gate-critical-action", "args": {"method": "tasks.task.complete"}}], call_class=call_class)
    text = to_plain_text(render_message("card", body, RU))
    assert "подтверждает" not in text
    assert any(sign in text for sign in "🟡🟠🔴") is shows


def test_a_record_that_the_heading_names_is_not_named_again_by_the_reason() -> None:
    """Another one that the bot chose is."""
    chosen = [{"code": "gate-taint-target", "args": {"entity": entity, "id": 481, "title": "Ромашка"}} for entity in ("deal", "company")]
    body = a_card()
    body["preview"]["record"] = "deal:481"
    said = [list_reasons(CardView.from_body({**body, "reasons": [one]}), RU) for one in chosen]
    assert said == [["Бот сам выбрал запись №481"], ["Бот сам выбрал запись «Ромашка» №481"]]


def test_a_record_of_a_set_is_compared_with_the_words() -> None:
    """In place of «Бот сам выбрал запись»."""
    reasons = [
        {"code": "gate-taint-target", "args": {"entity": "lead", "id": 104}},
        {"code": "gate-compared", "args": {"fits": "Лена", "differs": "Софт (Железо)", "missed": 1}},
    ]
    [said] = list_reasons(CardView.from_body(a_card(reasons=reasons)), RU)
    assert said == "По просьбе: Лена ✓ · Софт (Железо) ✗"


@pytest.mark.parametrize(
    ("args", "beside", "said"),
    [
        ({"told": "yes"}, [], ["Понял так из ваших слов"]),
        ({"told": "yes"}, ["gate-replaces"], ["Заменит то, что записано: сумма"]),
        ({}, [], ["Прямой просьбы в сообщении нет: проверьте, так ли я понял"]),
        ({}, ["gate-replaces"], ["Заменит то, что записано: сумма", "Прямой просьбы в сообщении нет: проверьте, так ли я понял"]),
    ],
)
def test_what_the_message_says_without_an_order_is_not_called_missing(args: dict[str, str], beside: list[str], said: list[str]) -> None:
    """«доставка — курьером» says it all; the details say the same as the card."""
    others = [{"code": code, "args": {"field": "OPPORTUNITY"}} for code in beside]
    body = a_card(reasons=[{"code": "gate-not-ordered", "args": args}, *others])
    assert list_reasons(CardView.from_body(body), RU) == said
    whole = "Понял так" if args else "Прямой просьбы"
    assert whole in to_plain_text(render_message("details", body, RU))


def test_no_other_reason_takes_the_place_of_an_address_that_is_not_the_customers() -> None:
    said = _said("gate-notifies", "gate-class-delete", "gate-address-foreign", value="a@b.example", who="Елена Попова", method="m")
    assert said[0] == "У «Елена Попова» нет такого телефона или почты: a@b.example"


def test_the_details_of_a_card_are_words() -> None:
    """Record with its number, values, reasons with the rule, who asks."""
    reasons = [{"code": "gate-critical", "args": {"field": "OPPORTUNITY"}}, {"code": "gate-rule", "args": {"why": "Проверьте сумму"}}]
    text = to_plain_text(render_message("details", a_card(reasons=reasons), RU))
    assert "«Ромашка» (https://p/crm/deal/details/481/) №481" in text
    assert "Сумма: 1 000 000 ₽ → 1 200 000 ₽" in text
    assert "Почему спрашиваю\n• Меняется сумма\n• Проверьте сумму" in text
    assert text.endswith("Просит Анна")
    assert "crm." not in text
    assert "OPPORTUNITY" not in text


def test_the_details_of_a_batch_name_every_record() -> None:
    """As many as its card lists."""
    text = to_plain_text(render_message("details", a_batch(3), RU))
    assert all(f"Сделка-{number}" in text for number in (1, 2, 3))


BODY = {
    "confirmation_id": "c1",
    "status": "requested",
    "method": "crm.deal.update",
    "expires_at": "2026-11-23T12:00:00Z",
    "preview": {"verb": "update", "entity": "deal", "id": 481, "title": "Ромашка", "lines": [], "since": 2},
    "reasons": [{"code": "gate-model-asks", "args": {}, "since": 2}],
    "commands": [{"key": "a", "method": "crm.deal.update", "status": "success", "since": 2}],
    "since": 2,
}


def test_a_card_with_unknown_keys_is_drawn() -> None:
    """In the card, in its reasons and in the reports of a batch."""
    assert "Изменить сделку «Ромашка»" in to_plain_text(render_message("card", BODY, Translator("ru")))


def test_a_blank_value_in_one_spelling_gives_way_to_the_other() -> None:
    """The portal gives some fields in two spellings, one of them empty."""
    row = RecordRow.model_validate({"ID": None, "id": 7, "TITLE": None, "title": "x", "STAGE_ID": "", "STATUS_ID": "NEW", "CLOSED": ""})
    assert (row.id, row.title, row.stage, row.closed) == (7, "x", "NEW", None)


def test_what_the_heading_of_a_new_record_says_is_not_said_again() -> None:
    """«Создать контакт «Пётр Орлов» — Имя: Пётр; Фамилия: Орлов»; another name, and that of a changed record, stay."""
    names = [{"field": "NAME", "name": "Имя", "after": "Пётр"}, {"field": "LAST_NAME", "name": "Фамилия", "after": "Орлов"}]
    title = {"field": "TITLE", "name": "Название", "after": "Гранит"}
    parts = [
        PreviewPart.model_validate({"verb": "add", "entity": "contact", "title": "Пётр Орлов", "lines": names}),
        PreviewPart.model_validate({"verb": "add", "entity": "company", "title": "Гранит", "lines": [title]}),
        PreviewPart.model_validate({"verb": "add", "entity": "lead", "title": "Пётр Орлов", "lines": names}),
        PreviewPart.model_validate({"verb": "update", "entity": "contact", "title": "Пётр Орлов", "lines": names}),
    ]
    said = "Имя: Пётр; Фамилия: Орлов"
    assert [list_changes(part) for part in parts] == ["", "", said, said]
