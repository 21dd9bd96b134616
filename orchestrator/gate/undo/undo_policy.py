"""An undo must restore exactly the earlier state; what the portal did in reaction (robots, notifications) stays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.client.batch import BatchError, parse_commands, restore_keys
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import to_field_code
from orchestrator.gate.call.effect import BeforeImage, Call, Target
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.kept_files import KEY, RecordFiles, parse_files
from orchestrator.gate.call.lookup import Lookup
from orchestrator.gate.call.multifields import is_multifield
from orchestrator.gate.call.permissions import Approvers, apply_owners, may_touch
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import HANDS_AWAY
from orchestrator.gate.call.replaced_lists import find_list, find_list_change, is_restorable, sets_sum, sum_rows
from orchestrator.gate.call.serialization import StoredOrder, build_effect_id
from orchestrator.gate.call.targets import PRODUCT_ROW
from orchestrator.gate.normalize.merge_multifields import find_steps
from state.clock import format_iso, parse_iso
from state.journal.store import EffectRow
from state.model.card import Card
from state.stored import JsonObject

SLOT: Final = "undo:"
LEADING: Final = frozenset({"lead", "admin"})
"""They may undo the calls of others."""
_ONE_WAY: Final = {("lead", "statusid"): "CONVERTED"}
STATES: Final = ("REAL_STATUS", "STATUS")
_KIND: Final = {"entityTypeId"}


@dataclass(frozen=True, kw_only=True)
class CompletedCall:
    """A call that the portal carried out, as recorded in the journal."""

    effect_id: str
    method: str
    params: JsonObject
    before: BeforeImage
    at: datetime
    slot: str = ""
    created: str = ""
    unchanged: tuple[str, ...] = ()
    """By the portal."""
    files: JsonObject = field(default_factory=dict)
    """See `CallSucceeded.files`."""
    commands: Sequence[JsonObject] = ()


@dataclass(frozen=True, kw_only=True)
class UndoPart:
    """One write to undo. `old` are the record's earlier fields, {} for one that the call created; `undo` is the method."""

    call: Call
    target: Target
    old: JsonObject
    undo: Method
    unchanged: frozenset[str] = field(default_factory=frozenset)
    files: RecordFiles = field(default_factory=dict)
    is_consequence: bool = False
    """The portal did it because of the part behind it, and it is taken back only after that one."""


def find_completed(source: EffectRow | Card) -> CompletedCall | None:
    """None if the portal did not carry the call out."""
    if isinstance(source, EffectRow):
        return _from_row(source) if source.status == "succeeded" else None
    return _from_entry(source) if source.status == "executed" and source.has("before") else None


def is_undo_offered(source: EffectRow | Card, *, now: datetime, policy: Policy, catalogue: Catalogue) -> bool:
    """Never raises. The click later checks whether the records still have the written values."""
    return bool(find_undo_deadline(source, now=now, policy=policy, catalogue=catalogue))


def find_undo_deadline(source: EffectRow | Card, *, now: datetime, policy: Policy, catalogue: Catalogue) -> str:
    """ISO text in UTC; "" if no button is shown."""
    done = find_completed(source)
    if (
        done is None
        or now >= calculate_deadline(done, policy)
        or isinstance(build_undo_parts(done, policy=policy, catalogue=catalogue), Notice)
    ):
        return ""
    return format_iso(calculate_deadline(done, policy))


def calculate_deadline(done: CompletedCall, policy: Policy) -> datetime:
    return done.at + policy.undo_for


def build_undo_slot(effect_id: str, attempt: int = 1) -> str:
    """The store keeps one effect per slot, so nothing is undone twice."""
    return f"{SLOT}{effect_id}" if attempt == 1 else f"{SLOT}{effect_id}/{attempt}"


def parse_undo_slot(slot: str) -> str:
    """The id of the reversed effect; "" if the slot is not that of an undo."""
    return slot.removeprefix(SLOT).partition("/")[0] if slot.startswith(SLOT) else ""


async def find_reversed(slot: str, ledger: Ledger) -> CompletedCall | None:
    """The call that an undo of this slot reverses; None for another slot. Raises StoreError."""
    row = await ledger.find_effect(effect_id) if (effect_id := parse_undo_slot(slot)) else None
    return find_completed(row) if row is not None else None


