"""Formats one line per record for people, and the link to its card. Text of a record cannot imitate the other parts of the line.

Rows come as the portal sends them, in classic (TITLE) or new (title) spelling; missing values are left out.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from urllib.parse import urlsplit

from orchestrator.directory.reference_data import INVOICE, QUOTE
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import NO_CURRENCY_BOOK, CurrencyBook, format_sum_short
from orchestrator.language.text import Locale, to_visible_line, trim_text

Row = Mapping[str, Any]

SEPARATOR: Final = " · "
LIMIT: Final = 64
_SHORTEST_TITLE: Final = 12
_DETAIL: Final = 24
_UNTITLED: Final = load_lexicon("records").read_titles("untitled")
# A title that contains the separator could pretend to have a stage or a sum.
_DISGUISE: Final = str.maketrans(dict.fromkeys("·•∙⋅・‧᛫", "-"))


def format_deal_label(
    row: Row, *, stage_name: str | None, locale: Locale = "ru", limit: int = LIMIT, book: CurrencyBook = NO_CURRENCY_BOOK
) -> str:
    """Format «Ромашка · 1,2 млн ₽ · Договор · №481»; a long title is cut, while sum, stage and number stay."""
    return _join_line(_find_title(row, locale), (_format_sum(row, locale, book), _clean_detail(stage_name), _format_number(row)), limit)


def format_lead_label(
    row: Row, *, status_name: str | None, locale: Locale = "ru", limit: int = LIMIT, book: CurrencyBook = NO_CURRENCY_BOOK
) -> str:
    """Format «Заявка с сайта · Иван Петров · 90 000 ₽ · Новый · №12»; without a sum of zero, and without a name equal to the title."""
    title, person = _find_title(row, locale), _clean_detail(_join_name(row))
    amount = _format_sum(row, locale, book) if parse_amount(_get(row, "OPPORTUNITY", "opportunity")) else ""
    return _join_line(title, ("" if person == title else person, amount, _clean_detail(status_name), _format_number(row)), limit)


def format_item_label(
    row: Row, *, kind_name: str, stage_name: str | None, locale: Locale = "ru", limit: int = LIMIT, book: CurrencyBook = NO_CURRENCY_BOOK
) -> str:
    """Format «Поставка · 100 ₽ · Подготовка · №12» for a smart process, an invoice or a quote; the kind replaces a missing title."""
    title = _clean_text(_get(row, "TITLE", "title")) or _clean_text(kind_name) or _UNTITLED[locale]
    return _join_line(title, (_format_sum(row, locale, book), _clean_detail(stage_name), _format_number(row)), limit)


def format_company_label(row: Row, *, locale: Locale = "ru", limit: int = LIMIT) -> str:
    """Format «ООО Ромашка · №3»."""
    return _join_line(_find_title(row, locale), (_format_number(row),), limit)


def format_contact_label(row: Row, *, company_name: str | None = None, locale: Locale = "ru", limit: int = LIMIT) -> str:
    """Format «Анна Ковалёва · ООО Ромашка · директор · №43»."""
    details = (_clean_detail(company_name), _clean_detail(_get(row, "POST", "post")), _format_number(row))
    return _join_line(_clean_text(_join_name(row)) or _UNTITLED[locale], details, limit)


def format_user_label(row: Row, *, department: str | None = None, locale: Locale = "ru", limit: int = LIMIT) -> str:
    """Format «Борис Орлов · менеджер · Отдел продаж · №7»."""
    details = (_clean_detail(_get(row, "WORK_POSITION", "workPosition")), _clean_detail(department), _format_number(row))
    return _join_line(_clean_text(_join_name(row)) or _UNTITLED[locale], details, limit)


def build_card_url(portal: str, entity: str, record_id: int, *, user: int = 0) -> str:
    """Return the address of a record's card on the portal, "" for kinds without a card.

    Raises ValueError for an id below one, or if `portal` has no host. Only scheme and host of `portal` are used, so that a webhook
    address given by mistake does not reveal its secret code.
    """
    parts = urlsplit(portal)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("the portal address must begin with http:// or https:// and a host")
    if record_id < 1 or user < 0:
        raise ValueError("a record has a positive id")
    host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    path = _build_path(entity, record_id, user)
    return f"{parts.scheme}://{host}{path}" if path else ""


def _build_path(entity: str, record_id: int, user: int) -> str:
    """Return the path of a card. Invoices are the smart process 31; quotes have a page of their own."""
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


def parse_amount(value: Any) -> Decimal | None:
    """Parse an amount of a row («1000000.00», 5, 2.5); None for anything but a finite number."""
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None


def _join_line(title: str, details: Sequence[str], limit: int) -> str:
    tail = "".join(SEPARATOR + detail for detail in details if detail)
    return trim_text(title, limit=max(limit - len(tail), _SHORTEST_TITLE)) + tail


def _get(row: Row, *names: str) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _clean_text(value: Any) -> str:
    return to_visible_line("" if value is None else str(value)).translate(_DISGUISE)


def _clean_detail(value: Any) -> str:
    return trim_text(_clean_text(value), limit=_DETAIL)


def _find_title(row: Row, locale: Locale) -> str:
    return _clean_text(_get(row, "TITLE", "title")) or _UNTITLED[locale]


def _join_name(row: Row) -> str:
    names = (_get(row, "NAME", "name"), _get(row, "LAST_NAME", "lastName"))
    return " ".join(str(name) for name in names if name is not None)


def _format_number(row: Row) -> str:
    number = _clean_text(_get(row, "ID", "id"))
    return f"№{number}" if number else ""


def _format_sum(row: Row, locale: Locale, book: CurrencyBook) -> str:
    amount = parse_amount(_get(row, "OPPORTUNITY", "opportunity"))
    if amount is None:
        return ""
    currency = _clean_text(_get(row, "CURRENCY_ID", "currencyId"))
    return format_sum_short(amount, currency or None, locale=locale, book=book)
