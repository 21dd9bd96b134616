"""A person's day, for `/today`, the same asked in words, and the morning message; for a lead the numbers of the team."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.bulk.lists import extract_rows
from bitrix.bulk.offset_pages import read_first_rows
from bitrix.catalogue.names import to_field_key
from bitrix.client.batch import Command, CommandOutcome, build_cmd, read_answer
from bitrix.errors import BitrixError, OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority
from bitrix.masking import mask
from orchestrator.directory.agenda_lists import COUNTED, NEXT_STEP, DayList, EventTime, build_day_lists, choose_events
from orchestrator.directory.labels import LINE, SEPARATOR, format_row_label, parse_amount
from orchestrator.directory.naming import Naming
from orchestrator.directory.next_steps import find_planned
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.message_views import TeamLine
from orchestrator.domain.outputs import Notice, Row, Table
from orchestrator.language.date_format import format_day, parse_portal_date
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import format_sum_short
from orchestrator.language.time_zones import parse_moment
from state.canonical import to_storable
from state.stored import JsonObject

MOST: Final = 500
"""Rows of one list that are read; a longer list shows no sum."""
TEAM: Final = 10
_SINCE: Final = load_lexicon("records").read_titles("no_change_since")
_OWNERS: Final = {"1": "lead", "2": "deal", "3": "contact", "4": "company"}
"""The records to which activities belong."""


@dataclass(frozen=True, kw_only=True)
class Agenda:
    """`sections` are (heading, table) of the lists that are not empty; `unread` the headings of those that could not be read."""

    sections: tuple[tuple[Notice, Table], ...] = ()
    team: tuple[TeamLine, ...] = ()
    unread: tuple[str, ...] = ()
    without_user: bool = False
    """The person's Bitrix24 user is unknown, so an empty agenda does not mean an empty day."""


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
    lists = build_day_lists(now.astimezone(ZoneInfo(actor.time_zone)))
    view = _ViewContext(reads=reads, naming=naming, actor=actor, now=now, priority=priority)
    sections: dict[str, Table] = {}
    unread: list[str] = []
    if me is not None:
        commands = [day_list.build_command(f"l{place}", me) for place, day_list in enumerate(lists)]
        outcomes = await _read_batch(reads, commands, priority)
        for day_list, command, outcome in zip(lists, commands, outcomes, strict=True):
            table = await _try_build(day_list, command, outcome, view)
            if table is None:
                unread.append(day_list.code)
            elif table.rows:
                sections[day_list.code] = _join(sections.get(day_list.code), table)
    counted = [day_list for day_list in lists if day_list.code in COUNTED]
    numbers = await _count_team(reads, naming, counted, [user for user in team if user != me], priority)
    if numbers is None:
        unread.append("today-team")
    shown = tuple((Notice(code=code), table) for code, table in sections.items())
    return Agenda(sections=shown, team=numbers or (), unread=tuple(dict.fromkeys(unread)), without_user=me is None)


def _join(first: Table | None, second: Table) -> Table:
    """Two lists under one heading."""
    if first is None:
        return second
    rows = (*first.rows, *second.rows)
    return first.model_copy(update={"rows": rows, "total": first.total + second.total})


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


async def _try_build(day_list: DayList, command: Command, outcome: CommandOutcome, view: _ViewContext) -> Table | None:
    """None if the portal does not show the list."""
    if outcome.status != "success":
        return None
    if day_list.entity == "event":
        return await _build_events(outcome, view)
    if day_list.code != NEXT_STEP:
        return await _build_table(day_list, command, outcome, view)
    if (outcome.total or 0) > MOST:  # a count of a part would be taken for the whole
        return None
    try:
        return await _build_table(day_list, command, outcome, view)
    except BitrixError:  # the activities of the deals are asked for apart
        return None


async def _build_events(outcome: CommandOutcome, view: _ViewContext) -> Table:
    here = view.now.astimezone(ZoneInfo(view.actor.time_zone))
    rows = [to_storable(row) for row in extract_rows(outcome.result)]
    events = choose_events(rows, here, await view.naming.load_portal_zone())
    built_rows = tuple(
        Row(label=SEPARATOR.join(filter(None, (mask(format_row_label(row, view.actor.locale)), _format_span(at, here)))))
        for row, at in events
    )
    return Table(rows=built_rows, total=len(built_rows), is_prose=True)


def _format_span(at: EventTime, here: datetime) -> str:
    """«10:00–11:30»; what began earlier has only its end."""
    if not at.has_hour:
        return ""
    start = f"{at.start:%H:%M}" if at.start.date() == here.date() else ""
    end = f"{at.end:%H:%M}" if at.end.date() == here.date() and at.end > at.start else ""
    return f"{start}–{end}" if end else start


