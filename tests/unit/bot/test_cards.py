"""The card of a confirmation: everything that will be written, how it stands, and the buttons that fit."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.batches import batch_sheet
from bot.rendering.cards import MAX_ITEMS, MAX_LINES, OPEN_LINES, card_text
from bot.rendering.spans import plain
from bot.telegram.callbacks import ActionPress, CardPress, CheckPress, DetailsPress, unpack
from bot.telegram.keyboards import card_keyboard, reply_keyboard
from orchestrator.gate.confirmations import second_nonce
from orchestrator.gate.visible import visible
from orchestrator.messages import Notice, Reply

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
    base |= {"call_class": "W", "effect_id": "f" * 32, "slot": "t1/1/1"}
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
    rows = markup.inline_keyboard if markup else []
    pressed = [[unpack(str(button.callback_data)) for button in row if button.copy_text is None] for row in rows]
    return [row for row in pressed if row]


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
        ({"status": "approved", "approved_by_name": "Вера"}, "⏳ Выполняется · решение: Вера"),
        ({"status": "executed", "approved_by_name": "Вера", "executed_at": AT}, "✅ Выполнено 21.11 в 15:00 · решение: Вера"),
        ({"status": "denied", "denied_by_name": "Борис", "denied_at": AT}, "✖ Отклонено 21.11 в 15:00 · Борис"),
        ({"status": "expired", "expired_at": AT}, "⌛ Срок истёк 21.11 в 15:00"),
        ({"status": "superseded"}, "↻ Заменено: пока карточка ждала, условия изменились. Новая ниже"),
        ({"status": "unknown"}, "❓ Исход неизвестен"),
        ({"status": "refused", "code": ""}, "Не выполнено: проверил в Битрикс24"),
        ({"status": "refused", "code": "ERROR_CORE", "detail": "Нет прав"}, "Не выполнено. Нет прав"),
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


def test_an_ordinary_card_has_approve_first_then_deny_edit_and_details() -> None:
    yes = CardPress(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=True)
    no = CardPress(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=False)
    edit, details = ActionPress(words=("edit", "0a1b2c3d4e")), DetailsPress(confirmation_id="0a1b2c3d4e")
    assert _buttons(_card()) == [[yes, no], [edit, details]]
    assert _buttons(_batch(3)) == _buttons(_card(slot="undo:ff")) == [[yes, no], [details]]
    assert _buttons(_card(status="unknown")) == [[CheckPress(confirmation_id="0a1b2c3d4e")]]
    styles = [button.style for button in card_keyboard(_card(), RU).inline_keyboard[0]]  # type: ignore[union-attr]
    assert styles == ["success", None]


def test_the_number_of_the_record_can_be_copied() -> None:
    copied = [b.copy_text.text for row in card_keyboard(_card(), RU).inline_keyboard for b in row if b.copy_text]  # type: ignore[union-attr]
    assert copied == ["481"]
    assert all(not b.copy_text for row in card_keyboard(_card(preview=_preview(id=None)), RU).inline_keyboard for b in row)  # type: ignore[union-attr]


def test_a_dangerous_card_has_its_button_elsewhere_and_the_second_tap_elsewhere_again() -> None:
    """facts/telegram §5: danger never in the place where the safe button is; a finger that taps twice denies."""
    usual, first, second = (_buttons(_card(**more)) for more in ({}, {"taps": 2}, {"taps": 2, "stage": 2}))
    places = [
        [(row, n) for row, line in enumerate(rows) for n, press in enumerate(line) if isinstance(press, CardPress) and press.approve]
        for rows in (usual, first, second)
    ]
    assert places == [[(0, 0)], [(0, 1)], [(1, 0)]]
    assert [len(line) for line in second][:2] == [1, 1]
    assert first[0][1].nonce == "12345678"
    assert second[1][0].nonce == second_nonce("12345678") != first[0][1].nonce
    markup = card_keyboard(_card(taps=2, stage=2), RU)
    assert markup is not None
    assert markup.inline_keyboard[1][0].style == "danger"
    assert markup.inline_keyboard[1][0].text == "⚠️ Точно, выполнить"
    assert "Точно выполнить?" in _text(_card(taps=2, stage=2))
    assert "нельзя отменить" not in _text(_card(taps=2, stage=2))
    assert "Это нельзя отменить. Точно выполнить?" in _text(_card(taps=2, stage=2, call_class="D"))
    assert "Точно выполнить?" not in _text(_card(taps=2))


@pytest.mark.parametrize(
    ("more", "badge"),
    [({}, "🟡 Меняется сумма"), ({"taps": 2}, "🔴 Опасно. Меняется"), ({"call_class": "D"}, "🔴 Опасно."), ({"call_class": "WN"}, "🟠 Внимание."), ({"lead": True}, "🟠 Внимание.")],
)  # fmt: skip
def test_a_badge_says_how_much_care_it_needs(more: dict[str, Any], badge: str) -> None:
    assert badge in _text(_card(**more))


def test_the_requester_of_a_call_for_a_lead_sees_who_decides_and_may_only_withdraw() -> None:
    body = _card(lead=True, told=["tg:1006"], told_names=["Вера", "Глеб"])
    assert f"Ждёт руководителя (Вера, Глеб) до {RU.clock(AT)}" in _text(body)
    no = CardPress(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=False)
    assert _buttons(body) == [[no, DetailsPress(confirmation_id="0a1b2c3d4e")]]


def test_a_lead_decides_in_their_own_chat_with_buttons_that_lead_home() -> None:
    body = _card(lead=True, told=["tg:1006"], told_names=["Вера"], home="tg:1007")
    yes, no = (CardPress(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=approve, home="tg:1007") for approve in (True, False))
    why = ActionPress(words=("why", body["confirmation_id"], body["nonce"], "1007"))
    details = ActionPress(words=("details", body["confirmation_id"], "1007"))
    assert _buttons(body) == [[yes, no], [why], [details]]
    assert _buttons({**body, "home": "cli:anna"}) == []
    assert "Просит Анна" in _text(body)
    assert "Ждёт руководителя" not in _text(body)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"status": "expired", "expired_at": AT}, "again"),
        ({"status": "refused", "code": "portal-not-reached"}, "again"),
        ({"status": "refused", "code": "ERROR_CORE", "detail": "x"}, "again"),
        ({"status": "refused", "code": ""}, "again"),
        ({"status": "refused", "code": "gate-not-yours", "args": {"id": 1}}, ""),
        ({"status": "refused", "code": "shadow-now"}, ""),
        ({"status": "expired", "expired_at": AT, "slot": "undo:ff"}, ""),
        ({"status": "approved"}, ""),
        ({"status": "denied", "denied_at": AT}, ""),
        ({"status": "superseded"}, ""),
        ({"status": "executed", "executed_at": AT}, ""),
        ({"status": "executed", "executed_at": AT, "undo_until": AT}, "undo"),
    ],
)
def test_a_settled_card_offers_only_what_is_safe(more: dict[str, Any], words: str) -> None:
    """«Повторить» only where it is proven not to have run; an unknown outcome is never repeated."""
    body = _card(**more)
    ids = {"again": "0a1b2c3d4e", "undo": "f" * 32}
    assert _buttons(body) == ([[ActionPress(words=(words, ids[words]))]] if words else [])
    assert ("Отменить можно до" in _text(body)) == (words == "undo")


def test_a_done_card_leads_to_its_record_and_says_how_long_it_took() -> None:
    done = {"status": "executed", "approved_by_name": "Анна", "approved_at": AT, "executed_at": "2026-11-21T12:00:01.240000Z"}
    assert "✅ Выполнено 21.11 в 15:00 за" in _text(_card(**done))
    assert " за 1,2 с · решение: Анна" in _text(_card(**done))
    assert f"Запись №481 ({URL})" in _text(_card(**done))
    assert " in 1.2 s · " in _text(_card(**done), EN)
    late = _text(_card(**done | {"executed_at": "2026-11-21T14:00:00.000000Z"}))
    assert "за 7200" not in late
    added = _preview(verb="add", id=None, url="", made_url="https://p/crm/deal/details/{id}/")
    assert "Запись №512 (https://p/crm/deal/details/512/)" in _text(_card(**done, preview=added, created="deal:512"))


def test_what_was_taken_back_says_so_and_offers_it_no_more() -> None:
    body = _card(status="executed", executed_at=AT, approved_by_name="Анна", undone_at=AT, undone_by="Анна")
    assert "↩ Отменено 21.11 в 15:00 · Анна" in _text(body)
    assert _buttons(body) == []


def test_an_undo_says_that_it_is_one_and_a_leads_copy_promises_no_button() -> None:
    assert _text(_card(slot="undo:" + "f" * 32)).startswith("↩ Вернуть, как было\nИзменить сделку «Ромашка»")
    done = {"status": "executed", "executed_at": AT, "approved_by_name": "Анна", "undo_until": AT}
    assert [("Отменить можно до" in _text(_card(**done, **more))) for more in ({}, {"home": "tg:1007"})] == [True, False]


def test_writes_without_a_card_are_taken_back_under_the_answer() -> None:
    for effects, texts in ((("f" * 32,), ["↩ Отменить"]), (("a" * 32, "b" * 32), ["↩ Отменить 1", "↩ Отменить 2"])):
        markup = reply_keyboard(Reply(undo=effects), RU)
        assert markup is not None
        assert [line[0].text for line in markup.inline_keyboard] == texts
        assert [unpack(str(line[0].callback_data)) for line in markup.inline_keyboard] == [
            ActionPress(words=("undo", one)) for one in effects
        ]


def test_a_denial_says_why_and_an_edit_what_happened_to_the_card() -> None:
    denied = _card(status="denied", denied_by_name="Вера", denied_at=AT, reason="сначала *согласуй* <b>")
    assert "Вера\nПричина: сначала *согласуй* <b>" in _text(denied)
    assert "вы изменили значение" in _text(_card(status="superseded", why="edited"))


def test_the_mode_is_seen_on_the_card() -> None:
    """facts/telegram §5: canary says why it asks, shadow that nothing is sent."""
    assert "Осторожный режим" in _text(_card(preview=_preview(mode="canary")))
    assert "Теневой режим: в Битрикс24 ничего не отправляется" in _text(_card(preview=_preview(mode="shadow")))
    assert "режим" not in _text(_card())


def test_what_a_person_asked_for_with_a_button_is_no_doubt_of_the_bot() -> None:
    doubt = [{"code": "gate-model-asks", "args": {}}]
    assert "Бот не уверен" in _text(_card(reasons=doubt))
    for slot in ("edit:01", "again:0a", "undo:ff"):
        assert "Бот не уверен" not in _text(_card(reasons=doubt, slot=slot))


def test_long_values_and_further_lines_are_folded() -> None:
    """One block for what is beyond the first lines; nothing that will be written is left out of it."""
    lines = [_line(name=f"Поле {n}", before="а", after="б") for n in range(OPEN_LINES + 5)]
    quotes = [span.text for span in card_text(_card(preview=_preview(lines=lines)), RU) if span.style == "quote"]
    assert quotes == ["\n".join(f"Поле {n}: а → б" for n in range(OPEN_LINES, OPEN_LINES + 5))]
    long = _line(name="Комментарий", before="я" * 150, after="ю" * 150)
    quotes = [span.text for span in card_text(_card(preview=_preview(lines=[long])), RU) if span.style == "quote"]
    assert quotes == [f"{'я' * 150} → {'ю' * 150}"]


def test_a_long_batch_comes_with_everything_in_a_file() -> None:
    sheet = batch_sheet(_batch(20), RU)
    assert sheet is not None
    assert len(sheet.rows) == len(sheet.links) == 20
    assert sheet.rows[0] == ("Сделка-1", 1, "Изменить сделку", "Ответственный", "Анна", "Борис")
    assert batch_sheet(_batch(MAX_ITEMS), RU) is None
    assert batch_sheet(_batch(20, status="executed"), RU) is None


def test_a_batch_says_its_sums_and_why_a_command_failed() -> None:
    commands = [{"key": "k1", "method": "m", "status": "success"}, {"key": "k2", "method": "m", "status": "error", "error": "Нет прав"}]
    body = _batch(2, status="executed", executed_at=AT, commands=commands)
    body["preview"]["sum"] = "12 ₽ + 5 $"
    assert "Изменить 2 записи\nНа сумму 12 ₽ + 5 $" in _text(body)
    assert "⚠️ «Сделка-2»: Нет прав" in _text(body)


@pytest.mark.parametrize("count", [1, 2, MAX_ITEMS, MAX_ITEMS + 1, 50])
@pytest.mark.req("S004-26", "S004-30")
def test_a_batch_shows_every_record_and_what_it_becomes(count: int) -> None:
    text = _text(_batch(count))
    assert text.startswith(f"Изменить {count} запис")
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
    assert (text.count("✅ "), text.count("⚠️ "), text.count("⏸ ")) == (count - 2, 2, 1)
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
    assert "Меняется сумма и ещё 1. Бот не уверен" in text


def test_a_sharp_change_is_told_once_and_a_new_title_stands_only_in_the_heading() -> None:
    critical, jump = [{"code": code, "args": {"field": "OPPORTUNITY", "times": 12}} for code in ("gate-critical", "gate-sum-jump")]
    text = _text(_card(reasons=[critical, jump, {"code": "gate-critical", "args": {"field": "STAGE_ID"}}]))
    assert "Резко меняется сумма: в 12 раз. Меняется стадия" in text
    assert "Меняется сумма" not in text
    title = {"field": "TITLE", "name": "Название", "before": "", "after": "Ромашка"}
    for verb, count in (("add", 0), ("update", 1)):
        assert _text(_card(preview=_preview(verb=verb, title="Ромашка", lines=[title]))).count("Название") == count
    assert "Название" in _text(_card(preview=_preview(verb="add", title="Ромаш…", lines=[title])))


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
