"""The agenda of `/today` and the morning message: what is overdue, due today, closing within a week, or idle for a week."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.bulk.lists import extract_rows
from bitrix.bulk.offset_pages import read_first_rows
from bitrix.client.batch import Command, CommandOutcome, build_cmd, read_answer
from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority
from bitrix.masking import mask
from orchestrator.directory.labels import LINE, parse_amount
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.message_views import TeamLine
from orchestrator.domain.outputs import Notice, Row, Table
from orchestrator.language.date_format import format_day, parse_portal_date, to_bitrix_date, to_bitrix_datetime
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import format_sum_short
from orchestrator.language.time_zones import parse_moment
from state.canonical import to_storable
from state.stored import JsonObject

IDLE: Final = timedelta(days=7)
AHEAD: Final = timedelta(days=7)
MOST: Final = 500
"""Rows of one list that are read; a longer list shows no sum."""
TEAM: Final = 10
_DONE: Final = 5
_SINCE: Final = load_lexicon("records").read_titles("no_change_since")
_METHODS: Final = {"task": "tasks.task.list", "deal": "crm.deal.list"}
_OWNER: Final = {"task": "RESPONSIBLE_ID", "deal": "ASSIGNED_BY_ID"}
_SELECT: Final = {
    "task": ("ID", "TITLE", "STATUS", "DEADLINE"),
    "deal": ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID", "CLOSEDATE", "DATE_MODIFY"),
}
_TEAM_NUMBERS: Final = {
    "today-overdue-deals": "overdue",
    "today-overdue": "overdue",
    "today-tasks": "due",
    "today-closing": "closing",
    "today-idle": "idle",
}
"""Heading code of a list → field of TeamLine."""


@dataclass(frozen=True, kw_only=True)
class Agenda:
    """`sections` are (heading, table) of the lists that are not empty; `unread` the headings of those that could not be read."""

    sections: tuple[tuple[Notice, Table], ...] = ()
    team: tuple[TeamLine, ...] = ()
    unread: tuple[str, ...] = ()
    without_user: bool = False
    """The person's Bitrix24 user is unknown, so an empty agenda does not mean an empty day."""


@dataclass(frozen=True, kw_only=True)
class _List:
    code: str
    entity: str
    filter: Mapping[str, object]
    date: str

    def build_command(self, key: str, owner: int | Sequence[int], *, select: Sequence[str]) -> Command:
        conditions = {_OWNER[self.entity]: owner, **self.filter}
        params = {"filter": conditions, "select": list(select), "order": {self.date: "ASC", "ID": "ASC"}}
        return Command(key=key, method=_METHODS[self.entity], params=params)


async def load_agenda(
    reads: PortalReader,
    naming: Naming,
    actor: Actor,
    now: datetime,
    *,
    team: Sequence[int] = (),
    priority: Priority = Priority.INTERACTIVE,
) -> Agenda:
    """An actor without a Bitrix24 user gets no lists. May raise BitrixError."""
    me = actor.bitrix_user_id
    lists = _build_lists(now.astimezone(ZoneInfo(actor.time_zone)))
    sections: list[tuple[Notice, Table]] = []
    unread: list[str] = []
    if me is not None:
        commands = [agenda_list.build_command(agenda_list.code, me, select=_SELECT[agenda_list.entity]) for agenda_list in lists]
        outcomes = await _read_batch(reads, commands, priority)
        for agenda_list, command, outcome in zip(lists, commands, outcomes, strict=True):
            if outcome.status != "success":
                unread.append(agenda_list.code)
                continue
            table = await _build_table(
                agenda_list, command, outcome, _ViewContext(reads=reads, naming=naming, actor=actor, now=now, priority=priority)
            )
            if table.rows:
                sections.append((Notice(code=agenda_list.code), table))
    numbers = await _count_team(reads, naming, lists, [user for user in team if user != me], priority)
    if numbers is None:
        unread.append("today-team")
    return Agenda(sections=tuple(sections), team=numbers or (), unread=tuple(unread), without_user=me is None)


def _build_lists(here: datetime) -> tuple[_List, ...]:
    day = here.date()
    tomorrow = datetime.combine(day + timedelta(days=1), time.min, here.tzinfo)
    idle = to_bitrix_datetime(here - IDLE)
    open_task = {"<REAL_STATUS": _DONE}
    open_deal = {"CLOSED": "N"}
    closing = {**open_deal, ">=CLOSEDATE": to_bitrix_date(day), "<=CLOSEDATE": to_bitrix_date(day + AHEAD)}
    return (
        _List(code="today-overdue-deals", entity="deal", filter={**open_deal, "<CLOSEDATE": to_bitrix_date(day)}, date="CLOSEDATE"),
        _List(code="today-overdue", entity="task", filter={**open_task, "<DEADLINE": to_bitrix_datetime(here)}, date="DEADLINE"),
        _List(
            code="today-tasks",
            entity="task",
            filter={**open_task, ">=DEADLINE": to_bitrix_datetime(here), "<DEADLINE": to_bitrix_datetime(tomorrow)},
            date="DEADLINE",
        ),
        _List(code="today-closing", entity="deal", filter=closing, date="CLOSEDATE"),
        _List(
            code="today-idle",
            entity="deal",
            filter={
                **open_deal,
                "<DATE_MODIFY": idle,
                "<LAST_ACTIVITY_TIME": idle,
                ">=CLOSEDATE": to_bitrix_date(day),
            },  # overdue deals are in a list of their own
            date="DATE_MODIFY",
        ),
    )


