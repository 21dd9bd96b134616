"""A card says at most two reasons, and those about the message only where nothing is said about the change."""

from collections.abc import Sequence

import pytest

from bot.i18n.translate import Translator
from bot.rendering.card_reasons import list_reasons
from orchestrator.domain.card_view import CardView
from tests.unit.bot.rendering.card_kit import a_card

RU = Translator("ru")


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
