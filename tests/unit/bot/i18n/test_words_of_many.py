"""Sentences about many records and standing orders are said in words, with the case that is meant and no names of methods."""

from typing import Any

import pytest

from bot.i18n.translate import Translator

RU, EN = Translator("ru"), Translator("en")


@pytest.mark.parametrize(("code", "args", "ru", "en"), [
    ("order-do-propose", {"method": "tasks.task.add"}, "предложу на карточке: «поставить задачу»", "I propose on a card: “set the task”"),
    ("order-do-propose", {"method": ""}, "предложу действие на карточке", "I propose an action on a card"),
    ("gate-bulk-nothing", {"count": 3, "already": 3, "other": 0}, "во всех найденных записях уже так (3)", "are so already (3)"),
    ("gate-bulk-nothing", {"count": 4, "already": 0, "other": 4}, "ни одну из найденных записей изменить нельзя (4)", "can be changed (4)"),
    ("gate-bulk-nothing", {"count": 7, "already": 3, "other": 4}, "в 3 из 7 записей уже так", "3 of 7 records are so already"),
    ("gate-bulk-place", {"param": "{TITEL}", "near": "{TITLE}"}, "нет поля {TITEL}, поэтому ничего не готовлю", "no field {TITEL}"),
    ("gate-list-passed", {"rows": 2, "columns": "none"}, "уйдёт коллеге: 2 строки.", "goes to your colleague: 2 rows."),
])  # fmt: skip
def test_what_is_said(code: str, args: dict[str, Any], ru: str, en: str) -> None:
    assert ru in RU.translate(code, **args)
    assert en in EN.translate(code, **args)
