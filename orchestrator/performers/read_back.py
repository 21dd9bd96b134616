"""Reads records again after a write: a successful answer does not prove that values were stored. Never writes.

A value that a robot has set at once is told as it is now; texts are compared with the old ones only, since the portal tidies them.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from bitrix.catalogue.names import CRM
from bitrix.errors import BitrixError
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.gate.call import fields, multifields
from orchestrator.gate.call.effect import BeforeImage, Call, Target
from orchestrator.gate.call.kept_files import list_file_ids
from orchestrator.gate.call.ports import ReadBack, Succeeded, UnmetField
from orchestrator.gate.normalize.merge_multifields import find_steps
from orchestrator.performers.error_texts import describe_error
from orchestrator.performers.reconciliation import is_same_meaning
from orchestrator.performers.state_changes import find_created_record
from state.stored import JsonObject

WITHIN = 10.0
_MINUTE = len("2026-12-01T10:00")
_CENT = Decimal("0.01")
_FIRM = frozenset({"money", "stage", "category", "user", "company", "contact", "enum", "flag", "number"})
"""Their values come back exactly as sent."""
_SHOWN_BY_GET = frozenset({*CRM.values(), "item"})
"""Their get methods return every field."""
_RECOMPUTED = "{name} is {now} now: the portal computes the sum from the product rows"


@dataclass(frozen=True, kw_only=True)
class _RecordCheck:
    """`old` is None for a new record."""

    call: Call
    target: Target
    old: JsonObject | None


async def read_back(call: Call, before: BeforeImage, done: Succeeded, records: PortalReader) -> ReadBack:
    """Written fields without the values sent; `note` says why nothing was read.

    Never raises errors of the network.
    """
    looks = list(_list_checks(call, before, done))
    if not looks:
        return ReadBack()
    try:
        async with asyncio.timeout(WITHIN):
            records_now = await records.load_records(list(dict.fromkeys(look.target for look in looks)))
    except BitrixError as error:
        error_text = describe_error(error)
        return ReadBack(note=f"the record could not be read back: {error_text.text}", foreign_text=error_text.foreign)
    except TimeoutError:
        return ReadBack(note="the record could not be read back in time")
    gone = any(records_now[look.target] is None for look in looks)
    notes = ["the record could not be read back: it is not there any more"] if gone else []
    read = [(look, record) for look in looks if (record := records_now[look.target]) is not None]
    unmet = tuple(field for look, record in read for field in _find_unmet_fields(look, record))
    notes += [note for field in unmet for note in _describe_recomputed(field.call, field.name, field.record)]
    file_ids = {"{}:{}".format(*look.target): _list_file_ids(look, record) for look, record in read}
    return ReadBack(unmet=unmet, note="; ".join(notes), file_ids=file_ids)


def _list_file_ids(look: _RecordCheck, record: JsonObject) -> dict[str, tuple[str, ...]]:
    """Of the written fields that held files."""
    entity = look.call.entity
    held = [name for name in look.call.written_fields if look.old and list_file_ids(fields.find_value(look.old, name, entity))]
    present = {name: list_file_ids(fields.find_value(record, name, entity)) for name in held if fields.has_field(record, name, entity)}
    return {name: ids for name, ids in present.items() if ids is not None}


def _list_checks(call: Call, before: BeforeImage, done: Succeeded) -> Iterator[_RecordCheck]:
    """Leave out records that several commands wrote: only the last write shows."""
    won = {report.key for report in done.commands if report.status == "success"}
    record_checks: list[_RecordCheck] = []
    for leaf in call.leaves:
        if call.commands and leaf.key not in won:
            continue
        result = (done.result or {}).get(leaf.key) if call.commands else done.result
        if _has_own_record(leaf):
            old = before.get("{}:{}".format(*leaf.targets[0]))
            record_checks += [_RecordCheck(call=leaf, target=leaf.targets[0], old=old)] if old else []
        elif leaf.spec.entity in _SHOWN_BY_GET and (created_record := find_created_record(leaf, result)) is not None:
            record_checks.append(_RecordCheck(call=leaf, target=created_record, old=None))
    targets = [look.target for look in record_checks]
    yield from (look for look in record_checks if targets.count(look.target) == 1)


def _has_own_record(call: Call) -> bool:
    if call.spec.verb != "update" or call.unknown_target or not call.targets:
        return False
    return call.targets[0][0] == call.entity


def _find_unmet_fields(look: _RecordCheck, record: JsonObject) -> Iterator[UnmetField]:
    steps = find_steps(look.call, look.old)
    for name, value in look.call.written_fields.items():
        if name in look.call.references or f"{look.call.spec.fields_at}.{name}" in look.call.references:
            continue
        is_other = False
        if name in steps:
            missed = bool(multifields.find_unmet_steps(steps[name], multifields.parse_elements(record)))
        elif look.old is None:
            missed = name not in look.call.system_fields and _is_not_taken(look.call, name, value, record)
            is_other = missed and _is_other_value(look.call, name, value, record, is_new=True)
        else:
            missed = _is_unchanged(look.call, name, value, look.old, record)
            is_other = not missed and _is_other_value(look.call, name, value, record)
        if missed or is_other:
            yield UnmetField(call=look.call, name=name, record=record, is_other=is_other)


def _is_unchanged(call: Call, written_name: str, sent: object, old: JsonObject, record: JsonObject) -> bool:
    name = call.spec.stands_for.get(written_name, written_name)
    if not (fields.has_field(old, name, call.entity) and fields.has_field(record, name, call.entity)):
        return False
    now = fields.find_value(record, name, call.entity)
    return bool(now == fields.find_value(old, name, call.entity)) and not _is_equivalent(call, name, sent, now)


def _is_not_taken(call: Call, name: str, sent: object, record: JsonObject) -> bool:
    """A missing field counts if the portal has none such; otherwise it may be hidden."""
    if sent in (None, "", [], {}):
        return False
    if not fields.has_field(record, name, call.entity):
        return fields.find_field_info(call.entities.get(call.entity), name) is None
    now = fields.find_value(record, name, call.entity)
    if _is_equivalent(call, name, sent, now):
        return False
    return fields.is_blank(now) or (_find_kind(call, name) in _FIRM and not _is_near(sent, now))


def _is_other_value(call: Call, written_name: str, sent: object, record: JsonObject, *, is_new: bool = False) -> bool:
    """An empty value of a new record is none."""
    name = call.spec.stands_for.get(written_name, written_name)
    if (kind := _find_kind(call, name)) not in _FIRM or not fields.has_field(record, name, call.entity):
        return False
    now = fields.find_value(record, name, call.entity)
    if is_new and fields.is_same_value(None, now, kind=kind):
        return False
    return not _is_equivalent(call, name, sent, now) and not _is_near(sent, now)


def _describe_recomputed(call: Call, name: str, record: JsonObject) -> Iterator[str]:
    by_rows = fields.find_value(record, "IS_MANUAL_OPPORTUNITY", call.entity) in {"N", "0", False}
    if fields.to_field_key(name, call.entity) == "opportunity" and by_rows:
        yield _RECOMPUTED.format(name=name, now=fields.find_value(record, name, call.entity))


def _is_near(sent: object, now: object) -> bool:
    """Return whether they differ only by rounding."""
    left, right = fields.parse_number(sent), fields.parse_number(now)
    return left is not None and right is not None and abs(left - right) <= _CENT


def _find_kind(call: Call, name: str) -> str:
    info = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(name, name))
    return info.kind if info else "text"


def _is_equivalent(call: Call, name: str, sent: object, now: object) -> bool:
    """Times are compared to the minute, as the portal's zone is not known here."""
    kind = _find_kind(call, name)
    if fields.is_same_value(sent, now, kind=kind) or is_same_meaning(sent, now):
        return True
    # a time without an offset is read in the portal's zone, which is not known here
    return kind == "datetime" and str(sent)[:_MINUTE].replace(" ", "T") == str(now)[:_MINUTE]