async def _build_table(day_list: DayList, command: Command, outcome: CommandOutcome, view: _ViewContext) -> Table:
    """The total counts the whole list; a sum is shown for deals, and only if all rows were read."""
    rows = [to_storable(row) for row in extract_rows(outcome.result)]
    total = outcome.total if outcome.total is not None else len(rows)
    if total > len(rows):
        pages = await read_first_rows(view.reads.client, command.method, command.params, max_rows=MOST, priority=view.priority)
        rows, total = [to_storable(row) for row in pages.rows], max(total, pages.total or 0)
    if day_list.code == NEXT_STEP:
        planned = await find_planned(view.reads, [_read_id(row) for row in rows], priority=view.priority)
        rows = [row for row in rows if _read_id(row) not in planned]
        total = len(rows)
    built_rows = [await _build_row(day_list, row, view) for row in rows]
    sums = await _format_sums(rows, view) if day_list.entity == "deal" and total <= len(rows) else ""
    is_prose = day_list.entity == "activity"
    return Table(rows=tuple(built_rows), total=max(total, len(built_rows)), sum_text=sums, is_prose=is_prose)


def _read_id(row: JsonObject) -> int:
    return int(row.get("ID") or row.get("id") or 0)


async def _build_row(day_list: DayList, row: JsonObject, view: _ViewContext) -> Row:
    user = view.actor.bitrix_user_id or 0
    when = await _format_when(day_list, row, view)
    if day_list.entity == "activity":
        label, kind, number = (
            format_row_label(row, view.actor.locale),
            _OWNERS.get(str(row.get("OWNER_TYPE_ID")), ""),
            int(row.get("OWNER_ID") or 0),
        )
        url = view.naming.build_card_url(kind, number, user=user) if kind and number else ""
        return Row(label=SEPARATOR.join(filter(None, (mask(label), when))), url=url)
    label, number = await view.naming.build_label(day_list.entity, row, view.actor.locale, limit=LINE), _read_id(row)
    url = view.naming.build_card_url(day_list.entity, number, user=user)
    return Row(label=SEPARATOR.join(filter(None, (mask(label), when))), url=url, target=f"{day_list.entity}:{number}")


async def _format_when(day_list: DayList, row: JsonObject, view: _ViewContext) -> str:
    text = str(row.get(day_list.date) or row.get(day_list.date.lower()) or "") if day_list.date else ""
    here = view.now.astimezone(ZoneInfo(view.actor.time_zone))
    if day_list.date == "CLOSEDATE":
        try:
            return format_day(parse_portal_date(text), today=here.date(), locale=view.actor.locale)
        except ValueError:
            return ""
    moment = parse_moment(text, zone=await view.naming.load_portal_zone()) if text else None
    if moment is None:
        return ""
    at = moment.astimezone(here.tzinfo)
    if day_list.code == "today-idle":  # a date alone would look like one in the future
        day = format_day(at.date(), today=here.date(), locale=view.actor.locale).partition(", ")[2]
        return f"{_SINCE[view.actor.locale]} {day}"
    return f"{at:%H:%M}" if at.date() == here.date() else format_day(at.date(), today=here.date(), locale=view.actor.locale)


async def _format_sums(rows: Sequence[JsonObject], view: _ViewContext) -> str:
    totals: dict[str, Decimal] = {}
    for row in rows:
        amount = parse_amount(row.get("OPPORTUNITY"))
        if amount is not None:
            currency = str(row.get("CURRENCY_ID") or "")
            totals[currency] = totals.get(currency, Decimal(0)) + amount
    book = await view.naming.load_currency_book()
    parts = [format_sum_short(total, currency or None, locale=view.actor.locale, book=book) for currency, total in sorted(totals.items())]
    return " + ".join(parts)


async def _count_team(
    reads: PortalReader, naming: Naming, lists: Sequence[DayList], users: Sequence[int], priority: Priority
) -> tuple[TeamLine, ...] | None:
    """The busiest people, then the whole team; None if a count could not be read. Nobody is told apart if a list is too long for it."""
    if not users:
        return ()
    commands = [day_list.build_command(f"t{place}", list(users), select=("ID", day_list.owner)) for place, day_list in enumerate(lists)]
    outcomes = await _read_batch(reads, commands, priority)
    if any(outcome.status != "success" for outcome in outcomes):
        return None
    whole: Counter[str] = Counter()
    by_owner: defaultdict[int, Counter[str]] = defaultdict(Counter)
    is_apart = True
    for day_list, command, outcome in zip(lists, commands, outcomes, strict=True):
        name, rows = COUNTED[day_list.code], list(extract_rows(outcome.result))
        total = outcome.total if outcome.total is not None else len(rows)
        if len(rows) < total <= MOST:
            rows = list((await read_first_rows(reads.client, command.method, command.params, max_rows=MOST, priority=priority)).rows)
        whole[name] += total
        is_apart = is_apart and total <= len(rows)
        for row in rows:
            by_owner[_read_owner(row, day_list)][name] += 1
    owners = [owner for owner in by_owner if owner in users] if is_apart else []
    lines = [TeamLine(name=await naming.find_user_name(owner), **_fill(by_owner[owner])) for owner in owners]
    busiest = sorted(lines, key=lambda line: (-line.overdue, -line.due, -line.closing - line.idle, line.name))[:TEAM]
    return (*busiest, TeamLine(name="", **_fill(whole)))


def _fill(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in COUNTED.values()}


def _read_owner(row: JsonObject, day_list: DayList) -> int:
    number = str(next((value for name, value in row.items() if to_field_key(name) == to_field_key(day_list.owner)), ""))
    return int(number) if number.isascii() and number.isdecimal() else 0
