"""Sentences about a call name who answered it, or did not."""

import pytest

from bot.i18n.translate import Translator


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
