"""Carries out an approved file of changes, fifty records at a time, and tells how far it is and what became of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.bulk import KINDS, PROGRESS, BulkFile, BulkItem
from orchestrator.domain.effect import CommandReport, Outcome, write_batch
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import TOLD_BY_CARD, Changes, RunContext, RunEffect, RunResult, run_all
from state.clock import format_iso, parse_iso

CARD: Final = "card"
_BESIDE: Final = 4
"""Parts under way at once: while one waits for the portal, another is read or written."""
_TRIES: Final = 5
_PART: Final = "gate-bulk-part"
_WAIT: Final = "portal-wait"
_NOT_TAKEN: Final = frozenset({"portal-not-reached", "portal-unreadable"})
"""Before anything was sent: no connection, or what is there could not be read."""
_TIME_LIMIT: Final = "OPERATION_TIME_LIMIT"
_PAUSE: Final = timedelta(seconds=20)
_UNKNOWN: Final = "bulk-unknown"
_REFUSED: Final = "bulk-refused"
_NOT_SENT: Final = "bulk-not-sent"
_UNMET: Final = "bulk-unmet"
_BY_PORTAL: Final = frozenset({"portal-refused", "batch-failed"})
_MOST_NAMED: Final = 12
_OWNERS: Final = {kind.entity: kind.owner for kind in KINDS.values()}


def describe_file(document: object) -> tuple[str, str]:
    """(title, "") for lists of runs."""
    return (str(document.get("title") or ""), "") if isinstance(document, Mapping) else ("", "")


@dataclass(slots=True)
class _Tally:
    done: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    """By key, the code of the reason."""
    untold: int = 0


class BulkEngine:
    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        file = BulkFile.model_validate(ctx.run.definition.document)
        card = str(ctx.run.args[CARD].data)
        tally = _Tally()
        parts = list(file.split())
        for start in range(0, len(parts), _BESIDE):
            await self._show_progress(ctx, file, tally, start)
            beside = enumerate(parts[start : start + _BESIDE], start=start)
            tallies = await run_all(*(_run_part(ctx, f"part:{number}", part, card) for number, part in beside))
            for part in tallies:
                tally.done += part.done
                tally.left |= part.left
        if notes := _list_true_notes(file, tally):
            tally.untold = len((await _run_part(ctx, "notes", notes, card)).left)
        await ctx.say(_build_reply(ctx, file, tally), key="end", message=PROGRESS)
        value = Value({"done": len(tally.done), "left": dict(tally.left)}, frozenset({"definition"}))
        return RunResult(value=value, changes=Changes(made=len(tally.done), left=len(tally.left)))

    async def _show_progress(self, ctx: RunContext, file: BulkFile, tally: _Tally, part: int) -> None:
        made = len(tally.done) + len(tally.left)
        notice = Notice(code="bulk-progress", args={"made": made, "count": len(file.items), "left": len(tally.left), "of": file.of})
        stop = Action(words=("run", ctx.run.run_id, "cancel"), label=Notice(code="bulk-stop"))
        await ctx.say(Reply(notices=(notice,), actions=(stop,)), key=f"{PROGRESS}:{part}", message=PROGRESS)


def _list_true_notes(file: BulkFile, tally: _Tally) -> list[BulkItem]:
    """To who got all of their records, or some; none to who got none after all."""
    done = frozenset(tally.done)
    meant, got = _count_owned(file.items), _count_owned([item for item in file.items if item.key in done])
    whole = [note for note in file.notes if 0 < got[_find_receiver(note)] == meant[_find_receiver(note)]]
    return whole + [note for note in file.part_notes if 0 < got[_find_receiver(note)] < meant[_find_receiver(note)]]


def _count_owned(items: Sequence[BulkItem]) -> Counter[str]:
    written = ((item.params.get("fields") or {}, _OWNERS.get(item.record.partition(":")[0], "")) for item in items)
    return Counter(str(fields.get(owner)) for fields, owner in written)


def _find_receiver(note: BulkItem) -> str:
    return str(note.params.get("USER_ID"))


async def _run_part(ctx: RunContext, node: str, items: Sequence[BulkItem], card: str) -> _Tally:
    """Records that may not be changed any more are left out, and the others are tried without them.

    What was certainly not sent is tried again, later, too: the portal was busy, or it was away.
    """
    tally, rest = _Tally(), list(items)
    for number in range(1, _TRIES + 1):
        place = node if number == 1 else f"{node}.{number}"
        commands = {item.key: (item.method, item.params) for item in rest}
        outcome = await ctx.submit(place, RunEffect(method="batch", params={"cmd": write_batch(commands)}, part_of=card))
        code = outcome.reason.code if outcome.reason is not None else ""
        if outcome.status == "refused" and code == _PART and outcome.commands:
            tally.left |= {report.key: report.error for report in outcome.commands}
            rest = [item for item in rest if item.key not in tally.left]
            is_busy = False
        else:
            held = _list_held(outcome, rest, code) if number < _TRIES else []
            is_busy = bool(held)
            _add_outcome(outcome, [item for item in rest if item not in held], tally)
            rest = held
        if not rest:
            return tally
        if is_busy:
            await ctx.sleep(f"{place}/wait", await _find_next_try(ctx, place, outcome, number))
    tally.left |= {item.key: _REFUSED for item in rest}
    return tally


def _list_held(outcome: Outcome, items: Sequence[BulkItem], code: str) -> list[BulkItem]:
    """Those that the portal has not taken, and may take later."""
    if outcome.status == "refused" and (code == _WAIT or code in _NOT_TAKEN):
        return list(items)
    busy = {report.key for report in outcome.commands if _is_held(report)}
    return [item for item in items if item.key in busy]


def _is_held(report: CommandReport) -> bool:
    """By the time budget of its method."""
    return report.status == "error" and report.error.startswith(_TIME_LIMIT)


async def _find_next_try(ctx: RunContext, place: str, outcome: Outcome, number: int) -> datetime:
    """When the portal said that it is free again, else later each time."""
    at = outcome.reason.args.get("at") if outcome.reason is not None and outcome.reason.code == _WAIT else None
    if at:
        return parse_iso(str(at))

    async def choose() -> str:
        return format_iso(ctx.now + number * _PAUSE)

    return parse_iso(str((await ctx.memo(f"{place}/next", choose, origins=frozenset({"definition"}))).data))


def _add_outcome(outcome: Outcome, items: Sequence[BulkItem], tally: _Tally) -> None:
    reports = {report.key: report for report in outcome.commands}
    unmet = {name.partition(".")[0] for name in outcome.unchanged}
    for item in items:
        report = reports.get(item.key)
        status = report.status if report is not None else ""
        if outcome.status == "unknown" or status == "unknown":
            tally.left[item.key] = _UNKNOWN
        elif report is not None and _is_held(report):
            tally.left[item.key] = _WAIT
        elif outcome.status != "succeeded" or status not in {"success", ""}:
            tally.left[item.key] = _name_refusal(outcome, status)
        elif item.key in unmet:
            tally.left[item.key] = _UNMET
        else:
            tally.done.append(item.key)


def _name_refusal(outcome: Outcome, status: str) -> str:
    """Of one record."""
    code = outcome.reason.code if outcome.reason is not None else ""
    # What was begun when the program or the portal stopped, and was found not to have happened; nothing is sent again by itself.
    if status == "not_run" or code.startswith(TOLD_BY_CARD):
        return _NOT_SENT
    return _REFUSED if status == "error" or not code or code in _BY_PORTAL else code


def _build_reply(ctx: RunContext, file: BulkFile, tally: _Tally) -> Reply:
    """It takes the place of the progress."""
    notices = [Notice(code="bulk-done", args={"made": len(tally.done), "count": len(file.items), "verb": file.verb, "of": file.of})]
    titles = {item.key: item.shown.title or item.record for item in file.items}
    for code, keys in _group(tally.left).items():
        named, more = [titles[key] for key in keys[:_MOST_NAMED]], max(0, len(keys) - _MOST_NAMED)
        notices.append(Notice(code="bulk-left", args={"why": code, "count": len(keys), "titles": ", ".join(named), "more": more}))
    if tally.untold:
        notices.append(Notice(code="bulk-untold", args={"count": tally.untold}))
    can_undo = bool(tally.done) and file.verb != "add"
    undo = Action(words=("bulk", ctx.run.run_id, "undo"), label=Notice(code="bulk-undo"))
    return Reply(notices=tuple(notices), actions=(undo,) if can_undo else ())


def _group(left: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for key, code in left.items():
        groups.setdefault(code, []).append(key)
    return groups
