"""Makes the Bitrix24 calls that the gate has allowed. It decides nothing itself, and never repeats a call that may have happened."""

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
"""The code of the refusal of a list that the portal stopped giving in the middle."""
_NO_NUMBER: Final = "the portal answered without the number of the new record"
MAX_ROWS = 500
"""Number of rows kept of a list that is read in a turn; count and sum of a longer one come from `long_lists`."""


class BitrixPerformer:
    """Performs effects of kind "bitrix": calls of the portal's methods."""

    def __init__(self, client: BitrixClient, records: PortalReader) -> None:
        """Keep the client that makes the calls, and `records`, which reads single records and caches reference data."""
        self._client = client
        self._records = records
        self.portal = client.portal
        self.is_application = client.is_application

    async def execute(self, call: Call) -> CallResult:
        """Make the call once and return its result: `Succeeded`, `Rejected` or `Unknown`. Network errors become such a result."""
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
            told = describe_error(error)
            return Rejected(code=error.code or "not_sent", detail=told.text, sent=False, free_at=error.free_at, foreign_text=told.foreign)
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
        """Drop cached reference data (stages, fields, people) that the call may have changed, since the portal reports no such change."""
        for leaf in call.leaves:
            if not _CHANGES_REFERENCE.isdisjoint(leaf.classes):
                self._records.discard_for_call(leaf.method)

    async def reconcile(self, call: Call, before: BeforeImage) -> Reconciled:
        """Read the portal and return whether a call of unknown outcome happened. Raises BitrixError if the portal cannot be read.

        `before` contains the call's records as they were before the call.
        """
        with ask_for(find_asker().renew()):  # what became of a write is found out whoever has left
            return await reconcile(call, before, self._client, self._records)

    async def read_back(self, call: Call, before: BeforeImage, done: Succeeded) -> ReadBack:
        """Read the written records and return which fields do not have the values that were sent; raises no network errors.

        `before` contains the records as they were before the call, `done` is the call's result.
        """
        with ask_for(find_asker().renew()):
            return await read_back(call, before, done, self._records)

    async def find_traces(self, call: Call, since: datetime) -> str:
        """Return a sentence that names the records which a call sent at `since` probably created; "" if none are found.

        It is used for records in which the bot cannot leave a mark to recognize them by. Raises BitrixError if the portal cannot be read.
        """
        with ask_for(find_asker().renew()):
            return await find_traces(call, since, self._client)

    async def find_own_records(self, call: Call, since: datetime) -> Sequence[OwnRecord]:
        """Return the records of the kind that `call` creates which this program created after `since`, as far as they carry its mark.

        Raises BitrixError if the portal cannot be read.
        """
        with ask_for(find_asker().renew()):
            return await find_own_records(call, since, self._client)

    async def _execute_list(self, call: Call) -> Succeeded | Rejected:
        read = _ListProgress()
        try:
            pages = await read_first_rows(self._client, call.method, call.params, max_rows=MAX_ROWS, on_page=read.tell)
        except BitrixError as error:
            if not read.rows:
                raise
            told, of = describe_error(error), f" of {read.total}" if read.total else ""
            detail = f"the portal stopped answering ({told.text}): {read.rows}{of} rows were read, so neither rows, count nor sum is given"
            return Rejected(code=LIST_CUT, detail=detail, args={"read": read.rows, "total": read.total or 0}, foreign_text=told.foreign)
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
        said = {report.status for report, command in zip(reports, call.commands, strict=True) if call.reads_only or not command.reads_only}
        if "success" not in said and "unknown" in said:
            return Unknown(detail=_format_failures(reports), foreign_text=foreign)
        if "success" not in {report.status for report in reports}:
            return Rejected(code="batch_failed", detail=_format_failures(reports), foreign_text=foreign, commands=reports)
        return Succeeded(result=results, changes=changes, commands=reports, foreign_text=foreign)


@dataclass(slots=True)
class _ListProgress:
    """How many rows of a list are read, and how many it has (None if the portal did not say)."""

    rows: int = 0
    total: int | None = None

    def tell(self, rows: int, total: int | None) -> None:
        """Keep the figures of the last page."""
        self.rows, self.total = rows, total if total is not None else self.total


def _is_declined(call: Call, result: object) -> bool:
    """Return whether the portal answered a write with `false`, which means that it did not happen (S004-75)."""
    return not call.reads_only and (result is False or (isinstance(result, Mapping) and result.get("task") is False))


def _lacks_new_record(call: Call, result: object) -> bool:
    """Return whether a call that creates a record got a plain answer that is no number, so that nobody can say that there is one.

    An object in place of the number may come from another version of the portal, and counts as an answer.
    """
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
    """Return within how many seconds the call must be sent; None for a read, which may wait longer.

    A write that cannot be sent in time is given up: a person is waiting, and the facts that the gate has checked become outdated.
    """
    return None if call.reads_only else SEND_WITHIN


def _format_failures(reports: Sequence[CommandReport]) -> str:
    return "; ".join(f"{report.key} {report.method}: {report.error or report.status}" for report in reports)


async def call_bitrix(client: BitrixClient, method: str, params: JsonObject, _http_method: str | None = None) -> object:
    """Make one call and return the field `result` of its answer; raises BitrixError.

    It is CALL_BITRIX of docs/requirements.md (S004-23); the HTTP method is ignored.
    """
    return (await client.call(method, params)).result
