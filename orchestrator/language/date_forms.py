"""Reads the table of the forms in which days and periods may be written, data/language/date_forms.yaml.

The parsers read exactly these forms, and the prompt lists them from the same rows: a form that is struck out is neither read nor offered.
"""

from collections.abc import Mapping
from typing import Final

from orchestrator.language.lexicon import load_lexicon

PLACE: Final = "{date_forms}"
"""Where the forms stand in data/agent/protocol.md."""
_TABLE: Final = load_lexicon("date_forms")
_TITLES: Final = {"days": "a day or moment", "periods": "a period (in filters)"}


def list_day_forms() -> Mapping[str, str]:
    """Return the forms of days, in the order in which they are tried: form → examples for the prompt, "" for none."""
    return _TABLE.read_table("days")


def list_period_forms() -> Mapping[str, str]:
    """Return the forms of periods, in the order in which they are tried: form → examples for the prompt, "" for none."""
    return _TABLE.read_table("periods")


def fill_date_forms(text: str, days: Mapping[str, str] | None = None, periods: Mapping[str, str] | None = None) -> str:
    """Return the prompt's text with the forms in their place; `days` and `periods` are the file's rows by default."""
    tables = {"days": list_day_forms() if days is None else days, "periods": list_period_forms() if periods is None else periods}
    lines = (f"{_TITLES[name]}: {'; '.join(filter(None, forms.values()))}" for name, forms in tables.items())
    return text.replace(PLACE, "\n".join(lines))
