"""Describes a read inside a batch on its card: the conditions by which it finds the records that later commands change."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale

DescribeField = Callable[[str, object], Awaitable[PreviewLine]]
"""Returns the card line of a field with this name and value."""

_CONDITION: Final = re.compile(r"(!?(?:>=|<=|=%|%=|><|[=%@><?])?|!)(.*)", re.DOTALL)
"""A key of a filter: an operator such as ">=", "" for equality, and the name of the field."""
_WORDS: Final = load_lexicon("card_fields")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_OPERATORS: Final = {locale: _WORDS.read_table("conditions", locale) for locale in _LOCALES}
_ANY: Final = _WORDS.read_titles("any_record")
_CONDITIONS: Final = _WORDS.read_titles("condition")
_ORDER: Final = _WORDS.read_titles("order")


async def build_query_lines(call: Call, describe: DescribeField, locale: Locale) -> list[PreviewLine]:
    """Return one card line for each condition of a list method's filter, and then one for the sort order, if the call gives one.

    A list without conditions has a line that says so. Other reads name their record in the heading and have no lines.
    """
    if call.spec.verb != "list":
        return []
    given = {name.lower(): value for name, value in call.params.items()}
    conditions, order = given.get("filter"), given.get("order")
    lines = [
        await _build_condition(name, value, describe, locale)
        for name, value in (conditions.items() if isinstance(conditions, Mapping) else ())
    ]
    if conditions and not isinstance(conditions, Mapping):
        lines.append(PreviewLine(name=_CONDITIONS[locale], before="", after=escape_text(str(conditions), locale=locale)))
    if not lines:
        lines.append(PreviewLine(name=_CONDITIONS[locale], before="", after=_ANY[locale]))
    if isinstance(order, Mapping) and order:
        shown = [(await describe(name, "")).name + (" ↓" if str(way).upper() == "DESC" else " ↑") for name, way in order.items()]
        lines.append(PreviewLine(name=_ORDER[locale], before="", after=", ".join(shown)))
    return lines


async def _build_condition(name: str, value: object, describe: DescribeField, locale: Locale) -> PreviewLine:
    found = _CONDITION.fullmatch(name)
    operator, field = (found[1], found[2]) if found and found[2] else ("", name)
    line = await describe(field, value)
    words = _OPERATORS[locale].get(operator, operator)
    return line.model_copy(update={"field": name, "before": "", "after": f"{words} {line.after}".strip()})
