"""`/today`: overdue tasks, tasks due today, deals closing within a week. Fixed reads of the person's own records. Ring 2."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from orchestrator.directory.date_format import bitrix_date, bitrix_datetime
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReads
from orchestrator.messages import Actor, Notice, Row, Table

_DONE = 5


async def today(reads: PortalReads, naming: Naming, actor: Actor, now: datetime) -> list[tuple[Notice, Table]]:
    """The headed lists that are not empty; may raise BitrixError. Nothing for an actor without a Bitrix24 user."""
    if actor.bitrix_user_id is None:
        return []
    here = now.astimezone(ZoneInfo(actor.time_zone))
    midnight = datetime.combine(here.date(), time.min, here.tzinfo)
    tomorrow = midnight + timedelta(days=1)
    mine = {"RESPONSIBLE_ID": actor.bitrix_user_id, "<REAL_STATUS": _DONE}
    overdue = {**mine, "<DEADLINE": bitrix_datetime(here)}
    due = {**mine, ">=DEADLINE": bitrix_datetime(here), "<DEADLINE": bitrix_datetime(tomorrow)}
    deals = {
        "ASSIGNED_BY_ID": actor.bitrix_user_id,
        "CLOSED": "N",
        ">=CLOSEDATE": bitrix_date(here.date()),
        "<=CLOSEDATE": bitrix_date(here.date() + timedelta(days=7)),
    }
    sections = [
        (Notice(code="today-overdue"), await _table("task", "tasks.task.list", overdue, reads, naming, actor)),
        (Notice(code="today-tasks"), await _table("task", "tasks.task.list", due, reads, naming, actor)),
        (Notice(code="today-closing"), await _table("deal", "crm.deal.list", deals, reads, naming, actor)),
    ]
    return [(heading, table) for heading, table in sections if table.rows]


async def _table(entity: str, method: str, wanted: Mapping[str, Any], reads: PortalReads, naming: Naming, actor: Actor) -> Table:
    select = ["ID", "TITLE", "STATUS", "DEADLINE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID"]
    rows = await reads.rows(method, {"filter": wanted, "select": select, "order": {"ID": "ASC"}})
    me = actor.bitrix_user_id or 0
    shown = [
        Row(
            label=await naming.label(entity, row, actor.locale),
            url=naming.card_url(entity, int(row.get("ID") or row.get("id") or 0), user=me),
        )
        for row in rows
    ]
    return Table(rows=tuple(shown), shown=len(shown), total=len(shown))
