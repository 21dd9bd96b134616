"""A refusal says in plain words what could not be done: no name of a method, no path of a parameter, no code of a field."""

import re

import pytest

from bot.i18n.translate import Translator
from orchestrator.gate.call.reasons import REFUSALS

METHODS = ("crm.lead.delete", "tasks.task.add", "crm.item.update", "odd.method.name", "x")
PARAMS = ("fields.UF_CRM_1", "c1: fields.RESPONSIBLE_ID", "filter[>=OPPORTUNITY]", "ID", "nothing-known")
_CODE = re.compile(r"UF_|[a-z]+\.[a-z]+\.|_ID|fields|filter\[|nothing-known|c1:", re.ASCII)


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize(
    "code", sorted(name for name in REFUSALS if name.startswith(("gate-param", "gate-method", "gate-closed", "gate-policy", "gate-needs")))
)
def test_no_code_is_shown_in_place_of_words(language: str, code: str) -> None:
    for method in METHODS:
        for param in PARAMS:
            said = Translator("ru" if language == "ru" else "en").translate(code, method=method, param=param, why="-")
            assert not _CODE.search(said.replace("docs/events.md", ""))
            assert "{" not in said


@pytest.mark.parametrize(
    ("code", "args", "said"),
    [
        ("gate-closed", {"method": "crm.lead.delete"}, "Это действие выключено администратором: удалить лид"),
        ("gate-closed", {"method": "odd.name"}, "Это действие выключено администратором"),
        ("gate-param-missing", {"method": "crm.deal.add", "param": "c1: UF_CRM_1 «Площадка»"}, "Не хватает данных: Площадка"),
        ("gate-param-missing", {"method": "tasks.task.add", "param": "fields.RESPONSIBLE_ID"}, "Не хватает данных: ответственный"),
        (
            "gate-param-unknown",
            {"method": "crm.deal.update", "param": "fields.PLACE", "titles": "«Площадка»"},
            "Не получилось изменить сделку: такого поля там нет. Похожие: «Площадка»",
        ),
    ],
)
def test_what_is_known_is_named_as_cards_name_it(code: str, args: dict[str, str], said: str) -> None:
    assert Translator("ru").translate(code, **args) == said
