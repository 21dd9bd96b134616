"""Reads and parses each kind of reference data; caches nothing."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import unescape
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError

from bitrix.bulk.lists import extract_rows
from bitrix.bulk.offset_pages import read_first_rows
from bitrix.client.batch import MAX_COMMANDS, Command, CommandOutcome, build_cmd, read_answer
from bitrix.client.read_only import PortalCaller
from bitrix.errors import OutcomeUnknown, Unreadable
from orchestrator.directory.answers import RecordRow, User
from orchestrator.directory.reference_data import Category, Department, Field, ProductCatalog, SmartType, Stage, to_own_kind, to_type_number
from orchestrator.language.money_format import CurrencyStyle, parse_currency_style
from orchestrator.language.time_zones import find_zone, is_zone
from state.stored import JsonObject

log = logging.getLogger(__name__)

_Row = TypeVar("_Row", bound=BaseModel)
MOST_USERS: Final = 5000
_MOST_ROWS: Final = 500
_PAGE: Final = 50
_MAX_PASSES: Final = 3
"""After the last pass everybody seen is kept."""
_BY_ID: Final = {"sort": "ID", "order": "ASC"}
"""Then a new employee comes last, and nobody moves to another page."""


async def read_users(client: PortalCaller) -> Mapping[int, User]:
    """The first 5,000. If somebody leaves between two pages, others are missed, and the list is read again."""
    users: dict[int, User] = {}
    for _ in range(_MAX_PASSES):
        rows, totals = await _read_employee_pass(client)
        now = {user.id: user for user in _build_rows(User, rows)}
        whole = totals == sorted(totals) and len(now) >= min(totals[-1], MOST_USERS)
        if whole or now.keys() == users.keys():  # or the total includes employees that the portal does not return
            users = now
            break
        users |= now
    return dict(sorted(users.items())[:MOST_USERS])


async def read_user(client: PortalCaller, user_id: int) -> User | None:
    """None for an unknown id."""
    answer = await client.call("user.get", {"FILTER": {"ID": user_id}}, repeatable=True)
    return next((user for user in _build_rows(User, _extract_rows(answer.result)) if user.id == user_id), None)


async def read_departments(client: PortalCaller) -> Mapping[int, Department]:
    rows = (await read_first_rows(client, "department.get", {"sort": "ID", "order": "ASC"}, max_rows=_MOST_ROWS)).rows
    return {item.id: item for item in _build_rows(Department, rows) if item.id}


async def read_categories(client: PortalCaller, entity: str) -> Sequence[Category]:
    """In the portal's order."""
    rows = (await read_first_rows(client, "crm.category.list", {"entityTypeId": to_type_number(entity)}, max_rows=_MOST_ROWS)).rows
    return tuple(_build_rows(Category, rows))


async def read_stages(client: PortalCaller, book: str) -> Sequence[Stage]:
    """In the portal's order; empty if there is no such list."""
    params = {"filter": {"ENTITY_ID": book}, "order": {"SORT": "ASC"}}
    rows = (await read_first_rows(client, "crm.status.list", params, max_rows=_MOST_ROWS)).rows
    return sorted((stage for stage in _build_rows(Stage, rows) if stage.id), key=lambda stage: stage.sort)


async def read_currencies(client: PortalCaller) -> Mapping[str, CurrencyStyle]:
    rows = (await read_first_rows(client, "crm.currency.list", {}, max_rows=_MOST_ROWS)).rows
    return {str(row["CURRENCY"]): parse_currency_style(row) for row in rows if isinstance(row, Mapping) and row.get("CURRENCY")}


async def read_types(client: PortalCaller) -> Mapping[int, SmartType]:
    """By entityTypeId. The bot's user must be a CRM administrator."""
    rows = (await read_first_rows(client, "crm.type.list", {}, max_rows=_MOST_ROWS)).rows
    return {item.id: item for item in _build_rows(SmartType, rows)}


async def read_catalogs(client: PortalCaller) -> Sequence[ProductCatalog]:
    rows = (await read_first_rows(client, "catalog.catalog.list", {}, max_rows=_MOST_ROWS)).rows
    return sorted(_build_rows(ProductCatalog, rows), key=lambda item: item.iblock)