def find_undone(done: CompletedCall | None) -> frozenset[Target]:
    """What the reversed call created."""
    kind, _, number = done.created.rpartition(":") if done is not None else ("", "", "")
    return frozenset([(kind, int(number))]) if kind and number.isdecimal() else frozenset()


def build_undo_effect_id(effect_id: str, attempt: int = 1) -> str:
    return build_effect_id(build_undo_slot(effect_id, attempt))


def add_undo_status(entry: Card, entries: Mapping[str, Card], *, now: datetime, deps: GateDeps) -> Card:
    """Adds `undo_until`, or after an undo `undone_at` and `undone_by`.

    If the call handed a record away, only a lead can undo it (`undo_by_lead`), or nobody.
    """
    policy, catalogue = deps.policy, deps.catalogue
    first = build_undo_slot(entry.effect_id)
    again, length = f"{first}/", len(first) + 1
    undone = [card for card in entries.values() if (card.slot == first or card.slot[:length] == again) and card.status == "executed"]
    back = undone[0] if undone and entry.effect_id else None
    if back is not None:
        return entry.with_values(undone_at=back.executed_at, undone_by=back.approved_by_name)
    until = find_undo_deadline(entry, now=now, policy=policy, catalogue=catalogue)
    if not until:
        return entry
    if not any(reason.get("code") == HANDS_AWAY for reason in entry.reasons):
        return entry.with_values(undo_until=until)
    parts = build_undo_parts(_from_entry(entry), policy=policy, catalogue=catalogue)
    requester = Actor(key=entry.requested_by, name=entry.requested_by_name, bitrix_user_id=entry.requested_by_user)
    after = {part.target: apply_owners(part.call, part.old) for part in parts if isinstance(part, UndoPart)}
    leads = find_restoring_leads([part for part in parts if isinstance(part, UndoPart)], after, requester, deps.approvers)
    return entry.with_values(undo_until=until, undo_by_lead=True) if leads else entry


def find_restoring_leads(
    parts: Sequence[UndoPart], records: Mapping[Target, JsonObject | None], requester: Actor, approvers: Approvers
) -> Sequence[Actor]:
    """Leads who may touch all present `records`.

    No deputies: they decide about requests of others, and an undo is one's own.
    """

    def may_touch_all(lead: Actor) -> bool:
        return all(may_touch(lead, part.call.entities.get(part.call.entity), records.get(part.target)) for part in parts)

    return [lead for lead in approvers.find_leads(requester, may_touch_all) if lead.role in LEADING and may_touch_all(lead)]


def find_original(entry: Card, entries: Mapping[str, Card]) -> Card | None:
    """The card of the call that the undo reverses; it is shown anew once the undo has run."""
    undo_slot = parse_undo_slot(str(entry.slot or ""))
    return next((card for card in entries.values() if undo_slot and card.effect_id == undo_slot), None)


async def find_undoable(results: Iterable[object], ledger: Ledger, *, policy: Policy, catalogue: Catalogue) -> tuple[str, ...]:
    """Calls that ran in a turn without a card and can be undone. Raises StoreError."""
    done = [item for item in results if isinstance(item, Outcome) and item.status == "succeeded" and item.call_class not in {"", "R"}]
    rows = [row for item in done if (row := await ledger.find_effect(item.effect_id)) is not None]
    free = [row for row in rows if not row.call.get("confirmation_id")]
    return tuple(row.effect_id for row in free if is_undo_offered(row, now=ledger.now, policy=policy, catalogue=catalogue))


def build_replacement_id(effect_id: str) -> str:
    """For the new card of an effect whose approved card was out of date."""
    return build_effect_id(f"{effect_id}/again")


def build_undo_parts(done: CompletedCall, *, policy: Policy, catalogue: Catalogue) -> tuple[UndoPart, ...] | Notice:
    """A call is undone as a whole or not at all, with the reason. Never raises."""
    if parse_undo_slot(done.slot):
        return Notice(code="undo-of-undo")
    leaves = [leaf for leaf in list_leaves(done, catalogue) if not leaf.reads_only]
    if not leaves:
        return Notice(code="undo-unsupported", args={"method": done.method})
    if any(report.get("status") != "success" for report in done.commands):
        return Notice(code="undo-partly")
    undo_parts: list[UndoPart] = []
    for leaf in leaves:
        part = _build_part(leaf, done, policy=policy, catalogue=catalogue)
        if isinstance(part, Notice):
            return part
        sum_part = _build_sum_part(leaf, done, catalogue) if part.undo.entity == PRODUCT_ROW and leaf.spec.changes_one else None
        if isinstance(sum_part, Notice):
            return sum_part
        undo_parts += [part] if sum_part is None else [sum_part, part]
    if len({part.target for part in undo_parts}) < len(undo_parts):
        return Notice(code="undo-same-record")
    return tuple(undo_parts)


