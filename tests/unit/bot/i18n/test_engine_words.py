"""Engines say in their own words what doors say of them; of an engine that says nothing its name is read."""

import pytest

from bot.i18n.translate import Locale, Translator

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
