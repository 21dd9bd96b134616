"""Makes the Bitrix24 calls that the gate has allowed, and never repeats one that may have happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from bitrix.bulk.offset_pages import read_first_rows
from bitrix.client.batch import Command, CommandOutcome, build_cmd, number_keys, read_answer
from bitrix.client.client import BitrixClient
from bitrix.errors import BitrixError, NotSent, OutcomeUnknown, Refused, Unreadable
from bitrix.limits.askers import ask_for, find_asker
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.outcome import CommandReport
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.ports import DECLINED, CallResult, OwnRecord, ReadBack, Reconciled, Rejected, Succeeded, Unknown
from orchestrator.gate.normalize.batch import NEW_ID_PLACES
from orchestrator.performers.error_texts import describe_command_error, describe_error
from orchestrator.performers.long_lists import sum_rows
from orchestrator.performers.own_records import find_own_records
from orchestrator.performers.read_back import read_back
from orchestrator.performers.reconciliation import find_traces, reconcile
from orchestrator.performers.state_changes import build_batch_changes, build_changes, find_created_record, find_created_target, find_entity
from state.canonical import to_storable
from state.stored import JsonObject

SEND_WITHIN = 5.0
_CHANGES_REFERENCE = frozenset("CM")  # configuration and money: stages, fields, people, currencies
LIST_CUT: Final = "list-cut"
"""Of a list that the portal stopped giving in the middle."""
_NO_NUMBER: Final = "the portal answered without the number of the new record"
MAX_ROWS = 500
"""Rows kept of a list in a turn; `long_lists` adds up longer ones."""


class BitrixPerformer:
    def __init__(self, client: BitrixClient, records: PortalReader) -> None:
        self._client = client
        self._records = records
        self.portal = client.portal
        self.is_application = client.is_application

    async def execute(self, call: Call) -> CallResult:
        """Make the call once; errors of the network become the result."""
        try:
            if call.commands:
                return await self._execute_batch(call)
            if call.spec.verb == "list" and call.reads_only and "start" not in call.params:
                return await self._execute_list(call)
            answer = await self._client.call(call.method, call.params, repeatable=call.reads_only, send_within=_find_send_limit(call))
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
        reports = tuple(_build_report(command, item, words.text) for command, item, words in matched)
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