def _from_row(row: EffectRow) -> CompletedCall | None:
    stored, outcome = StoredOrder.from_data(row.call), row.outcome or {}
    if stored.is_erased or stored.call.kind != "bitrix":
        return None
    return CompletedCall(
        effect_id=row.effect_id,
        method=stored.call.method,
        params=stored.call.params,
        before=stored.before,
        at=row.updated_at,
        slot=stored.slot,
        created=str(outcome.get("created") or ""),
        unchanged=tuple(outcome.get("unchanged") or ()),
        commands=tuple(outcome.get("commands") or ()),
        files=outcome.get(KEY) or {},
    )


def _from_entry(entry: Card) -> CompletedCall:
    return CompletedCall(
        effect_id=entry.effect_id,
        method=entry.method,
        params=entry.params or {},
        before=entry.before,
        at=parse_iso(entry.executed_at),
        slot=entry.slot or "",
        unchanged=tuple(entry.unchanged or ()),
        commands=tuple(entry.commands or ()),
        files=entry.files or {},
    )


def list_leaves(done: CompletedCall, catalogue: Catalogue) -> Iterator[Call]:
    if done.method != "batch":
        yield from _build_leaf("", done.method, done.params, catalogue)
        return
    try:
        commands = restore_keys(parse_commands(done.params.get("cmd")))
    except (BatchError, ValueError):
        return
    for command in commands:
        yield from _build_leaf(command.key, command.method, command.params, catalogue)


def _build_leaf(key: str, method: str, params: JsonObject, catalogue: Catalogue) -> Iterator[Call]:
    spec = catalogue.find(method)
    if spec is None:
        return
    yield Call.from_lookup(Lookup(spec=spec, params=params, catalogue=catalogue), portal="", key=key)


def _build_part(call: Call, done: CompletedCall, *, policy: Policy, catalogue: Catalogue) -> UndoPart | Notice:
    undo = catalogue.find(call.spec.undo) if call.spec.undo else None
    if undo is None:
        return Notice(code="undo-none")
    if call.spec.verb == "add":
        return _build_add_part(call, undo, done, policy)
    if call.spec.replaces:
        return _build_list_part(call, undo, done)
    own = call.targets[0] if call.targets and call.targets[0][0] == call.entity else None
    old = done.before.get(f"{own[0]}:{own[1]}") if own else None
    if own is None or not old:
        return Notice(code="undo-none")
    left = frozenset(name for text in done.unchanged for key, _, name in [text.rpartition(": ")] if key == call.key)
    files = parse_files(done.files, f"{own[0]}:{own[1]}")
    part = UndoPart(call=call, target=own, old=old, undo=undo, unchanged=left, files=files)
    if call.spec.leads_to:
        return part if find_task_state(old) else Notice(code="undo-no-before", args={"field": "STATUS"})
    if call.spec.verb != "update" or undo.verb != "update":
        return Notice(code="undo-none")
    wrong = next(_find_unrestorable(part), None)
    return part if wrong is None else wrong


def _build_add_part(call: Call, undo: Method, done: CompletedCall, policy: Policy) -> UndoPart | Notice:
    """The undo deletes the record, which needs no `open_methods`.

    If `done` comes from a card, the record's number is not known and is 0.
    """
    moves_money = "M" in undo.classes and undo.entity != PRODUCT_ROW
    if undo.verb != "delete" or undo.entity != call.entity or call.key or moves_money or not _is_addressed_alone(call, undo):
        return Notice(code="undo-none")
    if policy.is_listed(policy.refuse_methods, undo.name):
        return Notice(code="undo-add-closed")
    kind, _, number = done.created.rpartition(":")
    return UndoPart(call=call, target=(call.entity, int(number) if kind and number.isdecimal() else 0), old={}, undo=undo)


