"""Makes the Bitrix24 calls that the gate has allowed, and never repeats one that may have happened."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from bitrix.bulk.bulk import list_all
from bitrix.bulk.lists import LISTS, build_inconsistency_error, extract_ids
from bitrix.bulk.offset_pages import read_first_rows
from bitrix.bulk.sender import Progress
from bitrix.catalogue.names import list_origin_fields
from bitrix.client.batch import Command, CommandOutcome, build_cmd, number_keys, read_answer
from bitrix.client.client import BitrixClient
from bitrix.errors import BitrixError, NotSent, OutcomeUnknown, Refused, Unreadable
from bitrix.limits.askers import ask_for, find_asker
from bitrix.limits.limiter import Priority
from orchestrator.directory.labels import parse_amount
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.effect import CommandReport
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.ignored_filters import find_ignored_field
from orchestrator.gate.call.kept_files import FILE_GONE, KeptFiles
from orchestrator.gate.call.origin_marks import ORIGINATOR, find_origin_effect
from orchestrator.gate.call.ports import DECLINED, CallResult, OwnRecord, ReadBack, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.gate.normalize.batch import NEW_ID_PLACES
from orchestrator.performers.error_texts import describe_command_error, describe_error
from orchestrator.performers.former_files import LoadBlob, load_no_blob, put_contents, read_former_files
from orchestrator.performers.read_back import read_back
from orchestrator.performers.read_progress import get_progress
from orchestrator.performers.reconciliation import CLASSIC_LISTS, find_mark, find_traces, reconcile
from orchestrator.performers.state_changes import build_batch_changes, build_changes, find_created_record, find_created_target, find_entity
from state.canonical import to_storable
from state.clock import format_iso
from state.stored import JsonObject

log = logging.getLogger(__name__)

WITHIN = 60.0
"""In seconds, because a person waits."""
MAX_SUMMED_ROWS = 50_000
_CLASSIC = ("ID", "OPPORTUNITY", "CURRENCY_ID")
_WITH_SUMS: Mapping[str, tuple[str, str, str]] = {
    "crm.deal.list": _CLASSIC,
    "crm.lead.list": _CLASSIC,
    "crm.quote.list": _CLASSIC,
    "crm.item.list": ("id", "opportunity", "currencyId"),
}
"""Methods → fields with id, sum and currency."""
_OURS = frozenset({"select", "order", "start"})
TOO_LONG = f"the list has more than {MAX_SUMMED_ROWS} rows, so no sum is given; a narrower filter gives one"
NOT_READ = "the list could not be read to its end in time, so no sum is given; a narrower filter may help"


@dataclass(frozen=True, kw_only=True)
class ListSums:
    """Sums by currency as decimal text; after `trouble` there are none, and `rows` is None."""

    sums: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None
    trouble: str = ""


class _TooLong(Exception):
    """More than `MAX_SUMMED_ROWS` rows."""


async def sum_rows(client: BitrixClient, call: Call, first: Iterable[object], total: int | None) -> ListSums | None:
    """None if the records have no sums; never raises errors of the network.

    `first` rows are read already; all are counted again, so that count and sums agree.
    """
    names = _WITH_SUMS.get(call.method.lower())
    if names is None or not any(isinstance(row, Mapping) and parse_amount(row.get(names[1])) is not None for row in first):
        return None
    if (total or 0) > MAX_SUMMED_ROWS:
        return ListSums(trouble=TOO_LONG)
    watch = get_progress()
    try:
        async with watch.run_limited(WITHIN):
            return await _read_sums(client, call, names, lambda progress: watch.tell(progress.done, total or 0))
    except _TooLong:
        return ListSums(trouble=TOO_LONG)
    except (TimeoutError, BitrixError, ValueError) as error:  # ValueError: a filter that reading in id ranges cannot honour
        log.info("a long list was not added up: %s", type(error).__name__, extra={"action": "sum_left_out"})
        return ListSums(trouble=NOT_READ)


async def _read_sums(client: BitrixClient, call: Call, names: tuple[str, str, str], tell: Callable[[Progress], None]) -> ListSums:
    _, amount_name, currency_name = names
    params = {
        name: _join_conditions(value) if name == "filter" else value for name, value in call.params.items() if name.lower() not in _OURS
    }
    params["select"] = list(names)
    sums: dict[str, Decimal] = {}
    count = 0
    # BULK: the list is known to be long, so it starts with full batches and lets short requests of others go first.
    async with aclosing(list_all(client, call.method, params, priority=Priority.BULK, on_progress=tell)) as rows:
        async for row in rows:
            count += 1
            if count > MAX_SUMMED_ROWS:
                raise _TooLong
            amount = parse_amount(row.get(amount_name))
            if amount is not None:
                currency = str(row.get(currency_name) or "")
                sums[currency] = sums.get(currency, Decimal(0)) + amount
    return ListSums(sums={currency: f"{amount:f}" for currency, amount in sums.items()}, rows=count)


def _join_conditions(conditions: object) -> object:
    """So that a condition on ids can be added with AND: conditions joined by OR are wrapped."""
    joined = isinstance(conditions, list) or (isinstance(conditions, Mapping) and "logic" in {name.lower() for name in conditions})
    return {"0": conditions} if joined else conditions


_CLOCKS_DIFFER: Final = timedelta(minutes=10)
"""How far the portal's clock may be behind ours; the journal knows what is older."""
_MOST_RECORDS: Final = 2000


