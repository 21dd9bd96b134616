"""The card of a confirmation: everything that will be written, how it stands, and the buttons that fit."""

from typing import Any

import pytest

from bot.rendering.cards import OPEN_LINES, render_card
from bot.telegram.intake.callbacks import ActionClick, CardClick, CheckClick, DetailsClick, unpack
from bot.telegram.view.keyboards import build_card_keyboard, build_reply_keyboard
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from tests.unit.bot.rendering.card_kit import AT, EN, RU, URL, a_batch, a_card, a_line, a_preview, pressable, shown


@pytest.mark.req("S004-9", "S004-29")
def test_a_waiting_card_says_what_to_what_before_after_why_who_and_until_when() -> None:
    text = shown(a_card())
    for piece in ("Изменить сделку", f"«Ромашка» ({URL})", "Сумма: 1 000 000 ₽ → 1 200 000 ₽", "Меняется сумма", "Просит Анна", "15:00"):
        assert piece in text, piece
    assert "Сумма: 500 ₽" in shown(a_card(preview=a_preview(lines=[a_line(before="", after="500 ₽")])))
    bold = [span for span in render_card(CardView.from_body(a_card()), RU) if span.style == "bold"]
    assert "1 200 000 ₽" in [span.text for span in bold]
    assert [span.url for span in bold if span.url] == [URL]


OVERTAKEN: dict[str, Any] = {
    "code": "undo-changed",
    "args": {"field": "OPPORTUNITY", "now": "5 ₽", "more": 0, "others": "", "known": "yes", "who": "Борис", "id": 481},
}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"status": "approved", "approved_by_name": "Вера"}, "⏳ Выполняется · решение: Вера"),
        ({"status": "executed", "approved_by_name": "Вера", "executed_at": AT}, "✅ Выполнено 21.11 в 15:00 · решение: Вера"),
        ({"status": "denied", "denied_by_name": "Борис", "denied_at": AT}, "✖ Отклонено 21.11 в 15:00 · Борис"),
        ({"status": "expired", "expired_at": AT}, "⌛ Срок истёк 21.11 в 15:00"),
        ({"status": "expired", "expires_at": AT, "expired_at": "2026-11-23T04:00:00Z"}, "⌛ Срок истёк 21.11 в 15:00"),
        ({"status": "superseded"}, "↻ Заменено: пока карточка ждала, условия изменились. Новая ниже"),
        ({"status": "unknown"}, "❓ Исход неизвестен"),
        ({"status": "refused", "code": ""}, "Не выполнено: проверил в Битрикс24"),
        ({"status": "refused", "code": "", "slot": "undo:ff"}, "⚠️ Не отменено: проверил в Битрикс24"),
        ({"status": "refused", "code": "ERROR_CORE", "detail": "Нет прав", "slot": "undo:ff"}, "⚠️ Не отменено. Битрикс24 отказал: Нет прав"),
        ({"status": "refused", "slot": "undo:ff", **OVERTAKEN}, "\n⚠️ Не отменено: с тех пор запись изменили. Сейчас сумма — «5 ₽». Последнее"),
        ({"status": "refused", "code": "ERROR_CORE", "detail": "Нет прав"}, "Не выполнено. Битрикс24 отказал: Нет прав"),
        ({"status": "refused", "code": "gate-not-found", "args": {"id": 481, "entity": "deal"}}, "Не нашёл сделку №481"),
        ({"status": "refused", "code": "gate-closed", "args": {"method": "crm.deal.update"}, "detail": "closed"}, "выключено администратором: изменить сделку"),
    ],
)  # fmt: skip
@pytest.mark.req("S004-15", "S004-36")
def test_each_settled_state_is_said_with_its_change_and_no_longer_asks(more: dict[str, Any], said: str) -> None:
    body = a_card(**more)
    text = shown(body).replace(RU.format_time(AT), "21.11 15:00")
    assert said in text
    assert "1 000 000 ₽ → 1 200 000 ₽" in text
    assert "Просит" not in text
    assert not any(isinstance(press, CardClick) for row in pressable(body) for press in row)


