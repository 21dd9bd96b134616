"""Every mistake of a condition is a whole sentence in both languages."""

import re
from pathlib import Path
from typing import get_args

import pytest

from bot.i18n.translate import Locale, Translator
from orchestrator import expressions
from orchestrator.domain.finding import DefinitionRefused, Finding
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from tests.unit.expressions.hostile_kit import build_names, read_hostile

MORE = [
    "",
    "n is 5",
    "'31.12.2026' < '10.01.2027'",
    "text[0:'a']",
    "n in 5",
    "(" * 51,
    "a" * 2001,
    " and ".join(["n"] * 201),
    "10**5000 < 1",
    "deep == other_deep",
]


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
        assert "{$" not in sentence, finding


def test_the_corpus_meets_every_code_of_the_package() -> None:
    """A code that nothing here can bring about is one whose sentence nobody has read."""
    sources = [path.read_text(encoding="utf-8") for path in Path(expressions.__path__[0]).glob("*.py")]
    written = {code for source in sources for code in re.findall(r'"(expression-[a-z-]+)"', source)}

    assert {finding.code for finding in list_findings()} == written


@pytest.mark.parametrize("locale", get_args(Locale))
def test_each_refusal_of_a_template_is_a_sentence(locale: Locale) -> None:
    """The codes stand in the package; each has a sentence that needs no other argument than a limit."""
    source = (Path(expressions.__path__[0]) / "placeholders.py").read_text(encoding="utf-8")
    codes = set(re.findall(r'"(template-[a-z-]+)"', source))

    assert len(codes) == 6
    for code in codes:
        sentence = Translator(locale).translate(code, limit=100)
        assert sentence != code
        assert "{$" not in sentence
