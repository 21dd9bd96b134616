"""Parts of cards: at most two reasons, «Подробнее» in words, and bodies that a later version has stored."""

from collections.abc import Sequence

import pytest

from bot.i18n.translate import Translator
from bot.rendering.card_reasons import list_reasons
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from orchestrator.directory.answers import RecordRow
from orchestrator.domain.card_view import CardView
from tests.unit.bot.rendering.card_kit import RU, a_batch, a_card


def _said(*codes: str, **args: object) -> Sequence[str]:
    reasons = [{"code": code, "args": args} for code in codes]
    return list_reasons(CardView.from_body(a_card(reasons=reasons)), RU)


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (["gate-not-ordered"], ["Вы не просили об этом: проверьте"]),
        (["gate-not-ordered", "gate-not-plain", "gate-taint-prose"], ["Вы не просили об этом: проверьте"]),
        (["gate-critical", "gate-not-ordered"], ["Меняется сумма"]),
        (["gate-critical", "gate-only-asked"], ["Меняется сумма", "Вы только спросили и ничего не просили менять"]),
        (["gate-replaces", "gate-not-ordered"], ["Заменит то, что записано: сумма", "Вы не просили об этом: проверьте"]),
        (["gate-critical", "gate-replaces", "gate-class-delete", "gate-not-plain"], ["Это нельзя отменить", "Меняется сумма"]),
    ],
)
def test_the_weightiest_reasons_are_said(codes: list[str], said: list[str]) -> None:
    """What deletes stands first; a statement such as «481 выиграна» is not told that it asked for nothing."""
    assert _said(*codes, field="OPPORTUNITY", method="crm.deal.update") == said


def test_a_record_of_a_set_is_compared_with_the_words() -> None:
    """In place of «В просьбе не названа запись»."""
    reasons = [
        {"code": "gate-taint-target", "args": {"entity": "lead", "id": 104}},
        {"code": "gate-compared", "args": {"fits": "Лена", "differs": "Софт (Железо)", "missed": 1}},
    ]
    [said] = list_reasons(CardView.from_body(a_card(reasons=reasons)), RU)
    assert said == "По просьбе: Лена ✓ · Софт (Железо) ✗"


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