def test_an_ordinary_card_has_approve_first_then_deny_edit_and_details() -> None:
    yes = CardClick(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=True)
    no = CardClick(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=False)
    edit, details = ActionClick(words=("edit", "0a1b2c3d4e")), DetailsClick(confirmation_id="0a1b2c3d4e")
    assert pressable(a_card()) == [[yes, no], [edit, details]]
    assert pressable(a_batch(3)) == pressable(a_card(slot="undo:ff")) == [[yes, no], [details]]
    assert pressable(a_card(status="unknown")) == [[CheckClick(confirmation_id="0a1b2c3d4e")]]
    styles = [button.style for button in build_card_keyboard(CardView.from_body(a_card()), RU).inline_keyboard[0]]  # type: ignore[union-attr]
    assert styles == ["success", None]


def test_the_number_of_the_record_can_be_copied() -> None:
    copied = [b.copy_text.text for row in build_card_keyboard(CardView.from_body(a_card()), RU).inline_keyboard for b in row if b.copy_text]  # type: ignore[union-attr]
    assert copied == ["481"]
    assert all(
        not b.copy_text
        for row in build_card_keyboard(CardView.from_body(a_card(preview=a_preview(id=None))), RU).inline_keyboard
        for b in row
    )  # type: ignore[union-attr]


def test_a_dangerous_card_has_its_button_elsewhere_and_the_second_tap_elsewhere_again() -> None:
    """facts/telegram §5: danger never in the place where the safe button is; a finger that taps twice denies."""
    usual, first, second = (pressable(a_card(**more)) for more in ({}, {"taps": 2}, {"taps": 2, "stage": 2}))
    places = [
        [(row, n) for row, line in enumerate(rows) for n, press in enumerate(line) if isinstance(press, CardClick) and press.approve]
        for rows in (usual, first, second)
    ]
    assert places == [[(0, 0)], [(0, 1)], [(1, 0)]]
    assert [len(line) for line in second][:2] == [1, 1]
    assert first[0][1].nonce == "12345678"
    assert second[1][0].nonce == calculate_second_nonce("12345678") != first[0][1].nonce
    markup = build_card_keyboard(CardView.from_body(a_card(taps=2, stage=2)), RU)
    assert markup is not None
    assert markup.inline_keyboard[1][0].style == "danger"
    assert markup.inline_keyboard[1][0].text == "⚠️ Точно, выполнить"
    assert "Точно выполнить?" in shown(a_card(taps=2, stage=2))
    assert "нельзя отменить" not in shown(a_card(taps=2, stage=2))
    assert "Это нельзя отменить. Точно выполнить?" in shown(a_card(taps=2, stage=2, call_class="D"))
    assert "Точно выполнить?" not in shown(a_card(taps=2))


@pytest.mark.parametrize(
    ("more", "badge"),
    [({"reasons": [{"code": "gate-critical", "args": {"field": "STAGE_ID"}}]}, "🟡 Меняется стадия"), ({}, "🟠 Внимание. Меняется сумма"), ({"reasons": [{"code": "gate-batch-asks", "args": {"field": "ASSIGNED_BY_ID", "reason": "gate-critical", "key": "a"}}]}, "🟠"), ({"taps": 2}, "🔴 Опасно. Меняется"), ({"call_class": "D"}, "🔴 Опасно."), ({"call_class": "WN"}, "🟠 Внимание."), ({"lead": True}, "🟠 Внимание.")],
)  # fmt: skip
def test_a_badge_says_how_much_care_it_needs(more: dict[str, Any], badge: str) -> None:
    assert badge in shown(a_card(**more))


@pytest.mark.parametrize(
    ("tr", "footer"),
    [(RU, "Просит Анна · ответ до {at}, потом карточка закроется"), (EN, "Asked by Анна · answer by {at}, then the card closes")],
    ids=["ru", "en"],
)
def test_an_open_card_says_what_ends_with_its_time(tr: Any, footer: str) -> None:
    """«до 23.11 23:28» alone could be the time of the meeting, the deal or the offer."""
    assert footer.format(at=tr.format_time(AT)) in shown(a_card(), tr)


