"""Reads data/language/date_forms.yaml. A form that is struck out is neither read nor offered in the prompt."""

from collections.abc import Mapping
from typing import Final

from orchestrator.language.lexicon import load_lexicon

PLACE: Final = "{date_forms}"
_TABLE: Final = load_lexicon("date_forms")
_TITLES: Final = {"days": "a day or moment", "periods": "a period (in filters)"}


def list_day_forms() -> Mapping[str, str]:
    """Form → examples for the prompt, in the order in which forms are tried."""
    return _TABLE.read_table("days")


def list_period_forms() -> Mapping[str, str]:
    return _TABLE.read_table("periods")


def fill_date_forms(text: str, days: Mapping[str, str] | None = None, periods: Mapping[str, str] | None = None) -> str:
    tables = {"days": list_day_forms() if days is None else days, "periods": list_period_forms() if periods is None else periods}
    lines = (f"{_TITLES[name]}: {'; '.join(filter(None, forms.values()))}" for name, forms in tables.items())
    return text.replace(PLACE, "\n".join(lines))
