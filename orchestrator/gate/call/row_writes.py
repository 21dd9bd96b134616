"""What earlier calls of one plan or batch leave of a record's lists, so that the next call is drawn as it will find them. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bitrix.catalogue.catalogue import ListKind
from orchestrator.gate.call import fields, list_comparison, replaced_lists
from orchestrator.gate.call.effect import BeforeImage, Call, Target
from orchestrator.gate.call.replaced_lists import OWNER_SUM, Rows, find_list
from orchestrator.gate.call.targets import PRODUCT_ROW, find_row_owner
from state.stored import JsonObject

Records = Mapping[Target, JsonObject | None]


@dataclass(frozen=True, kw_only=True)
class ListWrite:
    """`row` is a changed single product row as it was before."""

    call: Call
    row: JsonObject | None = None

    @property
    def kind(self) -> ListKind:
        return "products" if self.row is not None else next(iter(self.call.spec.replaces.values()))

    @property
    def new_row(self) -> JsonObject:
        return self.call.written_fields if self.call.spec.verb == "update" else {}


def apply_writes(writes: Sequence[ListWrite], present: object) -> Rows | None:
    """None if the result is not known."""
    rows: Rows | None = [row for row in present if isinstance(row, Mapping)] if isinstance(present, list) else None
    for write in writes:
        if write.row is not None:
            rows = None if rows is None else list_comparison.change_row(rows, write.row, write.new_row)
            continue
        name = next(iter(write.call.spec.replaces))
        change = replaced_lists.find_list_change(write.call, {} if rows is None else {name: list(rows)})
        rows = None if change is None or (change.is_partial and rows is None) else change.new
    return rows


def add_to_sum(writes: Sequence[ListWrite], sum_before: object) -> Decimal | None:
    """For rows that were not read; None if a price or quantity cannot be read."""
    total = fields.parse_number(sum_before)
    for write in writes:
        added = _find_difference(write)
        total = None if total is None or added is None else total + added
    return total


def _find_difference(write: ListWrite) -> Decimal | None:
    if write.row is None:
        change = replaced_lists.find_list_change(write.call, {})
        return replaced_lists.sum_rows(change.new) if change is not None else None
    before, left = (
        replaced_lists.sum_rows(rows) for rows in ([write.row], list_comparison.change_row([write.row], write.row, write.new_row))
    )
    return None if before is None or left is None else left - before


@dataclass(frozen=True, kw_only=True)
class RowWrite:
    """A call that writes product rows of `owner`; `present` are its rows before all calls, None if they were not read."""

    owner: Target
    write: ListWrite
    present: Rows | None = None


def writes_rows(call: Call) -> bool:
    return not call.reads_only and (_replaces_rows(call) or _is_single(call))


def collect_row_writes(calls: Iterable[tuple[Call, Records]]) -> list[RowWrite]:
    """In the order in which `calls` run; each stands with its records as they are before all of them."""
    writes: list[RowWrite] = []
    for call, records in calls:
        for leaf in call.leaves:
            writes.extend(find_row_writes(leaf, records, plan_rows(leaf, records, writes)))
    return writes


def find_row_writes(call: Call, records: Records, planned: Records) -> Iterator[RowWrite]:
    """Of one call that is no batch; `planned` are the records as it will find them. None for a change of a row that was not read."""
    target = next(iter(call.targets), None)
    if target is None or call.reads_only:
        return
    if _replaces_rows(call):
        present = (records.get(target) or {}).get(next(iter(call.spec.replaces)))
        yield RowWrite(owner=target, write=ListWrite(call=call), present=present if isinstance(present, list) else None)
    elif _is_single(call) and (row := planned.get(target)) is not None and (owner := find_owner(call, row)) is not None:
        yield RowWrite(owner=owner, write=ListWrite(call=call, row=row))


def to_records(image: BeforeImage) -> dict[Target, JsonObject | None]:
    pairs = ((place.rpartition(":"), record) for place, record in image.items())
    return {(kind, int(number)): record for (kind, _, number), record in pairs if number.isdecimal()}


def plan_rows(call: Call, records: Records, earlier: Sequence[RowWrite]) -> Records:
    """`records` with the rows and sums that `call`, no batch, will find when the calls of `earlier` have run."""
    target = next(iter(call.targets), None)
    record = records.get(target) if target is not None else None
    if not earlier or target is None or record is None or not writes_rows(call):
        return records
    owner = target if _replaces_rows(call) else find_owner(call, record)
    writes = [one for one in earlier if one.owner == owner]
    if not writes:
        return records
    return {**records, target: _plan_list(call, record, writes) if owner == target else _plan_row(target, record, writes)}


def _plan_list(call: Call, record: JsonObject, writes: Sequence[RowWrite]) -> JsonObject:
    name = next(iter(call.spec.replaces))
    rows = apply_writes([one.write for one in writes], record.get(name))
    total = replaced_lists.sum_rows(rows) if rows is not None else None
    summed = replaced_lists.sets_sum(record) and "OPPORTUNITY" in record
    left = {key: value for key, value in record.items() if key != name}
    return {**left, **({} if rows is None else {name: list(rows)}), **({"OPPORTUNITY": _write_sum(total)} if summed else {})}


def _plan_row(target: Target, record: JsonObject, writes: Sequence[RowWrite]) -> JsonObject | None:
    lists = [one.write for one in writes]
    changed: JsonObject | None = record
    for write in lists:
        if changed is not None and write.row is not None and write.call.targets[:1] == (target,):
            changed = {**changed, **write.new_row} if write.call.spec.verb == "update" else None
    present = next((one.present for one in writes if one.present is not None), None)
    rows = apply_writes(lists, present)
    total = replaced_lists.sum_rows(rows) if rows is not None else add_to_sum(lists, record.get(OWNER_SUM))
    return {**changed, OWNER_SUM: _write_sum(total)} if changed is not None and OWNER_SUM in changed else changed


def _write_sum(total: Decimal | None) -> str | None:
    return None if total is None else f"{total:f}"


def _replaces_rows(call: Call) -> bool:
    name_and_kind = find_list(call)
    return name_and_kind is not None and name_and_kind[1] == "products"


def _is_single(call: Call) -> bool:
    return call.targets[:1] != () and call.targets[0][0] == PRODUCT_ROW and call.spec.verb in {"update", "delete"}


def find_owner(call: Call, row: JsonObject) -> Target | None:
    """The record to which the changed product row belongs."""
    return find_row_owner(call.targets[0], row, call.lookup.catalogue) if call.lookup is not None else None
