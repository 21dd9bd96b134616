"""Every mistake of a definition has its sentence in both languages, with the arguments that the program gives it."""

import string
from typing import get_args

import pytest

from bot.i18n.translate import Locale, Translator
from orchestrator.definitions.mistakes import SENTENCES as OF_DEFINITIONS
from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import SENTENCES as OF_DOCUMENTS
from orchestrator.expressions.scripts.failures import SENTENCES as OF_SCRIPTS
from orchestrator.reports.policy_findings import SENTENCES as OF_POLICIES
from tests.unit.bot.i18n.test_i18n import _variables

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
