"""A look at a record after the portal said yes to its update: a successful answer is no proof (DESIGN §3 "Read back"). Ring 2, reads only.

It names the fields that still hold what they held before, though something else was sent. What it cannot compare it does not blame.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from bitrix.errors import BitrixError
from orchestrator.gate import fields
from orchestrator.gate.criticals import written_fields
from orchestrator.gate.effects import Call
from orchestrator.gate.ports import ReadBack, Records
from orchestrator.performers.portal_texts import of_error
from orchestrator.performers.reconciling import same

WITHIN = 10.0
_MINUTE = len("2026-12-01T10:00")


async def read_back(call: Call, before: Mapping[str, Any], records: Records) -> ReadBack:
    """The written fields that did not change, by their names in the call; none, with the reason in `note`, when nothing can be read.

    Raises nothing of the network.
    """
    old = before.get("{}:{}".format(*call.targets[0])) if _has_own_record(call) else None
    if not old:
        return ReadBack()
    try:
        async with asyncio.timeout(WITHIN):
            record = (await records.records(call.targets[:1]))[call.targets[0]]
    except BitrixError as error:
        told = of_error(error)
        return ReadBack(note=f"the record could not be read back: {told.text}", foreign_text=told.foreign)
    except TimeoutError:
        return ReadBack(note="the record could not be read back in time")
    if record is None:
        return ReadBack(note="the record could not be read back: it is not there any more")
    return ReadBack(unchanged=tuple(name for name, value in written_fields(call).items() if _unchanged(call, name, value, old, record)))


def _has_own_record(call: Call) -> bool:
    if call.commands or call.spec.verb != "update" or call.unknown_target or not call.targets:
        return False
    return call.targets[0][0] == call.entity


def _unchanged(call: Call, written: str, sent: Any, old: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    name = call.spec.stands_for.get(written, written)
    if not (fields.has(old, name, call.entity) and fields.has(record, name, call.entity)):
        return False
    now = fields.value_of(record, name, call.entity)
    return bool(now == fields.value_of(old, name, call.entity)) and not _means(call, name, sent, now)


def _means(call: Call, name: str, sent: Any, now: Any) -> bool:
    """Whether the record says what was sent, in any of the portal's ways; doubt counts for the portal here."""
    found = fields.info(call.entities.get(call.entity), name)
    kind = found.kind if found else "text"
    if fields.same(sent, now, kind=kind) or same(sent, now):
        return True
    # a moment without an offset is read in the portal's zone, which is not known here
    return kind == "datetime" and str(sent)[:_MINUTE].replace(" ", "T") == str(now)[:_MINUTE]