def test_the_requester_of_a_call_for_a_lead_sees_who_decides_and_may_only_withdraw() -> None:
    body = a_card(lead=True, told=["tg:1006"], told_names=["Вера", "Глеб"])
    assert f"Ждёт руководителя (Вера, Глеб) до {RU.format_time(AT)}, потом карточка закроется" in shown(body)
    no = CardClick(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=False)
    assert pressable(body) == [[no, DetailsClick(confirmation_id="0a1b2c3d4e")]]


def test_a_lead_decides_in_their_own_chat_with_buttons_that_lead_home() -> None:
    body = a_card(lead=True, told=["tg:1006"], told_names=["Вера"], home="tg:1007")
    yes, no = (CardClick(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=approve, home="tg:1007") for approve in (True, False))
    why = ActionClick(words=("why", body["confirmation_id"], body["nonce"], "1007"))
    details = ActionClick(words=("details", body["confirmation_id"], "1007"))
    assert pressable(body) == [[yes, no], [why], [details]]
    assert pressable({**body, "home": "cli:anna"}) == []
    assert "Просит Анна" in shown(body)
    assert "Ждёт руководителя" not in shown(body)


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
    body = a_card(**more)
    ids = {"again": "0a1b2c3d4e", "undo": "f" * 32}
    assert pressable(body) == ([[ActionClick(words=(words, ids[words]))]] if words else [])
    assert ("Отменить можно до" in shown(body)) == (words == "undo")


def test_a_done_card_leads_to_its_record_and_says_how_long_it_took() -> None:
    done = {"status": "executed", "approved_by_name": "Анна", "approved_at": AT, "executed_at": "2020-11-21T12:00:01.240000Z"}
    assert "✅ Выполнено 21.11 в 15:00 за" in shown(a_card(**done))
    assert " за 1,2 с · решение: Анна" in shown(a_card(**done))
    assert shown(a_card(**done)).count(URL) == 1  # in the heading: the record is named once
    assert "№481" not in shown(a_card(**done))
    assert "Сделка №481" in shown(a_card(**done, preview=a_preview(title="")))
    assert " in 1.2 s · " in shown(a_card(**done), EN)
    late = shown(a_card(**done | {"executed_at": "2020-11-21T14:00:00.000000Z"}))
    assert "за 7200" not in late
    added = a_preview(verb="add", id=None, url="", made_url="https://p/crm/deal/details/{id}/")
    assert "Сделка №512 (https://p/crm/deal/details/512/)" in shown(a_card(**done, preview=added, created="deal:512"))


def test_what_was_taken_back_says_so_and_offers_it_no_more() -> None:
    body = a_card(status="executed", executed_at=AT, approved_by_name="Анна", undone_at=AT, undone_by="Анна")
    assert "↩ Отменено 21.11 в 15:00 · Анна" in shown(body)
    assert pressable(body) == []


def test_an_undo_says_that_it_is_one_and_a_leads_copy_promises_no_button() -> None:
    assert shown(a_card(slot="undo:" + "f" * 32)).startswith("↩ Вернуть, как было\nИзменить сделку «Ромашка»")
    done = {"status": "executed", "executed_at": AT, "approved_by_name": "Анна", "undo_until": AT}
    assert [("Отменить можно до" in shown(a_card(**done, **more))) for more in ({}, {"home": "tg:1007"})] == [True, False]


def test_writes_without_a_card_are_taken_back_under_the_answer() -> None:
    for effects, texts in ((("f" * 32,), ["↩ Отменить"]), (("a" * 32, "b" * 32), ["↩ Отменить 1", "↩ Отменить 2"])):
        markup = build_reply_keyboard(Reply(undo=effects), RU)
        assert markup is not None
        assert [line[0].text for line in markup.inline_keyboard] == texts
        assert [unpack(str(line[0].callback_data)) for line in markup.inline_keyboard] == [
            ActionClick(words=("undo", one)) for one in effects
        ]


def test_a_denial_says_why_and_an_edit_what_happened_to_the_card() -> None:
    denied = a_card(status="denied", denied_by_name="Вера", denied_at=AT, reason="сначала *согласуй* <b>")
    assert "Вера\nПричина: сначала *согласуй* <b>" in shown(denied)
    assert "вы изменили значение" in shown(a_card(status="superseded", why="edited"))


