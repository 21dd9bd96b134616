"""Sentences in plain words: refusals without codes, mistakes of definitions in both languages, and who answered a call."""

import re
import string
from typing import get_args

import pytest

from bot.i18n.translate import Locale, Translator
from orchestrator.definitions.mistakes import SENTENCES as OF_DEFINITIONS
from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import SENTENCES as OF_DOCUMENTS
from orchestrator.expressions.scripts.failures import SENTENCES as OF_SCRIPTS
from orchestrator.gate.call.reasons import REFUSALS
from orchestrator.reports.policy_check import SENTENCES as OF_POLICIES
from tests.unit.bot.i18n.test_i18n import _variables

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


SENTENCES = OF_DEFINITIONS | OF_DOCUMENTS | OF_SCRIPTS | OF_POLICIES
PLACE = {"path", "line", "column", "step", "suggestion"}


@pytest.mark.long
@pytest.mark.parametrize("locale", get_args(Locale))
def test_every_mistake_has_a_sentence_that_uses_only_what_it_is_given(locale: Locale) -> None:
    known = _variables(locale)
    for code, sentence in SENTENCES.items():
        given = {name for _, name, _, _ in string.Formatter().parse(sentence) if name}
        assert known[code].names <= given | PLACE, code
    assert {code for code in known if code.startswith("finding-")} >= SENTENCES.keys() | {"finding-more"}


def test_a_mistake_is_told_in_the_words_of_the_reader() -> None:
    finding = read_document('{\n "a": 1,\n "a": 2}').findings[0]
    assert Translator("ru").translate_notice(finding.notice) == "Ключ «a» повторяется, первый раз он в строке 2."
    assert Translator("en").translate_notice(finding.notice) == "The key “a” stands twice in this object, first in line 2."


@pytest.mark.parametrize(
    "code", ["outcome-unknown", "recovered-done", "recovered-not-done", "recovered-unclear", "card-unknown", "card-not-done"]
)
@pytest.mark.parametrize(("method", "ru", "en"), [("mongo.insert_one", "баз", "database"), ("crm.deal.update", "Битрикс24", "Bitrix24")])
def test_who_answered_is_named(code: str, method: str, ru: str, en: str) -> None:
    """«Ответ базы данных потерян», and never Bitrix24 where a database was asked."""
    args = {
        "method": method,
        "verb": "other",
        "entity": "",
        "count": 1,
        "title": "Заявки",
        "changes": "",
        "parts": "title",
        "effect_id": "",
    }
    said = {locale: Translator(locale).translate(code, **args) for locale in ("ru", "en")}
    assert ru in said["ru"]
    assert en in said["en"]
    assert ("Битрикс24" in said["ru"]) is (ru == "Битрикс24")
    assert ("Bitrix24" in said["en"]) is (en == "Bitrix24")
