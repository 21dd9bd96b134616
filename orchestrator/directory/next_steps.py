"""Which deals have no next step: no planned activity of anybody. The portal has no filter for it, so code compares."""

from collections.abc import Collection, Sequence
from typing import Final

from bitrix.bulk.lists import extract_rows
from bitrix.client.batch import MAX_COMMANDS, Command, build_cmd, read_answer
from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority
from orchestrator.directory.portal_reads import PortalReader

_DEAL: Final = 2
_CHUNK: Final = 50


async def find_planned(reads: PortalReader, deals: Sequence[int], *, priority: Priority = Priority.INTERACTIVE) -> frozenset[int]:
    """Deals with a planned activity: a call, a meeting, a letter, a to-do, or a task tied to them. May raise BitrixError."""
    planned: set[int] = set()
    waiting = list(dict.fromkeys(deals))
    while waiting:
        chunks = [waiting[start : start + _CHUNK] for start in range(0, len(waiting), _CHUNK)][:MAX_COMMANDS]
        further = waiting[_CHUNK * len(chunks) :]
        commands = [_build_command(f"c{number}", chunk) for number, chunk in enumerate(chunks)]
        params = {"halt": 0, "cmd": build_cmd(commands)}
        outcomes = read_answer(commands, await reads.client.call("batch", params, repeatable=True, priority=priority))
        for chunk, outcome in zip(chunks, outcomes, strict=True):
            if outcome.status == "error":
                raise Refused(outcome.error, outcome.description, 400)
            if outcome.status != "success":
                raise OutcomeUnknown("the portal answered nothing about the activities of deals")
            rows = extract_rows(outcome.result)
            seen = {int(owner) for row in rows if (owner := str(row.get("OWNER_ID") or "")).isascii() and owner.isdecimal()}
            planned |= seen
            if seen and (outcome.total or 0) > len(rows):  # one deal with many activities must not hide the others
                further += _leave_out(chunk, seen)
        waiting = further
    return frozenset(planned)


def _build_command(key: str, deals: Sequence[int]) -> Command:
    conditions = {"OWNER_TYPE_ID": _DEAL, "@OWNER_ID": list(deals), "COMPLETED": "N"}
    return Command(key=key, method="crm.activity.list", params={"filter": conditions, "select": ["ID", "OWNER_ID"]})


def _leave_out(deals: Sequence[int], seen: Collection[int]) -> list[int]:
    return [deal for deal in deals if deal not in seen]