@pytest.mark.req("S004-31")
def test_a_card_that_was_replaced_names_what_changed() -> None:
    """Which value it was, and what it is now; a card of before says it in general words."""
    change = {"code": "changed-field", "args": {"field": "OPPORTUNITY", "name": "Сумма", "before": "1 000 000", "after": "1 200 000 ₽"}}
    drifted = a_card(status="superseded", why="changed-meanwhile", args={"changes": [change]})
    assert "↻ Заменено. Пока карточка ждала: сумма изменилась: 1 000 000 → 1 200 000 ₽. Новая карточка ниже" in shown(drifted)
    assert "the amount changed: 1 000 000 → 1 200 000 ₽" in shown(drifted, EN)
    assert "условия изменились" in shown(a_card(status="superseded", why="changed-meanwhile"))


def test_the_mode_is_seen_on_the_card() -> None:
    """facts/telegram §5: canary says why it asks, shadow that nothing is sent."""
    assert "Осторожный режим" in shown(a_card(preview=a_preview(mode="canary")))
    assert "Теневой режим: в Битрикс24 ничего не отправляется" in shown(a_card(preview=a_preview(mode="shadow")))
    assert "режим" not in shown(a_card())


def test_what_a_person_asked_for_with_a_button_is_no_doubt_of_the_bot() -> None:
    doubt = [{"code": "gate-model-asks", "args": {}}]
    assert "Бот не уверен" in shown(a_card(reasons=doubt))
    for slot in ("edit:01", "again:0a", "undo:ff"):
        assert "Бот не уверен" not in shown(a_card(reasons=doubt, slot=slot))


def test_long_values_and_further_lines_are_folded() -> None:
    """One block for what is beyond the first lines; nothing that will be written is left out of it."""
    lines = [a_line(name=f"Поле {n}", before="а", after="б") for n in range(OPEN_LINES + 5)]
    quotes = [span.text for span in render_card(CardView.from_body(a_card(preview=a_preview(lines=lines))), RU) if span.style == "quote"]
    assert quotes == ["\n".join(f"Поле {n}: а → б" for n in range(OPEN_LINES, OPEN_LINES + 5))]
    long = a_line(name="Комментарий", before="я" * 150, after="ю" * 150)
    quotes = [span.text for span in render_card(CardView.from_body(a_card(preview=a_preview(lines=[long]))), RU) if span.style == "quote"]
    assert quotes == [f"{'я' * 150} → {'ю' * 150}"]


def test_a_sharp_change_is_told_once_and_a_new_title_stands_only_in_the_heading() -> None:
    critical, jump = [{"code": code, "args": {"field": "OPPORTUNITY", "times": 12}} for code in ("gate-critical", "gate-sum-jump")]
    text = shown(a_card(reasons=[critical, jump, {"code": "gate-critical", "args": {"field": "STAGE_ID"}}]))
    assert "Резко меняется сумма: в 12 раз. Меняется стадия" in text
    assert "Меняется сумма" not in text
    title = {"field": "TITLE", "name": "Название", "before": "", "after": "Ромашка"}
    for verb, count in (("add", 0), ("update", 1)):
        assert shown(a_card(preview=a_preview(verb=verb, title="Ромашка", lines=[title]))).count("Название") == count
    assert "Название" in shown(a_card(preview=a_preview(verb="add", title="Ромаш…", lines=[title])))


def test_a_call_without_a_sentence_is_named_by_its_method() -> None:
    assert "вызов crm.odd.thing" in shown(a_card(method="crm.odd.thing", preview={"verb": "odd", "entity": "thing", "lines": []}))
    assert "crm.odd.thing" in shown(a_card(method="crm.odd.thing", preview=None))