async def find_own_records(call: Call, since: datetime, client: BitrixClient) -> list[OwnRecord]:
    """Oldest first. Raises BitrixError."""
    adds = {(leaf.spec.entity, leaf.entity): leaf for leaf in call.leaves if leaf.spec.verb == "add" and find_mark(leaf)}
    return [record for leaf in adds.values() for record in await _find_records_of_kind(leaf, since - _CLOCKS_DIFFER, client)]


async def _find_records_of_kind(call: Call, since: datetime, client: BitrixClient) -> list[OwnRecord]:
    in_items = call.spec.entity == "item"
    method = "crm.item.list" if in_items else CLASSIC_LISTS.get(call.spec.entity)
    if method is None:
        return []
    created_name = "createdTime" if in_items else "CREATED" if call.entity == "activity" else "DATE_CREATE"
    originator, origin = list_origin_fields(in_items=in_items)
    ids = LISTS[method]
    params: dict[str, object] = {
        "filter": {f"={originator}": ORIGINATOR, f">={created_name}": format_iso(since)},
        "order": {ids.query_field: "ASC"},
        "select": [ids.query_field, originator, origin, created_name],
    }
    if in_items:
        params["entityTypeId"] = call.params["entityTypeId"]
    first_rows = await read_first_rows(client, method, params, max_rows=_MOST_RECORDS)
    if not first_rows.complete:
        raise build_inconsistency_error("of records that this program created could not be read to its end")
    return [
        OwnRecord(entity=call.entity, number=number, effect_id=effect_id)
        for number, row in zip(extract_ids(first_rows.rows, ids.row_field), first_rows.rows, strict=True)
        if (effect_id := find_origin_effect(row)) and _is_made_after(row, created_name, since)
    ]


def _is_made_after(row: JsonObject, name: str, since: datetime) -> bool:
    """Checked since a portal may ignore a filter; an unreadable time counts."""
    try:
        created_at = datetime.fromisoformat(str(find_value(row, name)))
    except ValueError:
        return True
    return created_at.tzinfo is None or created_at >= since


SEND_WITHIN = 5.0
_CHANGES_REFERENCE = frozenset("CM")  # configuration and money: stages, fields, people, currencies
LIST_CUT: Final = "list-cut"
"""Of a list that the portal stopped giving in the middle."""
FILTER_IGNORED: Final = "portal-filter-ignored"
_IGNORED: Final = "the portal left out the condition on {field}: rows contradict it, so neither rows, count nor sum is given"
_NO_NUMBER: Final = "the portal answered without the number of the new record"
MAX_ROWS = 500
"""Rows kept of a list in a turn; longer ones are added up as they are read."""


