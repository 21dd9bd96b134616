"""Every mistake of a condition is a whole sentence in both languages."""

import re
from typing import get_args

import pytest

from bot.i18n.translate import Locale, Translator
from orchestrator import expressions
from orchestrator.domain.finding import DefinitionRefused, Finding
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from tests.unit.expressions.hostile_kit import build_names, read_hostile

MORE = ["", "n is 5", "text[0:'a']", "n in 5", "(" * 51, "a" * 2001, " and ".join(["n"] * 201), "10**5000 < 1", "deep == other_deep"]


def list_findings() -> list[Finding]:
    """What is wrong with each condition of the corpus, and with some that no attacker writes."""
    found: list[Finding] = []
    deep: list[object] = []
    other: list[object] = []
    for _ in range(10_000):
        deep, other = [deep], [other]
    for source in [*read_hostile(), *MORE]:
        try:
            compile_condition(source).evaluate({**build_names(), "deep": deep, "other_deep": other})
        except DefinitionRefused as error:
            found.extend(error.findings)
        except ConditionFailed as error:
            found.append(error.finding)
    return found


@pytest.mark.parametrize("locale", get_args(Locale))
def test_each_mistake_is_a_sentence_with_all_its_arguments(locale: Locale) -> None:
    """No code, no name of an argument and no English word of a type stands in it."""
    translator = Translator(locale)
    for finding in list_findings():
        sentence = translator.translate_notice(finding.notice)
        assert sentence not in {"", finding.code}, finding
        assert not re.search(
            r"\{\$|\{\w+\}$|\$(left|right|name|limit|what|sign|least|most)\b", sentence.replace("“", "").replace("«", "")
        ), sentence


def test_the_corpus_meets_every_code_of_the_package() -> None:
    """A code that nothing here can bring about is one whose sentence nobody has read."""
    written = set()
    for path in (expressions.__path__[0] + "/" + name for name in ("compiler.py", "conditions.py", "operations.py", "syntax.py")):
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - the path comes from the package
            written |= set(re.findall(r'"(expression-[a-z-]+)"', file.read()))

    assert {finding.code for finding in list_findings()} == written
