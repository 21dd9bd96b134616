"""Says in words what a call to the portal does."""

from collections.abc import Sequence

from bot.i18n.translate import Translator, split_method
from orchestrator.language.text import format_number


def describe_call(tr: Translator, method: str, records: Sequence[str]) -> str:
    """Return what a call does, such as «Изменить сделку №481»; `records` are those that it is about."""
    words = tr.describe_call(method, *split_method(method)) or tr.translate("planned-other", method=method)
    number = records[0].rpartition(":")[2] if len(records) == 1 else ""
    words = words[:1].upper() + words[1:]
    return f"{words} {format_number(number, tr.locale)}" if number else words