def _build_sum_part(call: Call, done: CompletedCall, catalogue: Catalogue) -> UndoPart | Notice | None:
    """None if the record's sum follows from its product rows, or stays. A sum without rows is written back, since the portal keeps it."""
    target = call.targets[0]
    old = done.before.get(f"{target[0]}:{target[1]}") or {}
    change, was = find_list_change(call, old), fields.parse_number(fields.find_value(old, "OPPORTUNITY"))
    if change is None or change.old is None:
        return Notice(code="undo-none")
    if not sets_sum(old) or was is None or was == sum_rows(change.old):
        return None
    update, total = catalogue.find(f"crm.{target[0]}.update"), sum_rows(change.new)
    if change.old or update is None or total is None:
        return Notice(code="undo-sum")
    params = {update.target[0]: target[1], update.fields_at: {"OPPORTUNITY": f"{total:f}"}}
    implied = Call.from_lookup(Lookup(spec=update, params=params, catalogue=catalogue), portal="", key="")
    return UndoPart(call=implied, target=target, old=old, undo=update, is_consequence=True)


def _is_addressed_alone(call: Call, undo: Method) -> bool:
    return len(undo.target) == 1 and set(undo.required) <= {*undo.target, *(_KIND & call.params.keys())}


def build_deletion(part: UndoPart, catalogue: Catalogue) -> Call:
    params = {part.undo.target[0]: part.target[1]}
    return Call.from_lookup(Lookup(spec=part.undo, params=params, catalogue=catalogue), portal="", key="")


def _build_list_part(call: Call, undo: Method, done: CompletedCall) -> UndoPart | Notice:
    name_and_kind = find_list(call)
    old = done.before.get(f"{call.targets[0][0]}:{call.targets[0][1]}") if call.targets else None
    if name_and_kind is None or not old or name_and_kind[0] not in undo.replaces or undo.changes_one:
        return Notice(code="undo-none")
    name, kind = name_and_kind
    present, args = old.get(name), {"field": to_field_code(call, name)}
    if not isinstance(present, list):
        return Notice(code="undo-no-before", args=args)
    if not is_restorable(present):
        return Notice(code="undo-not-writable", args=args)
    was = fields.parse_number(fields.find_value(old, "OPPORTUNITY"))
    if kind == "products" and sets_sum(old) and was is not None and was != sum_rows(present):
        return Notice(code="undo-sum")  # the portal would compute the sum from the rows, and it was another one
    return UndoPart(call=call, target=call.targets[0], old=old, undo=undo)


def _find_unrestorable(part: UndoPart) -> Iterator[Notice]:
    call, old = part.call, part.old
    new_values = call.written_fields
    keys = {fields.to_field_key(name, call.entity) for name in new_values}
    if "categoryid" in keys and not keys & {"stageid", "statusid"}:
        yield Notice(code="undo-funnel")
    steps = find_steps(call, old)
    for name, value in new_values.items():
        args = {"field": to_field_code(call, name)}
        known = call.spec.stands_for.get(name, name)
        if is_multifield(name):
            if name not in steps:
                yield Notice(code="undo-no-before", args=args)
            continue
        if not fields.has_field(old, known, call.entity):
            yield Notice(code="undo-no-before", args=args)
            continue
        was = fields.find_value(old, known, call.entity)
        if is_one_way(call, known, value):
            yield Notice(code="undo-one-way", args=args)
        is_file = isinstance(value, Mapping)  # the portal takes no empty value in its place
        if name not in part.files and (is_file or not is_writable(was)) and not _is_same(call, known, value, was):
            yield Notice(code="undo-not-writable", args=args)


def is_one_way(call: Call, name: str, value: object) -> bool:
    """The record can never leave the state that this value of the field stands for."""
    return _ONE_WAY.get((call.entity, fields.to_field_key(name, call.entity))) == value


def is_writable(value: object) -> bool:
    """In the form in which it returned it: no descriptions of files, and an empty list does not clear a field."""
    if isinstance(value, Mapping) or value in ([], ()):
        return False
    return not isinstance(value, list) or all(isinstance(item, str | int | float) for item in value)


def _is_same(call: Call, name: str, value: object, was: object) -> bool:
    info = fields.find_field_info(call.entities.get(call.entity), name)
    return fields.is_same_value(value, was, kind=info.kind if info else "text")


def find_task_state(record: JsonObject) -> str:
    """The portal's code; "" where the record does not contain it."""
    return next((str(state) for name in STATES if (state := fields.find_value(record, name)) not in (None, "")), "")
