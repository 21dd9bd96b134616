"""Counts, durations and money in people's language; what calls and runs are called; records with a link to Bitrix24."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from nicegui import ui

from bot.console.visit import Visit
from bot.i18n.translate import Translator, split_method
from orchestrator.domain.address import parse_target
from orchestrator.language.money_format import format_sum
from orchestrator.language.text import format_number
from orchestrator.runs.titles import look_up_title
from state.journal.run_index import RunFilter


def format_record(visit: Visit, record: str) -> str:
    """ "deal:481" as «сделка №481»; "" for a text that names no record."""
    kind, _, number = record.rpartition(":")
    if not kind or not number.isascii() or not number.isdecimal():
        return ""
    return f"{visit.say('history-kind', entity=kind.partition(':')[0])} {format_number(number, visit.tr.locale)}"


def build_record_url(visit: Visit, record: str) -> str:
    """ "" if the settings or the record have none."""
    if not format_record(visit, record):
        return ""
    kind, number = parse_target(record)
    names = visit.services.orchestrator.tools.gate.deps.names
    return names.build_card_url(kind, number, user=visit.opened_as.bitrix_user_id or 0)


def show_record(visit: Visit, record: str) -> None:
    """Nothing for a text that names no record."""
    name, url = format_record(visit, record), build_record_url(visit, record)
    if url:
        ui.link(name, url, new_tab=True).classes("record")
    elif name:
        ui.label(name).classes("record")


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
