"""What the portal gives for numbers: calls, the history of stages, rates. It only reads."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

from bitrix.errors import BitrixError, NotSent
from bot.access.portal_auth import PortalProbe
from bot.cli.doctor.findings import Area, Finding
from orchestrator.directory.labels import parse_amount
from state.stored import JsonObject

AREA: Final = Area("numbers")
_READS: Final[Mapping[str, tuple[JsonObject, str, str]]] = {
    "voximplant.statistic.get": (
        {"FILTER": {"ID": 0}},
        "calls are counted from activities, without seconds and missed ones",
        "Grant the scope telephony, and the statistics in the rights of telephony itself; or leave it so if no calls go through it.",
    ),
    "crm.stagehistory.list": (
        {"entityTypeId": 2, "filter": {"ID": 0}},
        "conversion by stages, days on a stage and where deals are lost cannot be counted",
        "Give the owner of the webhook the right to read deals.",
    ),
}
"""Method → (harmless parameters, what goes without it, how to mend it)."""


async def check_numbers(look: PortalProbe) -> AsyncIterator[Finding]:
    """Raises BitrixError if the portal cannot be reached."""
    lacking = False
    for method, (params, without, mending) in _READS.items():
        try:
            await look.ask(method, params)
        except NotSent:
            raise
        except BitrixError as error:
            lacking = True
            yield AREA.report_warning(method, f"The portal does not give {method} ({error}): {without}.", mending)
    rates = (await look.ask("crm.currency.list")).result
    rows = [row for row in rates if isinstance(row, Mapping)] if isinstance(rates, list) else []
    unrated = [str(row.get("CURRENCY")) for row in rows if not _has_rate(row)]
    if unrated:
        says = f"These currencies have no rate: {', '.join(unrated)}. Their deals are left out of sums, and each report says how many."
        yield AREA.report_warning("currencies", says, "Set the rates in the portal: CRM, settings, currencies.")
    elif not lacking:
        yield AREA.report_ok("sources", "Calls, the history of stages and the rates of all currencies can be read.")


def _has_rate(row: JsonObject) -> bool:
    amount = parse_amount(row.get("AMOUNT"))
    return amount is not None and amount > 0