class BitrixPerformer:
    def __init__(self, client: BitrixClient, records: PortalReader, load_blob: LoadBlob = load_no_blob) -> None:
        self._client = client
        self._load_blob = load_blob
        self._records = records
        self.portal = client.portal
        self.is_application = client.is_application

    async def execute(self, call: Call) -> CallResult:
        """Make the call once; errors of the network become the result."""
        params = await put_contents(call, self._load_blob)
        if params is None:
            return Rejected(code=FILE_GONE, detail="the former file is not kept any more", sent=False)
        try:
            if call.commands:
                return await self._execute_batch(call)
            if call.spec.verb == "list" and call.reads_only and "start" not in call.params:
                return await self._execute_list(call)
            answer = await self._client.call(call.method, params, repeatable=call.reads_only, send_within=_find_send_limit(call))
        except Refused as error:
            error_text = describe_error(error)
            return Rejected(code=error.code or "refused", detail=error_text.text, foreign_text=error_text.foreign)
        except NotSent as error:
            error_text = describe_error(error)
            return Rejected(
                code=error.code or "not_sent", detail=error_text.text, sent=False, free_at=error.free_at, foreign_text=error_text.foreign
            )
        except OutcomeUnknown as error:
            error_text = describe_error(error)
            return Unknown(detail=error_text.text, foreign_text=error_text.foreign, is_unreadable=isinstance(error, Unreadable))
        finally:
            self._discard_reference(call)
        if _is_declined(call, answer.result):
            return Rejected(code=DECLINED, detail="the portal answered false: it did nothing")
        if _lacks_new_record(call, answer.result):
            return Unknown(detail=_NO_NUMBER)
        return _build_success(call, to_storable(answer.result), answer.total)

    def _discard_reference(self, call: Call) -> None:
        """Drop cached reference data that the call may have changed: the portal reports no such change."""
        for leaf in call.leaves:
            if not _CHANGES_REFERENCE.isdisjoint(leaf.classes):
                self._records.discard_for_call(leaf.method)

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Read whether a call of unknown outcome happened; `before` is of before the call. Raises BitrixError."""
        with ask_for(find_asker().renew()):  # what became of a write is found out whoever has left
            return await reconcile(call, before, self._client, self._records)

    async def read_former_files(self, call: Call, before: BeforeImage, key: str) -> KeptFiles:
        return await read_former_files(call, before, self._client, key)

    async def read_back(self, call: Call, before: BeforeImage, done: Succeeded) -> ReadBack:
        """Return which written fields do not have the values sent; never raises errors of the network."""
        with ask_for(find_asker().renew()):
            return await read_back(call, before, done, self._records)

    async def find_traces(self, call: Call, since: datetime) -> str:
        """Return a sentence that names records probably created by a call without a mark; "" for none. Raises BitrixError."""
        with ask_for(find_asker().renew()):
            return await find_traces(call, since, self._client)

    async def find_own_records(self, call: Call, since: datetime) -> Sequence[OwnRecord]:
        """Return records created after `since` that carry this program's mark. Raises BitrixError."""
        with ask_for(find_asker().renew()):
            return await find_own_records(call, since, self._client)

    async def _execute_list(self, call: Call) -> Succeeded | Rejected:
        read = _ListProgress()
        try:
            pages = await read_first_rows(self._client, call.method, call.params, max_rows=MAX_ROWS, on_page=read.tell)
        except BitrixError as error:
            if not read.rows:
                raise
            error_text, of = describe_error(error), f" of {read.total}" if read.total else ""
            detail = (
                f"the portal stopped answering ({error_text.text}): {read.rows}{of} rows were read, so neither rows, count nor sum is given"
            )
            return Rejected(
                code=LIST_CUT, detail=detail, args={"read": read.rows, "total": read.total or 0}, foreign_text=error_text.foreign
            )
        if ignored := find_ignored_field(call, pages.rows):
            return Rejected(code=FILTER_IGNORED, detail=_IGNORED.format(field=ignored), args={"field": ignored})
        done = _build_success(call, to_storable(pages.rows), pages.total)
        added = None if pages.complete else await sum_rows(self._client, call, pages.rows, pages.total)
        if added is None:
            return done
        return replace(done, sums=added.sums, total=pages.total if added.rows is None else added.rows, note=added.trouble)

    async def _execute_batch(self, call: Call) -> CallResult:
        commands = number_keys([Command(command.key, command.method, dict(command.params)) for command in call.commands])
        params = {"halt": 1 if call.halt else 0, "cmd": build_cmd(commands)}
        answer = await self._client.call("batch", params, repeatable=call.reads_only, send_within=_find_send_limit(call))
        outcomes = read_answer(commands, answer, halt=call.halt)
        error_texts = [describe_command_error(item.error, item.description) for item in outcomes]
        matched = zip(call.commands, outcomes, error_texts, strict=True)
        reports = tuple(_refuse_ignored(_build_report(command, item, words.text), command, item) for command, item, words in matched)
        foreign = any(words.foreign for words in error_texts)
        results = {
            report.key: to_storable(item.result) for report, item in zip(reports, outcomes, strict=True) if report.status == "success"
        }
        changes = build_batch_changes(call, reports, results)
        statuses = {
            report.status for report, command in zip(reports, call.commands, strict=True) if call.reads_only or not command.reads_only
        }
        if "success" not in statuses and "unknown" in statuses:
            return Unknown(detail=_format_failures(reports), foreign_text=foreign)
        if "success" not in {report.status for report in reports}:
            return Rejected(code="batch_failed", detail=_format_failures(reports), foreign_text=foreign, commands=reports)
        return Succeeded(result=results, changes=changes, commands=reports, foreign_text=foreign)


