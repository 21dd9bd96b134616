"""Replies as people read them: lists counted by code, the shadow plan in words, and no warning that is none or is said twice."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.replies import render_planned_call, render_reply
from bot.rendering.spans import to_plain_text
from bot.rendering.tables import MAX_ROWS
from bot.telegram.intake.callbacks import CheckClick, ChoiceClick, ExampleClick, unpack
from bot.telegram.view.keyboards import build_reply_keyboard
from orchestrator.domain.card_view import Preview
from orchestrator.domain.outputs import Choice, Notice, Reply, Row, Table, Text
from tests.unit.bot.rendering.card_kit import URL, an_item

RU = Translator("ru")
ROW = Row(label="Ромашка · 1,2 млн ₽", url="https://p/481")


def _said(reply: Reply, tr: Translator = RU) -> str:
    return to_plain_text(render_reply(reply, tr))


@pytest.mark.parametrize(
    ("table", "foot"),
    [
        (Table(rows=(ROW,) * 2, total=2, sum_text="2,4 млн ₽"), "Всего 2 на 2,4 млн ₽"),
        (Table(rows=(ROW,) * 2, total=12), "Показано 2 из 12"),
        (Table(rows=(ROW,) * (MAX_ROWS + 5), total=MAX_ROWS + 5), f"Показано {MAX_ROWS} из {MAX_ROWS + 5}"),
    ],
)
@pytest.mark.req("S004-15")
def test_a_list_has_links_and_says_how_much_of_it_is_shown(table: Table, foot: str) -> None:
    said = _said(Reply(parts=(Text(text="Вот:"), table)))
    assert said.startswith("Вот:\n\n1. Ромашка (https://p/481) · 1,2 млн ₽\n2. ")
    assert said.endswith(foot)
    assert said.count("Ромашка") == min(len(table.rows), MAX_ROWS)


def test_the_one_row_that_was_asked_for_needs_no_count() -> None:
    """«Первые 1 из 19, вместе 120 000 ₽» stood under the oldest deal."""
    only = Table(rows=(ROW,), total=1, fitting=19, sum_text="120 000 ₽")
    assert _said(Reply(parts=(only,))) == "1. Ромашка (https://p/481) · 1,2 млн ₽"
    several = Table(rows=(ROW,) * 2, total=2, fitting=19, sum_text="120 000 ₽")
    assert _said(Reply(parts=(several,))).endswith("Первые 2 из 19, вместе 120 000 ₽")


def test_an_empty_list_says_so_and_an_empty_reply_says_nothing() -> None:
    assert _said(Reply(parts=(Table(),))) == "Ничего не найдено."
    assert render_reply(Reply(), RU) == ()


def test_what_was_found_and_taken_is_no_warning() -> None:
    chosen = Notice(code="chosen", args={"label": "Взять: Иван, Ромашка"})
    assert (
        _said(Reply(notices=(Notice(code="duplicates-found"), chosen)))
        == "Уже есть с таким телефоном или почтой:\n\n✓ Взять: Иван, Ромашка"
    )
    taken = Notice(code="duplicate-taken", args={"label": "Иван, Ромашка"})
    assert _said(Reply(parts=(Text(text="Готово."),), notices=(taken,))).startswith("Готово.\n\nВзял то, что уже есть")


def test_sections_have_headings() -> None:
    reply = Reply(sections=((Notice(code="today-overdue"), Table(rows=(ROW,), total=1)), (Notice(code="today-tasks"), Table())))
    assert _said(reply) == "Просроченные задачи\n1. Ромашка (https://p/481) · 1,2 млн ₽\n\nЗадачи на сегодня\nНичего не найдено."


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(notices=(Notice(code="stopped"),)), "Остановлено."),
        (Reply(parts=(Text(text="Готово."),), notices=(Notice(code="gate-delete"),)), "Готово.\n\n⚠️ Удаление выключено. Его может включить администратор"),
        (Reply(notices=(Notice(code="stopped"), Notice(code="done-before", args={"calls": "x"}))), "⚠️ Остановлено.\n\n⚠️ До этого выполнено: x. Повторять не нужно."),
        (Reply(parts=(Text(text="А"),), notices=(Notice(code="chosen", args={"label": "Б"}),)), "А\n\n✓ Б"),
        (Reply(notices=(Notice(code="no-such-code", args={"x": 1}),)), "no-such-code"),
    ],
)  # fmt: skip
@pytest.mark.req("S004-36")
def test_refusals_are_marked_and_answers_are_not(reply: Reply, said: str) -> None:
    assert _said(reply) == said


@pytest.mark.req("S004-38", "S004-39", "S004-X12")
def test_the_shadow_plan_says_in_words_what_would_be_done() -> None:
    lines = [{"name": "Сумма", "before": "1 ₽", "after": "2 ₽"}, {"name": "Стадия", "before": "", "after": "Договор"}]
    items: list[dict[str, Any]] = [
        {"method": "crm.deal.update", "preview": {"verb": "update", "entity": "deal", "title": "Ромашка", "url": "", "lines": lines}},
        {"method": "batch", "preview": {"verb": "batch", "items": [an_item(1), an_item(2)], "count": 2}},
        {"method": "crm.odd.thing", "preview": {}},
    ]
    said = _said(Reply(notices=(Notice(code="shadow-plan", args={"items": items}),)))
    assert said.splitlines() == [
        RU.translate("shadow-plan"),
        "• Изменить сделку «Ромашка» — Сумма: 1 ₽ → 2 ₽; Стадия: Договор",
        "• Изменить 2 сделки: ответственный",
        f"1. Изменить сделку «Сделка-1» ({URL}1) — Ответственный: Анна → Борис",
        f"2. Изменить сделку «Сделка-2» ({URL}2) — Ответственный: Анна → Борис",
        "• вызов crm.odd.thing",
    ]
    assert to_plain_text(render_planned_call(Preview(), "crm.odd.thing", Translator("en"))) == Translator("en").translate(
        "planned-other", method="crm.odd.thing"
    )


def test_markdown_of_the_model_is_drawn_and_html_stays_text() -> None:
    assert _said(Reply(parts=(Text(text="*жирно* <b>x</b> [a](b)"),))) == "жирно <b>x</b> a (b)"


def test_choices_and_examples_are_buttons_in_order() -> None:
    reply = Reply(
        choices=(Choice(token="abc123:0", label="Ромашка №481"), Choice(token="abc123:1", label="Ромашка №500")),
        examples=(Notice(code="example-deals"),),
    )
    markup = build_reply_keyboard(reply, RU)
    assert markup is not None
    buttons = [button for row in markup.inline_keyboard for button in row]
    assert [button.text for button in buttons] == ["Ромашка №481", "Ромашка №500", "Покажи мои сделки"]
    assert [unpack(str(button.callback_data)) for button in buttons] == [
        ChoiceClick(question_id="abc123", option=0),
        ChoiceClick(question_id="abc123", option=1),
        ExampleClick(code="example-deals"),
    ]
    assert build_reply_keyboard(Reply(), RU) is None


@pytest.mark.parametrize(("effect_id", "buttons"), [("0" * 32, ["Проверить"]), ("", [])])
def test_a_doubtful_call_without_a_card_can_be_looked_at(effect_id: str, buttons: list[str]) -> None:
    """Where a card stands, the card has the button."""
    markup = build_reply_keyboard(Reply(notices=(Notice(code="outcome-unknown", args={"effect_id": effect_id}),)), RU)
    found = [button for row in (markup.inline_keyboard if markup else []) for button in row]
    assert [button.text.split(maxsplit=1)[-1] for button in found] == buttons
    assert [unpack(str(button.callback_data)) for button in found] == [CheckClick(confirmation_id=effect_id)] * len(buttons)


FROZEN = Notice(code="frozen-now", args={"known": "no", "who": "", "at": "", "why": ""})


@pytest.mark.parametrize(
    "notice",
    [
        Notice(code="status", args={"mode": "full", "waiting": 0, "unknown": 0, "running": "no", "done": 0}),
        Notice(code="mode", args={"mode": "full", "installed": "full"}),
        Notice(code="stopping"),
    ],
    ids=lambda notice: notice.code,
)
def test_no_sign_where_nothing_is_wrong_and_one_where_something_is(notice: Notice) -> None:
    """/status, /mode and /stop say more than one sentence; the frozen portal has its own sign."""
    said = to_plain_text(render_reply(Reply(notices=(notice, FROZEN)), RU))
    assert said.count("⚠️") == 0
    assert said.count("⛔") == 1
    assert said.startswith(RU.translate_notice(notice))


@pytest.mark.parametrize(("code", "key"), [("gate-not-found", "id"), ("gate-not-yours", "id")])
def test_a_records_number_is_not_grouped(code: str, key: str) -> None:
    """«№999999», as it stands in the address of its card."""
    assert "№999999" in RU.translate(code, **{key: 999_999, "entity": "deal"})


@pytest.mark.parametrize(
    ("code", "told"),
    [("away", "он сейчас не отвечает. Попробуйте позже"), ("none", "ничего не отправлено"), ("ERROR_CORE", "ничего не отправлено")],
)
def test_a_portal_in_trouble_is_told_in_words(code: str, told: str) -> None:
    """«INTERNAL_SERVER_ERROR» says nothing to a person."""
    assert RU.translate("portal-unreadable", code=code).endswith(told)
