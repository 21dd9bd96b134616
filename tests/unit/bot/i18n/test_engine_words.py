"""Words of engines, and sentences in plain words: refusals without codes, mistakes of definitions, and who answered a call."""

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

NAMES = {
    "ru": {
        "console-definition-kind": ["Сценарий", "Агент", "Поток", "Процесс", "Часть процесса", "other"],
        "console-definition-kinds": ["Сценарии", "Агенты", "Потоки", "Процессы", "Части процессов", "other"],
    },
    "en": {
        "console-definition-kind": ["Scenario", "Agent", "Flow", "Workflow", "Part of a workflow", "other"],
        "console-definition-kinds": ["Scenarios", "Agents", "Flows", "Workflows", "Parts of workflows", "other"],
    },
}
KINDS = ("scenario", "agent", "flow", "workflow", "tuum", "other")
COMMANDS = {
    ("run-offers", "run"): "Что запустить?",
    ("run-offers", "flow"): "Какой поток запустить?",
    ("run-offers", "workflow"): "Какой процесс запустить?",
    ("run-offers", "other"): "Что запустить?",
    ("run-offers-none", "run"): "Запускать пока нечего: ничего не опубликовано.",
    ("run-offers-none", "workflow"): "Запускать пока нечего: ни один процесс не опубликован.",
}
GONE = "«x» здесь нет: возможно, переименовали или удалили."


@pytest.mark.parametrize("locale", ["ru", "en"])
@pytest.mark.parametrize("code", ["console-definition-kind", "console-definition-kinds"])
def test_kinds_are_named(locale: Locale, code: str) -> None:
    assert [Translator(locale).translate(code, kind=kind) for kind in KINDS] == NAMES[locale][code]


@pytest.mark.parametrize(
    ("locale", "names"), [("ru", ["Сценарий", "Поток", "Процесс", "x"]), ("en", ["Scenario", "Flow", "Workflow", "x"])]
)
def test_engines_are_named(locale: Locale, names: list[str]) -> None:
    say = Translator(locale).translate
    assert [say("console-runs-engine", engine=engine) for engine in ("scenario", "flow", "workflow", "x")] == names


@pytest.mark.parametrize(("code", "command"), COMMANDS)
def test_commands_have_their_own_sentences(code: str, command: str) -> None:
    assert Translator("ru").translate(code, command=command) == COMMANDS[code, command]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("run", " Какие есть, покажет /run."),
        ("flow", " Какие потоки есть, покажет /flow."),
        ("workflow", " Какие процессы есть, покажет /workflow."),
        ("none", ""),
        ("other", ""),
    ],
)
def test_what_is_gone_is_told_with_where_others_are_listed(command: str, more: str) -> None:
    assert Translator("ru").translate("run-definition-gone", definition="x", command=command) == GONE + more


def test_words_stand_inside_sentences() -> None:
    ru, en = Translator("ru"), Translator("en")
    assert ru.translate("finding-reference-off", name="x", kind="tuum") == "«x» (часть процесса): выключено. Включите или выберите другое."
    assert ru.translate("finding-reference-off", name="x", kind="other") == "«x» (other): выключено. Включите или выберите другое."
    news = {"version": 3, "definition": "x", "door": "web", "who": "Вера", "given": "no"}
    assert ru.translate("definition-published", kind="flow", **news).startswith("📄 Опубликована версия 3 потока «x»")
    assert ru.translate("definition-published", kind="scenario", **news).startswith("📄 Опубликована версия 3 сценария «x»")
    assert "of the workflow “x”" in en.translate("definition-published", kind="workflow", **news)
    assert (
        en.translate("scenario-child-failed", kind="flow", child="x")
        == "The flow of agents “x” inside of this scenario failed, so nothing more is done."
    )
    assert ru.translate("run-offer-unknown", kind="scenario") == "Такого сценария здесь нет. Все, что можно запустить, — по команде /run."


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
