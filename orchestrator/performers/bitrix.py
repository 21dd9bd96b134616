"""Makes a decided Bitrix24 call, and nothing else: no judging, no retry of what may have happened. Ring 2."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from bitrix.batch import Command, CommandOutcome, build_cmd, read_answer
from bitrix.client import BitrixClient
from bitrix.errors import BitrixError, NotSent, OutcomeUnknown, Refused
from bitrix.paging import first_rows
from orchestrator.gate.effects import Call
from orchestrator.gate.ports import SAID_NO, Performed, ReadBack, Reconciled, Records, Rejected, Succeeded, Unknown
from orchestrator.messages import CommandReport
from orchestrator.performers.long_lists import add_up
from orchestrator.performers.portal_texts import of_command, of_error
from orchestrator.performers.read_back import read_back
from orchestrator.performers.reconciling import reconcile
from orchestrator.performers.state_changes import batch_changes, changes_of, created_target, entity_of
from orchestrator.performers.traces import trace
from state.canonical import storable

SEND_WITHIN = 5.0
_OUTDATING = frozenset("CM")  # configuration and money: stages, fields, people, currencies
MAX_ROWS = 500
"""A list read in a turn keeps so many rows; number and sum of a longer one come from `long_lists`."""


class BitrixPerformer:
    """The performer of effects of kind "bitrix"."""

    def __init__(self, client: BitrixClient, records: Records) -> None:
        """`records` reads single records for reconciliation, and keeps the reference data that calls outdate."""
        self._client = client
        self._records = records
        self.portal = client.portal
        self.is_application = client.is_application

    async def perform(self, call: Call) -> Performed:
        """Make the call once and say what is known of it; raises nothing of the network."""
        try:
            if call.commands:
                return await self._batch(call)
            if call.spec.verb == "list" and call.reads_only and "start" not in call.params:
                return await self._list(call)
            answer = await self._client.call(call.method, call.params, repeatable=call.reads_only, send_within=_patience(call))
        except Refused as error:
            told = of_error(error)
            return Rejected(code=error.code or "refused", detail=told.text, foreign_text=told.foreign)
        except NotSent as error:
            told = of_error(error)
            return Rejected(code=error.code or "not_sent", detail=told.text, sent=False, free_at=error.free_at, foreign_text=told.foreign)
        except OutcomeUnknown as error:
            told = of_error(error)
            return Unknown(detail=told.text, foreign_text=told.foreign)
        finally:
            self._outdate(call)
        if _said_no(call, answer.result):
            return Rejected(code=SAID_NO, detail="the portal answered false: it did nothing")
        return _succeeded(call, storable(answer.result), answer.total)

    def _outdate(self, call: Call) -> None:
        """Reference data that the call changed, or may have changed, is read anew: the bot's own changes need no event."""
        for leaf in call.leaves:
            if not _OUTDATING.isdisjoint(leaf.classes):
                self._records.forget_for_call(leaf.method)

    async def reconcile(self, call: Call, before: Mapping[str, Any]) -> Reconciled:
        """Look whether the call happened; raises BitrixError when the portal cannot be read."""
        return await reconcile(call, before, self._client, self._records)

    async def read_back(self, call: Call, before: Mapping[str, Any], done: Succeeded) -> ReadBack:
        """Look whether records hold what was written; raises nothing of the network."""
        return await read_back(call, before, done, self._records)

    async def trace(self, call: Call, since: datetime) -> str:
        """What a call without a mark, sent at `since`, probably made; raises BitrixError when the portal cannot be read."""
        return await trace(call, since, self._client)

    async def _list(self, call: Call) -> Succeeded:
        pages = await first_rows(self._client, call.method, call.params, max_rows=MAX_ROWS)
        done = _succeeded(call, storable(pages.rows), pages.total)
        added = None if pages.complete else await add_up(self._client, call, pages.rows, pages.total)
        if added is None:
            return done
        return replace(done, sums=added.sums, total=pages.total if added.rows is None else added.rows, note=added.trouble)

    async def _batch(self, call: Call) -> Performed:
        commands = tuple(Command(key=command.key, method=command.method, params=dict(command.params)) for command in call.commands)
        params = {"halt": 1 if call.halt else 0, "cmd": build_cmd(commands)}
        answer = await self._client.call("batch", params, repeatable=call.reads_only, send_within=_patience(call))
        outcomes = read_answer(commands, answer, halt=call.halt)
        told = {item.key: of_command(item.error, item.description) for item in outcomes}
        reports = tuple(_report(command, item, told[item.key].text) for command, item in zip(call.commands, outcomes, strict=True))
        foreign = any(words.foreign for words in told.values())
        results = {report.key: storable(item.result) for report, item in zip(reports, outcomes, strict=True) if report.status == "success"}
        changes = batch_changes(call, reports, results)
        said = {report.status for report, command in zip(reports, call.commands, strict=True) if call.reads_only or not command.reads_only}
        if "success" not in said and "unknown" in said:
            return Unknown(detail=_failures(reports), foreign_text=foreign)
        if "success" not in {report.status for report in reports}:
            return Rejected(code="batch_failed", detail=_failures(reports), foreign_text=foreign)
        return Succeeded(result=results, changes=changes, commands=reports, foreign_text=foreign)


def _said_no(call: Call, result: Any) -> bool:
    """A write that the portal answers with a plain false did not happen (seed row S004-75)."""
    return not call.reads_only and (result is False or (isinstance(result, Mapping) and result.get("task") is False))


def _report(command: Call, item: CommandOutcome, error: str) -> CommandReport:
    if item.status == "success" and _said_no(command, item.result):
        return CommandReport(key=item.key, method=item.method, status="error", error=SAID_NO)
    return CommandReport(key=item.key, method=item.method, status=item.status, error=error)


def _succeeded(call: Call, result: Any, total: int | None) -> Succeeded:
    return Succeeded(
        result=result,
        total=total,
        changes=changes_of(call, result),
        entity=entity_of(call),
        created=created_target(call, result),
    )


def _patience(call: Call) -> float | None:
    """A write is sent within seconds or given up: a person waits, and the world it was judged in moves on."""
    return None if call.reads_only else SEND_WITHIN


def _failures(reports: Sequence[CommandReport]) -> str:
    return "; ".join(f"{report.key} {report.method}: {report.error or report.status}" for report in reports)


async def call_bitrix(client: BitrixClient, method: str, params: Mapping[str, Any], http_method: str | None = None) -> Any:
    """The seed's CALL_BITRIX (S004-23): one call, its `result`; raises BitrixError. The verb has no meaning and is ignored."""
    del http_method
    return (await client.call(method, params)).result


__all__ = ["BitrixError", "BitrixPerformer", "call_bitrix"]
