"""Titles in place of numbers in the reasons that nobody named a record."""

import logging
from collections.abc import Sequence
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.ports import Names
from orchestrator.language.text import Locale

log = logging.getLogger(__name__)

_UNNAMED: Final = "gate-taint-target"
_LONGEST: Final = 60
_MOST: Final = 5
"""Records read for titles; the card shows the first sentence and counts the others."""


async def name_reasons(reasons: Sequence[Notice], names: Names, locale: Locale) -> tuple[Notice, ...]:
    """Only the first few are read; a record without a title keeps its number. Never raises."""
    notices: list[Notice] = []
    left = _MOST
    for reason in reasons:
        is_unnamed = _UNNAMED in {reason.code, reason.args.get("reason")}
        notices.append(await _name_record(reason, names, locale) if is_unnamed and left > 0 else reason)
        left -= is_unnamed
    return tuple(notices)


async def _name_record(reason: Notice, names: Names, locale: Locale) -> Notice:
    entity, number = str(reason.args.get("entity") or ""), reason.args.get("id")
    if not entity or not isinstance(number, int):
        return reason
    try:
        title = await names.find_title(entity, number)
    except (BitrixError, KeyError):  # the portal is away, or the kind of record cannot be read
        return reason
    except Exception:  # a card is shown even without the name
        log.exception("a record cannot be named", extra={"action": "naming_failed", "kind": entity})
        return reason
    if not title or title == f"№{number}":
        return reason
    quoted_title = escape_text(title, locale=locale, limit=_LONGEST).replace("«", "„").replace("»", "“")
    return reason.model_copy(update={"args": {**reason.args, "title": quoted_title}})