def test_an_english_card_has_no_russian_words_of_ours() -> None:
    title = a_preview(title="Acme", lines=[a_line(name="Amount", before="1 $", after="2 $")])
    for stage, status in ((1, "requested"), (2, "requested"), (1, "approved"), (1, "superseded"), (1, "unknown")):
        body = a_card(preview=title, requested_by_name="Anna", stage=stage, taps=2, status=status)
        markup = build_card_keyboard(CardView.from_body(body), EN)
        words = shown(body, EN) + "".join(button.text for row in (markup.inline_keyboard if markup else []) for button in row)
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
        ({"verb": "delete", "entity": "requisite", "method": "crm.requisite.delete", "parts": "none"}, "удалить реквизиты"),
        ({"verb": "delete", "entity": "deal", "method": "crm.deal.contact.items.delete"}, "отвязать все контакты от сделки «Ромашка»"),
        ({"verb": "delete", "entity": "thing", "method": "crm.odd.delete", "parts": "none"}, "удаление записи (crm.odd.delete)"),
        ({"verb": "other", "entity": "", "method": "crm.odd.thing", "parts": "none"}, "действие в Битрикс24"),
    ],
)  # fmt: skip
def test_a_doubtful_call_is_named_as_its_card_names_it(more: dict[str, Any], said: str) -> None:
    """Verb in plain words, record and changes: two doubtful calls in one chat can be told apart."""
    assert RU.translate_notice(_doubt(**more)).startswith(f"Исход неизвестен: {said}. Ответ Битрикс24 потерян")
    for verdict in ("done", "not-done", "unclear"):
        assert said in RU.translate(f"recovered-{verdict}", **_doubt(**more).args)
        english = EN.translate(f"recovered-{verdict}", **_doubt(**{**more, "title": "x", "changes": "y"}).args)
        assert "{" not in english
        assert not any("а" <= char.lower() <= "я" for char in english), english


@pytest.mark.parametrize(
    ("method", "lost", "look"),
    [
        ("crm.deal.update", "ответ Битрикс24 потерян. Нажмите «Проверить»", "Посмотрите в Битрикс24"),
        ("mongo.update_one", "ответ базы данных потерян. Нажмите «Проверить»", "Посмотрите в базе данных"),
        ("http.post", "ответ сайта потерян. Дошло ли, видно только на самом сайте", "Посмотрите на сайте"),
        ("telegram.send_message", "ответ Telegram потерян. Посмотрите в чате, дошло ли", "Посмотрите в Telegram"),
        ("file.write", "ответ диска с файлами потерян. Нажмите «Проверить»", "Посмотрите в папке файлов"),
        ("reminder.add", "ответ моей базы потерян. Нажмите «Проверить»", "Посмотрите в моих напоминаниях"),
    ],
)
def test_a_doubtful_call_says_who_did_not_answer_and_where_to_look(method: str, lost: str, look: str) -> None:
    """Of those that nobody but a person can look up, no button is promised to do it."""
    assert lost in shown(a_card(method=method, status="unknown"))
    assert look in RU.translate("recovered-unclear", **_doubt(method=method).args)
    assert "{" not in EN.translate("recovered-unclear", **_doubt(method=method).args) + EN.translate("card-unknown", method=method)


@pytest.mark.parametrize(
    ("code", "args", "words"),
    [
        ("http-refused", {"status": 422, "text": "нет товара"}, "⚠️ Не выполнено. Сайт отказал (код 422): нет товара"),
        ("http-refused-silent", {"status": 403}, "⚠️ Не выполнено. Сайт отказал (код 403)"),
        ("mongo-refused", {"text": "not authorized"}, "⚠️ Не выполнено. База данных отказала: not authorized"),
        ("telegram-refused", {"text": "Bad Request: x"}, "⚠️ Не выполнено. Telegram отказал: Bad Request: x"),
    ],
)
def test_a_refusal_of_another_party_is_quoted_on_the_card(code: str, args: dict[str, Any], words: str) -> None:
    assert words in shown(a_card(status="refused", code=code, args=args))


def test_quotes_in_a_title_become_inner_ones() -> None:
    assert "«Позвонить в „Ромашку“»" in shown(a_card(preview=a_preview(title="Позвонить в «Ромашку»")))


@pytest.mark.parametrize(
    ("who", "told", "words"), [("tg:1", ["Вера"], "✖ Отозвано"), ("tg:2", ["Вера"], "✖ Отклонено"), ("tg:1", [], "✖ Отклонено")]
)
def test_a_request_that_its_own_person_takes_back_is_withdrawn(who: str, told: list[str], words: str) -> None:
    """Of a call for a lead; who decides alone has declined it."""
    body = a_card(status="denied", denied_at=AT, denied_by=who, denied_by_name="Борис", requested_by="tg:1", told_names=told)
    assert words in shown(body)
