"""Kind and number of a record, with a link to Bitrix24."""

from nicegui import ui

from bot.console.visit import Visit
from orchestrator.domain.address import parse_target
from orchestrator.language.text import format_number


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
