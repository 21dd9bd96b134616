"""Records in one line, and links to their pages.

The separator is replaced in their own texts, so that a title cannot add a false stage or sum.
"""

import html
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import urlsplit

from bitrix.catalogue.names import to_field_key
from orchestrator.directory.answers import RecordRow
from orchestrator.directory.reference_data import INVOICE, QUOTE
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_CURRENCY_BOOK, CurrencyBook, format_sum_short
from orchestrator.language.text import Locale, format_dialed_phone, format_number, to_visible_line, trim_text
from orchestrator.language.word_runs import remove_markup
from state.stored import JsonObject

SEPARATOR: Final = " · "
BUTTON: Final = 64
LINE: Final = 120
"""Characters of a label on a button, and in a list of a message."""
_ROW_NAMES: Final = tuple(map(to_field_key, load_lexicon("records").read_words("row_names")))
_SHORTEST_TITLE: Final = 12
_DETAIL: Final = 24
_UNTITLED: Final = load_lexicon("records").read_titles("untitled")
# A title that contains the separator could pretend to have a stage or a sum.
_DISGUISE: Final = str.maketrans(dict.fromkeys("·•∙⋅・‧᛫", "-"))


def format_deal_label(
    row: RecordRow, *, stage_name: str | None, locale: Locale = "ru", book: CurrencyBook = NO_CURRENCY_BOOK, limit: int = BUTTON
) -> str:
    """«Ромашка · 1,2 млн ₽ · Договор · №481»; only the title is cut."""
    details = (_format_sum(row, locale, book), _clean_detail(stage_name), _format_number(row, locale))
    return _join_line(_find_title(row, locale), details, limit)


def format_lead_label(
    row: RecordRow, *, status_name: str | None, locale: Locale = "ru", book: CurrencyBook = NO_CURRENCY_BOOK, limit: int = BUTTON
) -> str:
    """«Заявка с сайта · Иван Петров · 90 000 ₽ · Новый · №12»."""
    title, person = _find_title(row, locale), _clean_detail(row.full_name)
    amount = _format_sum(row, locale, book) if parse_amount(row.opportunity) else ""
    return _join_line(title, ("" if person == title else person, amount, _clean_detail(status_name), _format_number(row, locale)), limit)


def format_item_label(
    row: RecordRow,
    *,
    kind_name: str,
    stage_name: str | None,
    locale: Locale = "ru",
    book: CurrencyBook = NO_CURRENCY_BOOK,
    limit: int = BUTTON,
) -> str:
    """«Поставка · 100 ₽ · Подготовка · №12»; `kind_name` stands for a missing title."""
    title = _clean_text(row.title) or _clean_text(kind_name) or _UNTITLED[locale]
    return _join_line(title, (_format_sum(row, locale, book), _clean_detail(stage_name), _format_number(row, locale)), limit)


def format_company_label(row: RecordRow, *, locale: Locale = "ru", limit: int = BUTTON) -> str:
    """«ООО Ромашка · №3»."""
    return _join_line(_find_title(row, locale), (_format_number(row, locale),), limit)


def format_contact_label(row: RecordRow, *, company_name: str | None = None, locale: Locale = "ru", limit: int = BUTTON) -> str:
    """«Анна Ковалёва · ООО Ромашка · директор · №43»."""
    details = (_clean_detail(company_name), _clean_detail(row.post), _format_number(row, locale))
    return _join_line(_clean_text(row.full_name) or _UNTITLED[locale], details, limit)


def format_user_label(row: RecordRow, *, department: str | None = None, locale: Locale = "ru", limit: int = BUTTON) -> str:
    """«Борис Орлов · менеджер · Отдел продаж · №7»."""
    details = (_clean_detail(row.work_position), _clean_detail(department), _format_number(row, locale))
    return _join_line(_clean_text(row.full_name) or _UNTITLED[locale], details, limit)


def format_row_label(row: JsonObject, locale: Locale = "ru") -> str:
    """«Встреча с «Вектором»»: the first of the fields by which people know a row that is no record of its own; else «№12»."""
    by_key = {to_field_key(name): value for name, value in row.items()}
    texts = (_clean_text(remove_markup(str(value))) for key in _ROW_NAMES if (value := by_key.get(key)) not in (None, "", False))
    label = format_dialed_phone(next(filter(None, texts), ""))
    return trim_text(label, limit=BUTTON) or _format_number(RecordRow.model_validate(row), locale)


def build_card_url(portal: str, entity: str, record_id: int, *, user: int = 0) -> str:
    """Empty for kinds without a page. Only scheme and host of `portal` are used: a webhook shows no code. Raises ValueError."""
    parts = urlsplit(portal)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("the portal address must begin with http:// or https:// and a host")
    if record_id < 1 or user < 0:
        raise ValueError("a record has a positive id")
    host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    path = _build_path(entity, record_id, user)
    return f"{parts.scheme}://{host}{path}" if path else ""


def _build_path(entity: str, record_id: int, user: int) -> str:
    """Invoices are the smart process 31; quotes have a page of their own."""
    match entity:
        case "deal" | "lead" | "contact" | "company" | "quote":
            return f"/crm/{entity}/details/{record_id}/"
        case _ if entity == QUOTE:
            return f"/crm/quote/details/{record_id}/"
        case "invoice":
            return _build_path(INVOICE, record_id, user)
        case "task":
            return f"/company/personal/user/{user}/tasks/task/view/{record_id}/"
        case "user":
            return f"/company/personal/user/{record_id}/"
        case _:
            number = entity.removeprefix("item:")
            return f"/crm/type/{number}/details/{record_id}/" if number != entity and number.isascii() and number.isdecimal() else ""


def parse_amount(value: object) -> Decimal | None:
    """None for anything but a finite number."""
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None


def _join_line(title: str, details: Sequence[str], limit: int) -> str:
    tail = "".join(SEPARATOR + detail for detail in details if detail)
    return trim_text(title, limit=max(limit - len(tail), _SHORTEST_TITLE)) + tail


def _clean_text(value: str | None) -> str:
    return to_visible_line(html.unescape(value or "")).translate(_DISGUISE)


def _clean_detail(value: str | None) -> str:
    return trim_text(_clean_text(value), limit=_DETAIL)


def _find_title(row: RecordRow, locale: Locale) -> str:
    return _clean_text(row.title) or _UNTITLED[locale]


def _format_number(row: RecordRow, locale: Locale) -> str:
    return format_number(row.id, locale) if row.id else ""


def _format_sum(row: RecordRow, locale: Locale, book: CurrencyBook) -> str:
    amount = parse_amount(row.opportunity)
    if amount is None:
        return ""
    currency = _clean_text(row.currency_id)
    return format_sum_short(amount, currency or None, locale=locale, book=book)
