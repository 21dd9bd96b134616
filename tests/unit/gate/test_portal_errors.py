"""What the portal says of an error reaches a person only in words of this program, or in Russian."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Reply
from orchestrator.gate.call.portal_errors import explain_portal_error
from orchestrator.sessions.session import Session
from tests.unit.gate.test_failed_commands import foreign_words, told_of
from tests.unit.spine_kit import World, message, press, raise_sum, reply, step
from tests.unit.spine_portal import Fault, cut, html, says

TARIFF = "на вашем тарифе Битрикс24 не пускает к себе программы. Скажите администратору: нужен другой тариф"
BLOCKED = "он закрыл портал для программ из-за перегрузки, повторять бесполезно. Скажите администратору: откроет только поддержка Битрикс24"
RU, EN = Translator("ru"), Translator("en")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("ERROR_CORE: Access denied. (HTTP 400)", "ERROR_CORE", "у бота или у вас нет доступа к этому"),
        ("ACCESS_DENIED: anything at all (HTTP 403)", "ACCESS_DENIED", "у бота или у вас нет доступа к этому"),
        (
            "INVALID_CREDENTIALS: Invalid request credentials (HTTP 401)",
            "INVALID_CREDENTIALS",
            "он не принимает ключ бота. Скажите администратору",
        ),
        ("expired_token (HTTP 401)", "expired_token", "он не принимает ключ бота. Скажите администратору"),
        ("insufficient_scope: x (HTTP 403)", "insufficient_scope", "у ключа бота нет на это права. Скажите администратору"),
        ("Not found (HTTP 400)", "", "такой записи нет, или её удалили"),
        ("ERROR_CORE: Заполните бюджет", "ERROR_CORE", "Заполните бюджет"),
        ("100: Wrong field", "100", "ему не подошло одно из значений"),
        ("-: Недостаточно прав для изменения стадии (HTTP 400)", "-", "Недостаточно прав для изменения стадии"),
        ("-: Недостаточно прав", "", "Недостаточно прав"),
        ("Required fields are not filled: Contract date (HTTP 400)", "", "не заполнено обязательное поле «Contract date»"),
        ("ERROR_CORE: Field 'Дата договора' is required.", "ERROR_CORE", "не заполнено обязательное поле «Дата договора»"),
        ("ACCESS_DENIED: REST is available only on commercial plans (HTTP 403)", "ACCESS_DENIED", TARIFF),
        ("PAYMENT_REQUIRED: Payment required (HTTP 402)", "PAYMENT_REQUIRED", "портал не оплачен. Скажите администратору"),
        ("OVERLOAD_LIMIT: REST API is blocked due to overload (HTTP 503)", "OVERLOAD_LIMIT", BLOCKED),
        ("PORTAL_DELETED: Portal was deleted (HTTP 410)", "PORTAL_DELETED", "этот портал удалён. Скажите администратору"),
        ("E_QUITE_NEW: Something odd (HTTP 500)", "E_QUITE_NEW", "это не прошло. Код для администратора: abcd1234"),
        ("", "", "это не прошло. Код для администратора: abcd1234"),
    ],
)
def test_an_error_is_said_in_words(text: str, code: str, said: str) -> None:
    assert RU.translate_notice(explain_portal_error(text, code=code, method="crm.deal.get", reference="abcd1234")) == said


def test_an_unknown_error_names_what_did_not_work() -> None:
    """By the method's plain name where it has one."""
    notice = explain_portal_error("E: x", method="crm.deal.contact.delete", reference="abcd1234")
    assert RU.translate_notice(notice) == "«отвязать контакт от сделки» не прошло. Код для администратора: abcd1234"
    assert EN.translate_notice(notice).endswith("Code for the administrator: abcd1234")


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=80), st.from_regex(r"[A-Z_]{0,20}", fullmatch=True))
def test_nothing_english_of_the_portal_is_ever_said(text: str, code: str) -> None:
    """Whatever it says: the Russian sentence has no Latin word but the product's own."""
    said = RU.translate_notice(explain_portal_error(f"{code}: {text}", code=code))
    assert not re.findall(r"[A-Za-z]{3,}", said)