async def _read_batch(reads: PortalReader, commands: Sequence[Command], priority: Priority) -> tuple[CommandOutcome, ...]:
    """Raises BitrixError only if every command failed."""
    params = {"halt": 0, "cmd": build_cmd(commands)}
    outcomes = read_answer(commands, await reads.client.call("batch", params, repeatable=True, priority=priority))
    if any(outcome.status == "success" for outcome in outcomes):
        return outcomes
    first = outcomes[0]
    if first.status == "error":
        raise Refused(first.error, first.description, 400)
    raise OutcomeUnknown("the portal answered nothing about the lists")


@dataclass(frozen=True, kw_only=True)
class _ViewContext:
    reads: PortalReader
    naming: Naming
    actor: Actor
    now: datetime
    priority: Priority


async def _build_table(agenda_list: _List, command: Command, outcome: CommandOutcome, view_context: _ViewContext) -> Table:
    """The total counts the whole list; a sum is shown for deals, and only if all rows were read."""
    rows = [to_storable(row) for row in extract_rows(outcome.result)]
    total = outcome.total if outcome.total is not None else len(rows)
    if total > len(rows):
        reads = view_context.reads
        pages = await read_first_rows(reads.client, command.method, command.params, max_rows=MOST, priority=view_context.priority)
        rows, total = [to_storable(row) for row in pages.rows], max(total, pages.total or 0)
    built_rows = [await _build_row(agenda_list, row, view_context) for row in rows]
    sums = await _format_sums(rows, view_context) if agenda_list.entity == "deal" and total <= len(rows) else ""
    return Table(rows=tuple(built_rows), total=max(total, len(built_rows)), sum_text=sums)


async def _build_row(agenda_list: _List, row: JsonObject, view_context: _ViewContext) -> Row:
    label = mask(await view_context.naming.build_label(agenda_list.entity, row, view_context.actor.locale, limit=LINE))
    number = int(row.get("ID") or row.get("id") or 0)
    url = view_context.naming.build_card_url(agenda_list.entity, number, user=view_context.actor.bitrix_user_id or 0)
    when = await _format_when(agenda_list, row, view_context)
    return Row(label=f"{label} · {when}" if when else label, url=url)


async def _format_when(agenda_list: _List, row: JsonObject, view_context: _ViewContext) -> str:
    text = str(row.get(agenda_list.date) or row.get(agenda_list.date.lower()) or "")
    here = view_context.now.astimezone(ZoneInfo(view_context.actor.time_zone))
    if agenda_list.date == "CLOSEDATE":
        try:
            return format_day(parse_portal_date(text), today=here.date(), locale=view_context.actor.locale)
        except ValueError:
            return ""
    moment = parse_moment(text, zone=await view_context.naming.load_portal_zone()) if text else None
    if moment is None:
        return ""
    at = moment.astimezone(here.tzinfo)
    if agenda_list.code == "today-idle":  # a date alone would look like one in the future
        day = format_day(at.date(), today=here.date(), locale=view_context.actor.locale).partition(", ")[2]
        return f"{_SINCE[view_context.actor.locale]} {day}"
    return f"{at:%H:%M}" if at.date() == here.date() else format_day(at.date(), today=here.date(), locale=view_context.actor.locale)


async def _format_sums(rows: Sequence[JsonObject], view_context: _ViewContext) -> str:
    totals: dict[str, Decimal] = {}
    for row in rows:
        amount = parse_amount(row.get("OPPORTUNITY"))
        if amount is not None:
            currency = str(row.get("CURRENCY_ID") or "")
            totals[currency] = totals.get(currency, Decimal(0)) + amount
    book = await view_context.naming.load_currency_book()
    parts = [
        format_sum_short(total, currency or None, locale=view_context.actor.locale, book=book) for currency, total in sorted(totals.items())
    ]
    return " + ".join(parts)


async def _count_team(
    reads: PortalReader, naming: Naming, lists: Sequence[_List], users: Sequence[int], priority: Priority
) -> tuple[TeamLine, ...] | None:
    """Busiest first, then the whole team; None if a count could not be read."""
    people: list[int | list[int]] = list(users) if len(users) <= TEAM else [list(users)]
    if not users:
        return ()
    commands = [
        agenda_list.build_command(f"p{place}_{number}", owner, select=("ID",))
        for place, owner in enumerate(people)
        for number, agenda_list in enumerate(lists)
    ]
    answered = await _read_batch(reads, commands, priority)
    if any(outcome.status != "success" for outcome in answered):
        return None
    outcomes = iter(answered)
    lines = []
    for owner in people:
        counts = dict.fromkeys(_TEAM_NUMBERS.values(), 0)
        for agenda_list in lists:
            counts[_TEAM_NUMBERS[agenda_list.code]] += _count(next(outcomes))
        lines.append(TeamLine(name=await naming.find_user_name(owner) if isinstance(owner, int) else "", **counts))
    if len(users) > TEAM:
        return tuple(lines)
    whole = TeamLine(name="", **{key: sum(getattr(line, key) for line in lines) for key in dict.fromkeys(_TEAM_NUMBERS.values())})
    return (*sorted(lines, key=lambda line: (-line.overdue, -line.due, line.name)), whole)


def _count(outcome: CommandOutcome) -> int:
    return outcome.total if outcome.total is not None else len(extract_rows(outcome.result))
