"""Which fields have a word of their own in sentences: all others are named by their title, never by a code."""

import pytest

from bot.i18n.translate import Locale, Translator
from orchestrator.gate.preview.field_words import WORDED


@pytest.mark.parametrize("locale", ["ru", "en"])
@pytest.mark.parametrize("code", sorted(WORDED))
def test_a_worded_field_has_its_word(code: str, locale: Locale) -> None:
    assert code not in Translator(locale).translate("gate-field", field=code)
