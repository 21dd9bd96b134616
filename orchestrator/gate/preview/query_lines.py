"""Conditions by which a read in a batch finds the records that later commands change."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale

DescribeField = Callable[[str, object], Awaitable[PreviewLine]]

_CONDITION: Final = re.compile(r"(!?(?:>=|<=|=%|%=|><|[=%@><?])?|!)(.*)", re.DOTALL)
_WORDS: Final = load_lexicon("card_fields")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_OPERATORS: Final = {locale: _WORDS.read_table("conditions", locale) for locale in _LOCALES}
_ANY: Final = _WORDS.read_titles("any_record")
_CONDITIONS: Final = _WORDS.read_titles("condition")
_ORDER: Final = _WORDS.read_titles("order")


async def build_query_lines(call: Call, describe: DescribeField, locale: Locale) -> list[PreviewLine]:
    """A line for each condition and the order; a list without conditions says so. Other reads have none."""
    if call.spec.verb != "list":
        return []
    params = {name.lower(): value for name, value in call.params.items()}
    conditions, order = params.get("filter"), params.get("order")
    lines = [
        await _build_condition(name, value, describe, locale)
        for name, value in (conditions.items() if isinstance(conditions, Mapping) else ())
    ]
    if conditions and not isinstance(conditions, Mapping):
        lines.append(PreviewLine(name=_CONDITIONS[locale], before="", after=escape_text(str(conditions), locale=locale)))
    if not lines:
        lines.append(PreviewLine(name=_CONDITIONS[locale], before="", after=_ANY[locale]))
    if isinstance(order, Mapping) and order:
        sort_fields = [(await describe(name, "")).name + (" ↓" if str(way).upper() == "DESC" else " ↑") for name, way in order.items()]
        lines.append(PreviewLine(name=_ORDER[locale], before="", after=", ".join(sort_fields)))
    return lines


async def _build_condition(name: str, value: object, describe: DescribeField, locale: Locale) -> PreviewLine:
    match = _CONDITION.fullmatch(name)
    operator, field = (match[1], match[2]) if match and match[2] else ("", name)
    line = await describe(field, value)
    words = _OPERATORS[locale].get(operator, operator)
    return line.model_copy(update={"field": name, "before": "", "after": f"{words} {line.after}".strip()})