def _refuse_ignored(report: CommandReport, command: Call, outcome: CommandOutcome) -> CommandReport:
    ignored = find_ignored_field(command, _find_rows(outcome.result)) if report.status == "success" else ""
    return report.model_copy(update={"status": "error", "error": _IGNORED.format(field=ignored)}) if ignored else report


def _find_rows(result: object) -> object:
    """Of a list, or of the only list in an answer: {"items": […]}."""
    lists = [value for value in result.values() if isinstance(value, list)] if isinstance(result, Mapping) else []
    return lists[0] if len(lists) == 1 else result


@dataclass(slots=True)
class _ListProgress:
    """`total` is None if the portal did not say."""

    rows: int = 0
    total: int | None = None

    def tell(self, rows: int, total: int | None) -> None:
        self.rows, self.total = rows, total if total is not None else self.total


def _is_declined(call: Call, result: object) -> bool:
    """The portal answers `false` to a write that did not happen (S004-75)."""
    return not call.reads_only and (result is False or (isinstance(result, Mapping) and result.get("task") is False))


def _lacks_new_record(call: Call, result: object) -> bool:
    """Return whether an add got a plain answer that is no number. An object may come from another version of the portal."""
    is_object = isinstance(result, Mapping) and bool(result)
    return call.method in NEW_ID_PLACES and not is_object and find_created_record(call, result) is None


def _build_report(command: Call, item: CommandOutcome, error: str) -> CommandReport:
    if item.status == "success" and _is_declined(command, item.result):
        return CommandReport(key=command.key, method=item.method, status="error", error=DECLINED)
    if item.status == "success" and _lacks_new_record(command, item.result):
        return CommandReport(key=command.key, method=item.method, status="unknown", error=_NO_NUMBER)
    return CommandReport(key=command.key, method=item.method, status=item.status, error=error)


def _build_success(call: Call, result: object, total: int | None) -> Succeeded:
    return Succeeded(
        result=result,
        total=total,
        changes=build_changes(call, result, total),
        entity=find_entity(call),
        created=find_created_target(call, result),
    )


def _find_send_limit(call: Call) -> float | None:
    """In seconds; None for a read. A write is given up when what the gate checked becomes outdated."""
    return None if call.reads_only else SEND_WITHIN


def _format_failures(reports: Sequence[CommandReport]) -> str:
    return "; ".join(f"{report.key} {report.method}: {report.error or report.status}" for report in reports)


async def call_bitrix(client: BitrixClient, method: str, params: JsonObject, _http_method: str | None = None) -> object:
    """CALL_BITRIX of docs/requirements.md (S004-23); the HTTP method is ignored. Raises BitrixError."""
    return (await client.call(method, params)).result
