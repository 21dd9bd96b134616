"""Lists of records: steps that read them are prepared, and their markers, such as [[list 2.1: TITLE]], become tables that code built."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from engines.crm_agent.core.turn_work import Page, ReadList, TurnWork
from orchestrator.directory.answers import ColumnedTable, Unresolved
from orchestrator.directory.outcome_view import OWN_RECORDS
from orchestrator.domain.outputs import Notice, Table, Text
from orchestrator.domain.own_reads import NEXT
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import Step
from state.model.shown_lists import KEEP_ROWS
from state.stored import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    step: Step
    page: Page


def find_next_page(ctx: TurnContext, work: TurnWork, proposed_step: Step) -> NextPage | Unresolved:
    """Unresolved if no list of this person was cut."""
    cut_list = ctx.state.last_shown
    if proposed_step.params:
        return Unresolved(notice=_NONE, detail=f"{NEXT} has no parameters: it reads on in the list that was shown last")
    if work.lists:
        detail = "list.next goes on with the list of an earlier answer; a list of this turn is shown with its marker"
        return Unresolved(notice=_NONE, detail=detail)
    if cut_list is None or not is_listable(cut_list.method):
        return Unresolved(notice=_NONE, detail="no list of records was shown that could go on; read the list that is meant")
    if cut_list.by != ctx.actor.key:
        return Unresolved(notice=_NONE, detail="the list shown last was read for somebody else; read it anew for this person")
    last = cut_list.first + len(cut_list.rows) - 1
    if last >= cut_list.total:
        return Unresolved(
            notice=Notice(code="list-is-whole", args={"total": cut_list.total}), detail=f"all {cut_list.total} rows were shown"
        )
    seen = tuple(row.record for row in cut_list.rows if row.record)
    step = Step(method=cut_list.method, params=dict(cut_list.params), comment=proposed_step.comment)
    return NextPage(step=step, page=Page(first=last + 1, hidden=cut_list.first - 1, seen=seen))


def is_listable(method: str) -> bool:
    return method.lower().endswith(".list") and OWN_RECORDS.fullmatch(method) is not None


_NONE: Final = Notice(code="no-next-page")


_GROUPS: Final = "group_by"
"""Of a report; models write it into lists, too."""
_COUNTED_BY_REPORTS: Final = (
    'group_by belongs to the step report, which counts: {"method":"report","params":{"of":"deals","where":"open","group_by":"person"}}'
)
LIMIT: Final = "limit"
_MOST: Final = 500
_LONGEST: Final = 5
_ITEM_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "1": ("opportunity", "currencyId", "stageId"),
    "2": ("opportunity", "currencyId", "stageId", "categoryId"),
    "7": ("opportunity", "currencyId", "stageId"),
    "31": ("opportunity", "currencyId", "stageId", "categoryId"),
}
_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "crm.deal.list": ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID"),
    "crm.lead.list": ("ID", "TITLE", "NAME", "LAST_NAME", "OPPORTUNITY", "CURRENCY_ID", "STATUS_ID"),
    "crm.contact.list": ("ID", "NAME", "LAST_NAME", "POST"),
    "crm.company.list": ("ID", "TITLE"),
    "crm.quote.list": ("ID", "TITLE", "OPPORTUNITY", "CURRENCY_ID", "STATUS_ID"),
    "crm.item.list": ("id", "title"),
    "crm.activity.list": ("PROVIDER_ID",),
    "tasks.task.list": ("ID", "TITLE"),
}
_TASK_FIELDS: Final = ("ID", "TITLE", "STATUS", "DEADLINE", "RESPONSIBLE_ID", "CREATED_DATE")
"""Read of tasks if the step selects nothing: the portal would give only ids."""


def split_limit(step: Step) -> tuple[Step, int]:
    """0 for no limit, or one that is no whole number from 1 to 500."""
    limit = step.params.get(LIMIT)
    text = str(limit) if isinstance(limit, int | str) and not isinstance(limit, bool) else ""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < _LONGEST else 0
    if not 0 < number <= _MOST or not step.method.lower().endswith(".list"):
        return step, 0
    return replace(step, params={name: value for name, value in step.params.items() if name != LIMIT}), number


def find_misuse(step: Step) -> Unresolved | None:
    """Of a `limit` that could not be split off, or of the `group_by` of a report."""
    if _GROUPS in step.params:
        return Unresolved(notice=Notice(code="list-group-unclear"), detail=_COUNTED_BY_REPORTS)
    if LIMIT in step.params and step.method.lower().endswith(".list"):
        return Unresolved(notice=Notice(code="list-limit-unclear"), detail=f"limit is a whole number from 1 to {_MOST}")
    return None


def complete_select(method: str, params: JsonObject) -> JsonObject:
    """Add the fields that code needs to `select`."""
    name = method.lower()
    needed = _FIELDS.get(name)
    if needed is None:
        return params
    if name == "tasks.task.list" and "select" not in params:
        return {**params, "select": list(_TASK_FIELDS)}
    select = params.get("select")
    if not isinstance(select, list) or "*" in select:
        return params
    have = {_flatten(one) for one in select}
    if name == "crm.activity.list" and "subject" not in have:  # the provider says who may have written the subject
        return params
    if name == "crm.item.list":
        of_kind = _ITEM_FIELDS.get(str(params.get("entityTypeId")), ("currencyId",) if "opportunity" in have else ())
        needed = (*needed, *of_kind)
    return {**params, "select": [*select, *(one for one in needed if _flatten(one) not in have)]}


def _flatten(name: object) -> str:
    return str(name).replace("_", "").lower()


_MARKER: Final = re.compile(
    r"[ \t]*\[\[\s*list\s+(?:(?P<iteration>\d{1,3})\s*\.\s*)?(?P<step>\d{1,3})\s*(?::(?P<fields>[^\[\]]{0,600}))?\]\][ \t]*",
    re.IGNORECASE | re.ASCII,
)
_UNFINISHED: Final = re.compile(r"[ \t]*\[(?:\[[^\]]{0,600}\]?)?\Z")
_SEPARATOR: Final = re.compile(r"[\s,;]+")


@dataclass(frozen=True, kw_only=True)
class PlacedLists:
    parts: tuple[Text | Table, ...]
    notices: tuple[Notice, ...] = ()


async def place_lists(ctx: TurnContext, work: TurnWork, assistant: str, *, order: Sequence[int]) -> PlacedLists:
    """A marker of a step without a list is removed, and the person is told."""
    parts: list[Text | Table] = []
    notices: list[Notice] = []
    position = 0
    for match in _MARKER.finditer(assistant):
        _add_text(parts, assistant[position : match.start()])
        position = match.end()
        place = _find_place(work, match, order)
        if place is None:
            notices.append(Notice(code="list-not-shown"))
            continue
        columns = tuple(dict.fromkeys(filter(None, _SEPARATOR.split(match["fields"] or ""))))
        table, unknown = await _build_table(ctx, work.lists[place], columns)
        parts.append(table.model_copy(update={"place": f"{place[0]}.{place[1]}", "fields": columns}))
        if unknown:
            notices.append(Notice(code="columns-unknown", args={"count": len(unknown)}))
    _add_text(parts, assistant[position:])
    return PlacedLists(parts=tuple(parts), notices=tuple(notices))


def list_placed_records(work: TurnWork, assistant: str) -> frozenset[str]:
    """Records in the first rows of the lists that the answer shows."""
    rows = (row for _, place in _list_places(work, assistant) if place is not None for row in work.lists[place].table.rows[:KEEP_ROWS])
    return frozenset(row.target for row in rows if row.target)


def find_missing(work: TurnWork, assistant: str) -> tuple[str, ...]:
    """Markers that name a step without a list."""
    return tuple(marker for marker, place in _list_places(work, assistant) if place is None)


def find_shown_steps(work: TurnWork, assistant: str) -> set[int]:
    """Steps of the present iteration whose lists the answer shows."""
    listed = {place[1] for _, place in _list_places(work, assistant) if place is not None and place[0] == work.iteration}
    days = {step for iteration, step in work.days if iteration == work.iteration}
    return listed | days | {report.step for report in work.reports if report.iteration == work.iteration}


def _list_places(work: TurnWork, assistant: str) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Each marker, and the (iteration, step) whose list it means; None if that step read no list."""
    for match in _MARKER.finditer(assistant):
        yield match[0].strip(), _find_place(work, match, list_order(work))


def list_order(work: TurnWork) -> Sequence[int]:
    """The iterations that a marker without one may mean: that of the same answer, or else the last one before it."""
    return range(work.iteration, 0, -1)


def hide_markers(text: str) -> str:
    return _UNFINISHED.sub("", _MARKER.sub("", text))


def _find_place(work: TurnWork, match: re.Match[str], order: Sequence[int]) -> tuple[int, int] | None:
    step = int(match["step"])
    iterations = (int(match["iteration"]),) if match["iteration"] else order
    return next(((iteration, step) for iteration in iterations if (iteration, step) in work.lists), None)


async def _build_table(ctx: TurnContext, read: ReadList, columns: Sequence[str]) -> tuple[Table, Sequence[str]]:
    if not read.table.rows or not (columns or OWN_RECORDS.fullmatch(read.outcome.method) is None):  # other rows have columns unasked
        return read.table, ()
    columned_table: ColumnedTable = await ctx.query("columns", outcome=read.outcome, table=read.table, columns=columns, actor=ctx.actor)
    return columned_table.table, columned_table.unknown


def _add_text(parts: list[Text | Table], text: str) -> None:
    if text.strip():
        parts.append(Text(text=text.strip()))