async def read_fields(client: PortalCaller, entity: str) -> Mapping[str, Field]:
    """By code: STAGE_ID for "deal", stageId for "item:2"."""
    family = entity.partition(":")[0]
    if family == "item":
        answer = await client.call("crm.item.fields", {"entityTypeId": to_type_number(entity)}, repeatable=True)
        rows_by_code = answer.result.get("fields") if isinstance(answer.result, Mapping) else None
    elif family == "task":
        answer = await client.call("tasks.task.getFields", {}, repeatable=True)
        rows_by_code = answer.result.get("fields") if isinstance(answer.result, Mapping) else None
    elif to_type_number(to_own_kind(entity)) is not None:
        rows_by_code = (await client.call(f"crm.{entity}.fields", {}, repeatable=True)).result
    else:
        return {}
    if not isinstance(rows_by_code, Mapping):
        raise Unreadable("the portal's list of fields is no map", transient=False)
    return {str(code): _build_field(str(code), row) for code, row in rows_by_code.items() if isinstance(row, Mapping)}


async def read_zone(client: PortalCaller) -> str:
    """The user's zone if it has the offset of the portal's clock, else one that has it all year."""
    moment = datetime.fromisoformat(str((await client.call("server.time", {}, repeatable=True)).result))
    profile = (await client.call("profile", {}, repeatable=True)).result
    own = RecordRow.model_validate(profile).time_zone if isinstance(profile, Mapping) else ""
    if is_zone(own) and moment.astimezone(ZoneInfo(own)).utcoffset() == moment.utcoffset():
        return own
    return find_zone(moment.utcoffset())


async def read_account(client: PortalCaller) -> int:
    """The employee of the webhook or application; 0 if the portal does not say."""
    profile = (await client.call("profile", {}, repeatable=True)).result
    return RecordRow.model_validate(profile).id if isinstance(profile, Mapping) else 0


async def _read_employee_pass(client: PortalCaller) -> tuple[list[JsonObject], list[int]]:
    """The rows, and the total that each page reported (0 for none on the first)."""
    first = await client.call("user.get", _BY_ID, repeatable=True)
    rows, totals, at = _extract_rows(first.result), [first.total or 0], first.next
    while at is not None and at < MOST_USERS:
        ends = min(totals[-1] or MOST_USERS, MOST_USERS)
        starts = range(at, max(ends, at + 1), _PAGE)[:MAX_COMMANDS]
        pages = await _read_pages(client, starts)
        rows += [row for page in pages for row in _extract_rows(page.result)]
        totals += [page.total for page in pages if page.total is not None]
        beyond = starts[-1] + _PAGE
        # After the end of the list the portal may begin again, so a next offset that is not greater than this one is ignored.
        at = beyond if beyond < ends or (pages[-1].next or 0) >= beyond else None
    return rows, totals


async def _read_pages(client: PortalCaller, starts: Iterable[int]) -> Sequence[CommandOutcome]:
    commands = [Command(key=f"p{start}", method="user.get", params={**_BY_ID, "start": start}) for start in starts]
    answer = await client.call("batch", {"halt": 0, "cmd": build_cmd(commands)}, repeatable=True)
    outcomes = read_answer(commands, answer)
    for outcome in outcomes:
        if outcome.status != "success":
            raise OutcomeUnknown(f"a page of employees could not be read: {outcome.description or outcome.status}")
    return outcomes


def _extract_rows(result: object) -> list[JsonObject]:
    return [row for row in extract_rows(result) if isinstance(row, Mapping)]


def _build_rows(kind: type[_Row], rows: Sequence[object]) -> list[_Row]:
    """Without broken rows, which must not stop all work. Raises Unreadable if all are broken."""
    built: list[_Row] = []
    for row in rows:
        try:
            built.append(kind.model_validate(row))
        except ValidationError as error:
            why = error.errors(include_input=False)[0]["msg"]
            log.warning("a row of the portal's %s is left out: %s", kind.__name__, why, extra={"action": "reference_row_left_out"})
    if rows and not built:
        raise Unreadable("no row of the list has its key", transient=False)
    return built


def _build_field(code: str, row: JsonObject) -> Field:
    """For a custom field `title` is only the code, so the label of the form counts."""
    field = Field.model_validate({**row, "code": code, "title": ""})
    labels = (row.get(name) for name in ("formLabel", "listLabel", "title", "filterLabel"))
    return field.model_copy(
        update={
            "title": next((unescape(str(label)) for label in labels if label and label not in (code, field.upper_name)), ""),
            "custom": field.custom or code.lower().replace("_", "").startswith("uf"),
        }
    )
