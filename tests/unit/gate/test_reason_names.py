"""The reasons of a card name the record that the request did not name."""

from typing import Any

import pytest

from bitrix.errors import NotSent
from bot.i18n.translate import Locale
from bot.rendering.cards import render_card, render_details
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Notice
from orchestrator.gate.preview.reason_names import name_reasons
from tests.unit.bot.rendering.card_kit import EN, RU, a_card, a_line, a_preview
from tests.unit.gate.gate_kit import NoOwnNames


class Titles(NoOwnNames):
    """Titles of deals from memory; contacts cannot be read, and other kinds are unknown."""

    async def find_title(self, entity: str, record_id: int) -> str:
        """Return a title, or fail."""
        if entity == "contact":
            raise NotSent("the portal is away")
        return {("deal", 481): "Поставка «Ромашка»"}[entity, record_id] if record_id == 481 else f"№{record_id}"


async def named(*reasons: Notice, locale: Locale = "ru") -> tuple[Notice, ...]:
    """The reasons with names."""
    return await name_reasons(reasons, Titles(), locale)  # type: ignore[arg-type]  # only titles are asked for


def unnamed(entity: str, number: int, **more: Any) -> Notice:
    """The reason that a record was not named."""
    return Notice(code="gate-taint-target", args={"entity": entity, "id": number, **more})


def shown(reasons: tuple[Notice, ...], *, lines: list[dict[str, str]] | None = None, english: bool = False) -> str:
    """The card with these reasons."""
    body = a_card(reasons=[reason.model_dump() for reason in reasons], preview=a_preview(lines=lines or [a_line()]))
    return to_plain_text(render_card(CardView.from_body(body), EN if english else RU))


async def test_a_record_is_told_by_its_title_and_otherwise_by_its_number() -> None:
    """A portal that is away or a kind that cannot be read leaves the number; the reason itself is never lost."""
    assert "Бот сам выбрал запись «Поставка „Ромашка“» №481" in shown(await named(unnamed("deal", 481)))
    assert "The bot itself chose the record “Поставка „Ромашка“” No. 481" in shown(await named(unnamed("deal", 481)), english=True)
    for entity, number in (("contact", 43), ("odd", 481), ("deal", 5)):
        assert f"Бот сам выбрал запись №{number}" in shown(await named(unnamed(entity, number)))


async def test_the_reason_of_a_command_is_named_too_and_others_stay() -> None:
    """In a batch the reason is wrapped; a reason about anything else is handed on as it is."""
    wrapped = Notice(code="gate-batch-asks", args={"reason": "gate-taint-target", "entity": "deal", "id": 481, "key": "a", "text": "x"})
    other = Notice(code="gate-critical", args={"field": "STAGE_ID"})
    found = await named(wrapped, other)
    assert found[1] is other
    assert "Бот сам выбрал запись «Поставка „Ромашка“»" in shown(found)


async def test_only_a_few_records_are_read() -> None:
    """The card shows one of these sentences and counts the rest."""
    found = await named(*(unnamed("deal", 481) for _ in range(9)))
    assert [("title" in reason.args) for reason in found] == [True] * 5 + [False] * 4


def test_details_name_each_record_by_the_title_of_its_own_row() -> None:
    """Failed before: «Подробнее» of a long batch said «выбрал запись №410» under the title of that very record."""
    items = [
        {**a_preview(), "key": f"c{number}", "method": "crm.deal.update", "record": f"deal:{number}", "title": f"Сделка {number}"}
        for number in range(1, 21)
    ]
    reasons = [
        Notice(
            code="gate-batch-asks",
            args={
                **unnamed("deal", number).args,
                "reason": "gate-taint-target",
                "key": f"c{number}",
                "part_named": "yes",
                "part_title": f"Сделка {number}",
            },
        )
        for number in range(1, 22)
    ]
    body = a_card(
        method="batch", preview={"verb": "batch", "lines": [], "items": items, "count": 20}, reasons=[one.model_dump() for one in reasons]
    )
    text = to_plain_text(render_details(CardView.from_body(body), RU))
    assert "• «Сделка 20»: Бот сам выбрал запись «Сделка 20»" in text
    assert [line for line in text.split("\n") if "запись №" in line] == ["• «Сделка 21»: Бот сам выбрал запись №21"]
    alone = a_card(reasons=[unnamed("deal", 481).model_dump()], preview=a_preview(record="deal:481", title="Ромашка"))
    assert "• Бот сам выбрал запись «Ромашка»" in to_plain_text(render_details(CardView.from_body(alone), RU))


@pytest.mark.parametrize(
    ("field", "name", "said"),
    [
        ("STAGE_ID", "Стадия", "Меняется стадия"),
        ("MEMBERS", "Участники", "Меняется поле «Участники»"),
        ("stageId", "Стадия", "Меняется поле «Стадия»"),
        ("ROWS", "Добавится", "Меняются товары"),
        ("items", "Контакты", "Меняются привязанные контакты"),
        ("UF_CRM_X", "", "Меняется поле UF_CRM_X"),
    ],
)
def test_a_reason_calls_a_field_as_the_card_does(field: str, name: str, said: str) -> None:
    """A field without a word of its own in the sentences gets the name of its line."""
    lines = [{**a_line(name=name), "field": field}] if name else None
    assert said in shown((Notice(code="gate-critical", args={"field": field}),), lines=lines)
