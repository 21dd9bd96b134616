"""The card of a confirmation: everything that will be written, how it stands, and the buttons that fit."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import MAX_ITEMS, MAX_LINES, card_text
from bot.rendering.spans import plain
from bot.telegram.callbacks import CardPress, CheckPress, DetailsPress, unpack
from bot.telegram.keyboards import card_keyboard
from orchestrator.gate.confirmations import second_nonce
from orchestrator.gate.visible import visible
from orchestrator.messages import Notice

RU, EN = Translator("ru"), Translator("en")
AT = "2026-11-21T12:00:00.000000Z"
URL = "https://p/crm/deal/details/481/"


def _line(name: str = "Сумма", before: str = "1 000 000 ₽", after: str = "1 200 000 ₽") -> dict[str, str]:
    return {"field": "OPPORTUNITY", "name": name, "before": before, "after": after}


def _preview(**more: Any) -> dict[str, Any]:
    base = {"verb": "update", "entity": "deal", "id": 481, "title": "Ромашка", "url": URL, "lines": [_line()], "items": [], "count": 1}
    return base | more


def _card(**more: Any) -> dict[str, Any]:
    base = {"confirmation_id": "0a1b2c3d4e", "nonce": "12345678", "method": "crm.deal.update", "status": "requested", "taps": 1, "stage": 1}
    reasons = [{"code": "gate-critical", "args": {"field": "OPPORTUNITY"}}]
    return base | {"preview": _preview(), "reasons": reasons, "requested_by_name": "Анна", "expires_at": AT} | more


def _item(number: int, **more: Any) -> dict[str, Any]:
    base = {
        "key": f"k{number}",
        "method": "crm.deal.update",
        "verb": "update",
        "entity": "deal",
        "id": number,
        "title": f"Сделка-{number}",
        "url": f"{URL}{number}",
    }
    return base | {"lines": [_line(name="Ответственный", before="Анна", after="Борис")]} | more


def _batch(count: int, **more: Any) -> dict[str, Any]:
    return _card(
        method="batch", preview={"verb": "batch", "lines": [], "items": [_item(n) for n in range(1, count + 1)], "count": count}, **more
    )


def _text(body: dict[str, Any], tr: Translator = RU) -> str:
    return plain(card_text(body, tr))


def _buttons(body: dict[str, Any], tr: Translator = RU) -> list[list[Any]]:
    markup = card_keyboard(body, tr)
    return [[unpack(str(button.callback_data)) for button in row] for row in markup.inline_keyboard] if markup else []


@pytest.mark.req("S004-9", "S004-29")
def test_a_waiting_card_says_what_to_what_before_after_why_who_and_until_when() -> None:
    text = _text(_card())
    for piece in ("Изменить сделку", f"«Ромашка» ({URL})", "Сумма: 1 000 000 ₽ → 1 200 000 ₽", "Меняется сумма", "Просит Анна", "15:00"):
        assert piece in text, piece
    assert "Сумма: 500 ₽" in _text(_card(preview=_preview(lines=[_line(before="", after="500 ₽")])))
    bold = [span for span in card_text(_card(), RU) if span.style == "bold"]
    assert "1 200 000 ₽" in [span.text for span in bold]
    assert [span.url for span in bold if span.url] == [URL]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"status": "approved", "approved_by_name": "Вера"}, "⏳ Выполняется · одобрил(а) Вера"),
        ({"status": "executed", "approved_by_name": "Вера", "executed_at": AT}, "✅ Выполнено в 21.11 15:00 · одобрил(а) Вера"),
        ({"status": "denied", "denied_by_name": "Борис", "denied_at": AT}, "✖ Отклонено в 21.11 15:00 · Борис"),
        ({"status": "expired", "expired_at": AT}, "⌛ Срок истёк в 21.11 15:00"),
        ({"status": "superseded"}, "↻ Заменено новой карточкой"),
        ({"status": "unknown"}, "❓ Исход неизвестен"),
        ({"status": "refused", "code": ""}, "Не выполнено: проверил в Битрикс24"),
        ({"status": "refused", "code": "ERROR_CORE", "detail": "Нет прав"}, "Не выполнено: Нет прав"),
        ({"status": "refused", "code": "gate-not-found", "args": {"id": 481, "entity": "deal"}}, "Не нашёл запись №481"),
        ({"status": "refused", "code": "gate-closed", "args": {"method": "crm.deal.update"}, "detail": "closed"}, "выключено администратором: crm.deal.update"),
    ],
)  # fmt: skip
@pytest.mark.req("S004-15", "S004-36")
def test_each_settled_state_is_said_with_its_change_and_no_longer_asks(more: dict[str, Any], said: str) -> None:
    body = _card(**more)
    text = _text(body).replace(RU.clock(AT), "21.11 15:00")
    assert said in text
    assert "1 000 000 ₽ → 1 200 000 ₽" in text
    assert "Просит" not in text
    assert not any(isinstance(press, CardPress) for row in _buttons(body) for press in row)


def test_an_ordinary_card_has_approve_first_then_deny_and_details() -> None:
    yes = CardPress(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=True)
    no = CardPress(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=False)
    assert _buttons(_card()) == [[yes, no], [DetailsPress(confirmation_id="0a1b2c3d4e")]]
    assert _buttons(_card(status="unknown")) == [[CheckPress(confirmation_id="0a1b2c3d4e")]]


def test_a_dangerous_card_has_its_button_elsewhere_and_a_second_tap_with_another_nonce() -> None:
    first, second = _buttons(_card(taps=2))[0], _buttons(_card(taps=2, stage=2))[0]
    assert [press.approve for press in first] == [False, True]
    assert [press.approve for press in second] == [False, True]
    assert first[1].nonce == "12345678"
    assert second[1].nonce == second_nonce("12345678") != first[1].nonce
    texts = {stage: [button.text for button in card_keyboard(_card(taps=2, stage=stage), RU).inline_keyboard[0]] for stage in (1, 2)}  # type: ignore[union-attr]
    assert texts[1] != texts[2]
    assert "Точно выполнить?" in _text(_card(taps=2, stage=2))
    assert "Точно выполнить?" not in _text(_card(taps=2))


@pytest.mark.parametrize("count", [1, 2, MAX_ITEMS, MAX_ITEMS + 1, 50])
@pytest.mark.req("S004-26", "S004-30")
def test_a_batch_shows_every_record_and_what_it_becomes(count: int) -> None:
    text = _text(_batch(count))
    assert f"Изменить сразу записей: {count}" in text
    for number in range(1, count + 1):
        assert text.count(f"{URL}{number})") == 1
    assert "Борис" in text
    assert len(text) < 4096 or count > MAX_ITEMS


def test_many_commands_are_grouped_only_when_they_do_the_same() -> None:
    items = (
        [_item(n) for n in range(1, 40)]
        + [_item(n, verb="delete", lines=[]) for n in range(40, 50)]
        + [_item(50, lines=[_line(after="7 ₽")])]
    )
    text = _text(_card(method="batch", preview={"items": items, "count": 50}))
    assert "Изменить сделку × 39 — Ответственный: Анна → Борис" in text
    assert "Удалить сделку × 10" in text
    assert "Изменить сделку × 1 — Сумма: 1 000 000 ₽ → 7 ₽" in text


@pytest.mark.parametrize(
    ("befores", "said"),
    [
        (["Анна"] * 16, "× 16 — Ответственный: Анна → Борис: "),
        ([""] * 16, "× 16 — Ответственный: Борис: "),
        (["Анна"] * 10 + ["—"] * 6, "× 16 — Ответственный: Анна (10), — (6) → Борис: "),
        (["Анна"] * 9 + ["Вера"] * 4 + ["Глеб"] * 3, "Ответственный: Анна (9), Вера (4), Глеб (3) → Борис: "),
        (["Дина", *["Анна"] * 9, *["Вера"] * 4, *["Глеб"] * 3], "Анна (9), Вера (4), Глеб (3), ещё 1 другое значение (1) → Борис: "),
        ([*"абвгд" * 2, *["Анна"] * 9], "Анна (9), а (2), б (2), ещё 3 других значения (6) → Борис: "),
    ],
)
def test_a_group_says_what_stood_there_before(befores: list[str], said: str) -> None:
    """The commonest values with their counts, and how many others there are; counts always add up."""
    items = [_item(n, lines=[_line(name="Ответственный", before=before, after="Борис")]) for n, before in enumerate(befores, start=1)]
    assert said in _text(_card(method="batch", preview={"items": items, "count": len(items)}))


def test_a_group_says_every_line_with_its_own_before() -> None:
    """Two fields change in each command: each is shown, and a command that changes one more stands apart."""
    both = [_line(name="Сумма", before="1 ₽", after="2 ₽"), _line(name="Стадия", before="Новая", after="Успех")]
    items = [*(_item(n, lines=both) for n in range(1, 17)), _item(17, lines=[*both, _line(name="Почта", before="a", after="b")])]
    text = _text(_card(method="batch", preview={"items": items, "count": 17}))
    assert "× 16 — Сумма: 1 ₽ → 2 ₽; Стадия: Новая → Успех: " in text
    assert "× 1 — Сумма: 1 ₽ → 2 ₽; Стадия: Новая → Успех; Почта: a → b: " in text


@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.req("S004-71")
def test_a_finished_batch_marks_each_command_and_counts_the_failed(count: int) -> None:
    states = ["success", "error", "not_run", *["success"] * (count - 3)]
    commands = [{"key": f"k{n}", "method": "crm.deal.update", "status": state} for n, state in enumerate(states, start=1)]
    text = _text(_batch(count, status="executed", approved_by_name="Анна", executed_at=AT, commands=commands))
    assert f"Выполнено не всё: 2 из {count}" in text
    assert (text.count("✅ "), text.count("⚠️ "), text.count("⏸ ")) == (count - 2 + 1, 1, 1)
    good = [{**command, "status": "success"} for command in commands]
    assert "не всё" not in _text(_batch(count, status="executed", executed_at=AT, commands=good))


def test_a_reason_of_many_commands_is_said_once() -> None:
    def because(key: str, field: str) -> dict[str, Any]:
        return {
            "code": "gate-batch-asks",
            "args": {"key": key, "reason": "gate-critical", "field": field, "method": "crm.deal.update", "text": "x"},
        }

    reasons = [because("a", "OPPORTUNITY"), because("b", "OPPORTUNITY"), because("c", "STAGE_ID"), {"code": "gate-model-asks"}]
    text = _text(_batch(2, reasons=reasons))
    assert text.count("Меняется сумма") == 1
    assert "Меняется сумма и ещё 1; Бот не уверен" in text


def test_a_cut_is_always_marked() -> None:
    text = _text(_card(preview=_preview(lines=[_line(name=f"Поле {n}") for n in range(MAX_LINES + 7)])))
    assert f"Поле {MAX_LINES - 1}:" in text
    assert f"Поле {MAX_LINES}:" not in text
    assert "… и ещё 7" in text
    long = visible("я" * 1000)
    assert "ещё 800 зн." in _text(_card(preview=_preview(lines=[_line(after=long)])))


def test_a_call_without_a_sentence_is_named_by_its_method() -> None:
    assert "вызов crm.odd.thing" in _text(_card(method="crm.odd.thing", preview={"verb": "odd", "entity": "thing", "lines": []}))
    assert "crm.odd.thing" in _text(_card(method="crm.odd.thing", preview=None))


def test_an_english_card_has_no_russian_words_of_ours() -> None:
    title = _preview(title="Acme", lines=[_line(name="Amount", before="1 $", after="2 $")])
    for stage, status in ((1, "requested"), (2, "requested"), (1, "approved"), (1, "superseded"), (1, "unknown")):
        body = _card(preview=title, requested_by_name="Anna", stage=stage, taps=2, status=status)
        markup = card_keyboard(body, EN)
        words = _text(body, EN) + "".join(button.text for row in (markup.inline_keyboard if markup else []) for button in row)
        assert not any("а" <= char.lower() <= "я" for char in words), words


def _doubt(**more: Any) -> Notice:
    base = {
        "method": "crm.deal.update",
        "verb": "update",
        "entity": "deal",
        "count": 1,
        "title": "Ромашка",
        "changes": "",
        "parts": "title",
    }
    return Notice(code="outcome-unknown", args=base | more)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "изменение сделки «Ромашка»"),
        ({"changes": "Сумма: 1 ₽ → 2 ₽", "parts": "both"}, "изменение сделки «Ромашка» (Сумма: 1 ₽ → 2 ₽)"),
        ({"verb": "add", "entity": "task", "title": "Позвонить"}, "создание задачи «Позвонить»"),
        ({"verb": "add", "entity": "comment", "changes": "Текст: привет", "parts": "changes"}, "создание комментария (Текст: привет)"),
        ({"verb": "batch", "entity": "", "count": 20, "title": "А», «Б», «…"}, "пакет команд (20) «А», «Б», «…»"),
        ({"verb": "delete", "entity": "requisite", "method": "crm.requisite.delete", "parts": "none"}, "удаление записи (crm.requisite.delete)"),
        ({"verb": "other", "entity": "", "method": "crm.odd.thing", "parts": "none"}, "вызов crm.odd.thing"),
    ],
)  # fmt: skip
def test_a_doubtful_call_is_named_as_its_card_names_it(more: dict[str, Any], said: str) -> None:
    """Verb in plain words, record and changes: two doubtful calls in one chat can be told apart."""
    assert RU.notice(_doubt(**more)).startswith(f"Исход неизвестен: {said}. Ответ Битрикс24 потерян")
    for verdict in ("done", "not-done", "unclear"):
        assert said in RU.say(f"recovered-{verdict}", **_doubt(**more).args)
        english = EN.say(f"recovered-{verdict}", **_doubt(**{**more, "title": "x", "changes": "y"}).args)
        assert "{" not in english
        assert not any("а" <= char.lower() <= "я" for char in english), english
