"""How currencies are written: names, signs and codes to ISO 4217 and back. Ring 2, data."""

import re
from typing import Final

# Patterns on folded text; two-word names stand before the words they contain.
_CURRENCY_PATTERNS: Final = (
    ("BYN", r"бел(?:орусск(?:их|ий|ого)|\.)? ?руб(?:л(?:ей|я|ь))?|byn"),
    ("RUB", r"₽|руб(?:л(?:ей|я|ь|ях|ям))?|р|rub|rur|roubles?|rubles?"),
    ("USD", r"\$|доллар(?:а|ов|ы)?|бакс(?:а|ов)?|usd|dollars?"),
    ("EUR", r"€|евро|eur|euros?"),
    ("GBP", r"£|фунт(?:а|ов)?|gbp|pounds?"),
    ("CNY", r"юан(?:ь|я|ей)|cny|yuan"),
    ("KZT", r"₸|тенге|kzt"),
    ("UZS", r"сум(?:а|ов)?|uzs"),
    ("UAH", r"₴|грив(?:на|ны|ен)|uah"),
    ("TRY", r"₺|лир(?:а|ы)?"),
    ("AED", r"дирхам(?:а|ов)?|aed"),
)
SIGNS: Final = {"RUB": "₽", "USD": "$", "EUR": "€", "GBP": "£", "KZT": "₸", "UAH": "₴", "TRY": "₺"}
CURRENCY_AFTER: Final = "|".join(f"(?:{pattern})" for _, pattern in _CURRENCY_PATTERNS)
CURRENCY_BEFORE: Final = "[$€£₽₸₴₺]|" + "|".join(rf"{code.lower()} " for code, pattern in _CURRENCY_PATTERNS if code.lower() in pattern)


def parse_currency(written: str) -> str | None:
    """The ISO code of a folded name, sign or code; None for what is no currency we know."""
    return next((code for code, pattern in _CURRENCY_PATTERNS if re.fullmatch(pattern, written)), None)