@pytest.mark.parametrize("body", [{"error": "ERROR_CORE", "error_description": "Wrong field: UF_SECRET"}, {"error": "E_NEW"}])
@pytest.mark.parametrize("wish", [step("crm.deal.list", {}), step("tasks.task.add", {"fields": {"TITLE": "А"}})])
async def test_a_person_reads_no_code_of_a_refused_step(world: World, session: Session, body: dict[str, Any], wish: dict[str, Any]) -> None:
    """Reads and writes alike; the code to give the administrator finds the whole of it in the journal."""
    world.portal.will(wish["method"], says(400, body))
    world.model.will(reply(wish), reply(text="Вот."))
    await world.turn(session, message("поставь задачу А"))
    text = told_of(world)
    assert not foreign_words(text), text
    (refused,) = world.events("CallRefused")
    assert refused.data["effect_id"][:8] in text
    assert body["error"] in refused.data["detail"]


async def test_a_card_that_the_portal_refuses_says_it_in_words(world: World) -> None:
    """The card keeps the whole error for the administrator and shows none of it."""
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    (card,) = world.events("ConfirmationRequested")
    world.outbox()
    world.portal.will("crm.deal.update", says(400, {"error": "E_NEW", "error_description": "Robot #5 said no"}))
    await world.work(press(card.data))
    bodies = [row.body for row in world.outbox() if row.kind == "card"]
    text = to_plain_text(render_card(CardView.from_body(bodies[-1]), RU))
    assert "Битрикс24 отказал: это не прошло. Код для администратора:" in text
    assert "Robot" not in text


def test_what_an_earlier_version_stored_is_still_read() -> None:
    """A stored reply with the portal's text is drawn as it was stored."""
    reply_ = Reply.model_validate({"notices": [{"code": "portal-refused", "args": {"text": "Нет прав"}}]})
    assert to_plain_text(render_reply(reply_, RU)) == "Битрикс24 отказал: Нет прав"


PLAN = says(403, {"error": "ACCESS_DENIED", "error_description": "REST is available only on commercial plans"})
UNPAID = says(402, {"error": "PAYMENT_REQUIRED", "error_description": "Payment required"})
OVERLOAD = says(503, {"error": "OVERLOAD_LIMIT", "error_description": "REST API is blocked due to overload"})
DELETED = says(410, {"error": "PORTAL_DELETED", "error_description": "Portal was deleted"})
PAGE = "Ответ Битрикс24 не разобрать"


@pytest.mark.parametrize(
    ("fault", "on_read", "on_write"),
    [
        (PLAN, "на вашем тарифе", "на вашем тарифе"),
        (UNPAID, "портал не оплачен", "портал не оплачен"),
        (OVERLOAD, "из-за перегрузки", "из-за перегрузки"),
        (DELETED, "этот портал удалён", "этот портал удалён"),
        (says(200, "<html>Портал временно закрыт</html>"), PAGE, "Исход неизвестен"),
        (says(200, {"result": None}), PAGE, "Исход неизвестен"),
        (says(200, {"result": False}), PAGE, "не изменил"),
        (html, "Битрикс24 не ответил", "Исход неизвестен"),
        (cut, "Битрикс24 не ответил", "Исход неизвестен"),
    ],
)
@pytest.mark.parametrize("is_read", [True, False])
async def test_a_person_reads_what_the_portal_really_said(
    world: World, session: Session, fault: Fault, on_read: str, on_write: str, *, is_read: bool
) -> None:
    """A portal that is closed, or whose answer cannot be read, is told as that, in a list that is read and in a task that is written."""
    wish = step("crm.deal.list", {}) if is_read else step("tasks.task.add", {"fields": {"TITLE": "А"}})
    world.portal.will(wish["method"], *[fault] * 9)
    is_over = not is_read and on_write == "Исход неизвестен"  # the model is asked no more
    world.model.will(reply(wish), *[reply(text="Вот.")] * (not is_over))
    await world.turn(session, message("поставь задачу А"))
    text = told_of(world)
    assert (on_read if is_read else on_write) in text
    assert "отказал: это не прошло" not in text


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (PLAN, "на вашем тарифе"),
        (UNPAID, "не оплачен"),
        (OVERLOAD, "перегрузки"),
        (DELETED, "удалён"),
        (says(200, "x"), "ответ не разобрать"),
    ],
)
async def test_a_record_that_cannot_be_read_says_why(world: World, session: Session, fault: Fault, said: str) -> None:
    """A change of a record that the closed portal does not show is refused with the portal's own reason."""
    world.portal.will("crm.deal.get", *[fault] * 9)
    world.model.will(reply(raise_sum()), reply(text="Не вышло."))
    await world.turn(session, message("подними сумму сделки 481 до 1 200 000"))
    assert said in told_of(world)
