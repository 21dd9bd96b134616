"""Counts, durations and money in people's language, and what calls and runs are called."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from bot.console.visit import Visit
from bot.i18n.translate import Translator, split_method
from orchestrator.language.money_format import format_sum
from orchestrator.language.text import format_number
from orchestrator.runs.titles import look_up_title
from state.journal.run_index import RunFilter

_CENT: Final = Decimal("0.01")
_SHORTEST: Final = 0.1
_MINUTE: Final = 60
_HOUR: Final = 3600
_WITH_TENTHS: Final = 10
"""Units below which a duration has a digit after the decimal sign."""


def format_count(tr: Translator, count: int) -> str:
    """«12 345»."""
    return format_sum(Decimal(count), locale=tr.locale)


def format_money(tr: Translator, amount: Decimal | float, currency: str) -> str:
    """«1,50 ₽»; less than a cent does not look free."""
    exact = Decimal(str(amount))
    if 0 < exact < _CENT:
        return tr.translate("console-less-than", least=format_sum(_CENT, currency, locale=tr.locale))
    return format_sum(exact.quantize(_CENT), currency, locale=tr.locale)


def format_duration(tr: Translator, seconds: float) -> str:
    """«0,4 с», «12 мин»."""
    if 0 < seconds < _SHORTEST:
        return tr.translate("console-less-than", least=tr.translate("console-duration", unit="seconds", value=_SHORTEST))
    unit, value = ("seconds", seconds)
    if round(seconds) >= _MINUTE:
        unit, value = ("minutes", seconds / _MINUTE) if round(seconds / _MINUTE) < _MINUTE else ("hours", seconds / _HOUR)
    return tr.translate("console-duration", unit=unit, value=round(value, 1) if value < _WITH_TENTHS else round(value))


DefinitionName = tuple[str, str]


async def find_run_titles(visit: Visit, names: Iterable[DefinitionName]) -> Mapping[DefinitionName, str]:
    """As published now, each looked up once; its key if it has none."""
    return {name: await look_up_title(*name, visit.services.startable) for name in sorted(set(names))}


async def find_run_title(visit: Visit, run_id: str) -> str:
    """ "" for a run that does not exist."""
    rows = await visit.services.store.list_runs(RunFilter(run_id=run_id))
    return await look_up_title(rows[0].engine, rows[0].definition, visit.services.startable) if rows else ""


def describe_call(tr: Translator, method: str, records: Sequence[str]) -> str:
    """Such as «Изменить сделку №481»."""
    words = tr.describe_call(method, *split_method(method)) or tr.translate("planned-other", method=method)
    number = records[0].rpartition(":")[2] if len(records) == 1 else ""
    words = words[:1].upper() + words[1:]
    return f"{words} {format_number(number, tr.locale)}" if number else words
