"""Which calls that were made can be taken back, and until when. Ring 2; it looks at no record and proposes nothing.

Taken back is only what leads to exactly what stood there before: fields of records with a whole before-image, states of tasks, and new
records where the policy opens their deletion. What the portal then did by itself (robots, notices) stays.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from bitrix.batch import BatchError, parse_commands
from bitrix.catalogue import Catalogue, Method
from orchestrator.gate import fields, targets
from orchestrator.gate.criticals import code_of, written_fields
from orchestrator.gate.effects import Call, Target
from orchestrator.gate.multifields import is_named
from orchestrator.gate.policy import Policy
from orchestrator.gate.ports import Ledger
from orchestrator.gate.settle import steps_of
from orchestrator.gate.stored_call import effect_id_of
from orchestrator.messages import Notice, Outcome
from state.clock import iso, parse_iso
from state.store import EffectRow

SLOT: Final = "undo:"
_ONE_WAY: Final = {("lead", "statusid"): "CONVERTED"}
"""A state that the portal leads nobody out of again."""
STATES: Final = ("REAL_STATUS", "STATUS")


@dataclass(frozen=True, kw_only=True)
class Done:
    """A call that the portal carried out, as the journal keeps it."""

    effect_id: str
    method: str
    params: Mapping[str, Any]
    before: Mapping[str, Any]
    at: datetime
    slot: str = ""
    created: str = ""
    unchanged: tuple[str, ...] = ()
    """Fields that the portal left as they were."""
    commands: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, kw_only=True)
class Part:
    """One write of a call that can be taken back: the record it was about, and what of it stood there before ({} for a new one)."""

    call: Call
    target: Target
    old: Mapping[str, Any]
    undo: Method
    unchanged: frozenset[str] = field(default_factory=frozenset)


def done_of(found: EffectRow | Mapping[str, Any]) -> Done | None:
    """The call behind an effect or behind an entry of the state's confirmations; None for one that was not carried out."""
    if isinstance(found, EffectRow):
        return _of_row(found) if found.status == "succeeded" and found.call["call"].get("kind") == "bitrix" else None
    return _of_entry(found) if found.get("status") == "executed" and found.get("before") is not None else None


def offer(found: EffectRow | Mapping[str, Any], *, now: datetime, policy: Policy, catalogue: Catalogue) -> bool:
    """Whether a button that takes it back is worth showing. What the records hold by now is looked at when it is pressed. Never raises."""
    return bool(undo_until(found, now=now, policy=policy, catalogue=catalogue))


def undo_until(found: EffectRow | Mapping[str, Any], *, now: datetime, policy: Policy, catalogue: Catalogue) -> str:
    """Until when the button is shown, as stored text; "" where there is none to show."""
    done = done_of(found)
    if done is None or now >= ends(done, policy) or isinstance(parts_of(done, policy=policy, catalogue=catalogue), Notice):
        return ""
    return iso(ends(done, policy))


def ends(done: Done, policy: Policy) -> datetime:
    """When it is too late."""
    return done.at + policy.undo_for


def slot_of(effect_id: str, attempt: int = 1) -> str:
    """The place of the effect that takes another one back: the store keeps one effect a place, so nothing is taken back twice."""
    return f"{SLOT}{effect_id}" if attempt == 1 else f"{SLOT}{effect_id}/{attempt}"


def undoes(slot: str) -> str:
    """The effect that one in this place takes back, "" for any other place."""
    return slot.removeprefix(SLOT).partition("/")[0] if slot.startswith(SLOT) else ""


def undoing_id(effect_id: str, attempt: int = 1) -> str:
    """The id of the effect that takes this one back."""
    return effect_id_of(slot_of(effect_id, attempt))


def as_shown(
    entry: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]], *, now: datetime, policy: Policy, catalogue: Catalogue
) -> dict[str, Any]:
    """An entry of the state's confirmations as its card is to be drawn: with `undo_until`, or with `undone_at` and `undone_by`."""
    back = next(
        (one for one in entries.values() if one["status"] == "executed" and undoes(str(one.get("slot"))) == entry["effect_id"]), None
    )
    if back is not None:
        return {**entry, "undone_at": back.get("executed_at", ""), "undone_by": back.get("approved_by_name", "")}
    until = undo_until(entry, now=now, policy=policy, catalogue=catalogue)
    return {**entry, "undo_until": until} if until else dict(entry)


def original_of(entry: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The entry that this one takes back, whose card changes with it; None where it is no undo or its call had no card."""
    wanted = undoes(str(entry.get("slot") or ""))
    return next((one for one in entries.values() if wanted and one.get("effect_id") == wanted), None)


async def offered(results: Iterable[Any], ledger: Ledger, *, policy: Policy, catalogue: Catalogue) -> tuple[str, ...]:
    """Of what a turn has done without a card the effects that can be taken back: what its answer offers to undo. Raises StoreError."""
    done = [item for item in results if isinstance(item, Outcome) and item.status == "succeeded" and item.call_class not in {"", "R"}]
    rows = [row for item in done if (row := await ledger.effect(item.effect_id)) is not None]
    free = [row for row in rows if not row.call.get("confirmation_id")]
    return tuple(row.effect_id for row in free if offer(row, now=ledger.now, policy=policy, catalogue=catalogue))


def again_id(effect_id: str) -> str:
    """The id under which an approved call goes on when its record had changed while the card waited."""
    return effect_id_of(f"{effect_id}/again")


def parts_of(done: Done, *, policy: Policy, catalogue: Catalogue) -> tuple[Part, ...] | Notice:
    """Every write of the call with what it takes to undo it; the reason where the whole cannot be undone. Never raises."""
    if undoes(done.slot):
        return Notice(code="undo-of-undo")
    leaves = [leaf for leaf in _leaves(done, catalogue) if not leaf.reads_only]
    if not leaves:
        return Notice(code="undo-none")
    if any(report.get("status") != "success" for report in done.commands):
        return Notice(code="undo-partly")
    found: list[Part] = []
    for leaf in leaves:
        part = _part(leaf, done, policy=policy, catalogue=catalogue)
        if isinstance(part, Notice):
            return part
        found.append(part)
    if len({part.target for part in found}) < len(found):
        return Notice(code="undo-same-record")
    return tuple(found)


def _of_row(row: EffectRow) -> Done:
    outcome, stored = row.outcome or {}, row.call
    return Done(
        effect_id=row.effect_id,
        method=stored["call"]["method"],
        params=stored["call"].get("params") or {},
        before=stored.get("before") or {},
        at=row.updated_at,
        slot=stored.get("slot") or "",
        created=str(outcome.get("created") or ""),
        unchanged=tuple(outcome.get("unchanged") or ()),
        commands=tuple(outcome.get("commands") or ()),
    )


def _of_entry(entry: Mapping[str, Any]) -> Done:
    return Done(
        effect_id=entry["effect_id"],
        method=entry["method"],
        params=entry.get("params") or {},
        before=entry["before"],
        at=parse_iso(entry["executed_at"]),
        slot=entry.get("slot") or "",
        unchanged=tuple(entry.get("unchanged") or ()),
        commands=tuple(entry.get("commands") or ()),
    )


def _leaves(done: Done, catalogue: Catalogue) -> Iterator[Call]:
    """The commands of a batch, else the call itself, by today's catalogue; nothing of one that cannot be read any more."""
    if done.method != "batch":
        yield from _leaf("", done.method, done.params, catalogue)
        return
    try:
        commands = parse_commands(done.params.get("cmd"))
    except (BatchError, ValueError):
        return
    for command in commands:
        yield from _leaf(command.key, command.method, command.params, catalogue)


def _leaf(key: str, method: str, params: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Call]:
    spec = catalogue.find(method)
    if spec is None:
        return
    about = targets.entity_name(spec, params, catalogue)
    own = about if spec.entity == "item" else spec.entity
    aim = targets.find(spec, params, catalogue)
    entities = targets.definitions(own, about, catalogue=catalogue)
    yield Call(
        kind="bitrix",
        method=spec.name,
        params=params,
        spec=spec,
        classes=spec.classes,
        portal="",
        key=key,
        targets=aim.targets,
        entity=own,
        entities=entities,
    )


def _part(call: Call, done: Done, *, policy: Policy, catalogue: Catalogue) -> Part | Notice:
    undo = catalogue.find(call.spec.undo) if call.spec.undo else None
    if undo is None:
        return Notice(code="undo-none")
    if call.spec.verb == "add":
        return _of_add(call, undo, done, policy)
    own = call.targets[0] if call.targets and call.targets[0][0] == call.entity else None
    old = done.before.get(f"{own[0]}:{own[1]}") if own else None
    if own is None or not old:
        return Notice(code="undo-none")
    left = frozenset(name for text in done.unchanged for key, _, name in [text.rpartition(": ")] if key == call.key)
    part = Part(call=call, target=own, old=old, undo=undo, unchanged=left)
    if call.spec.leads_to:
        return part if state_of(old) else Notice(code="undo-no-before", args={"field": "STATUS"})
    if call.spec.verb != "update" or undo.verb != "update":
        return Notice(code="undo-none")
    wrong = next(_unrestorable(part), None)
    return part if wrong is None else wrong


def _of_add(call: Call, undo: Method, done: Done, policy: Policy) -> Part | Notice:
    """A new record, where the policy opens the deletion of such. The number is known of the effect only, not of its card."""
    family = call.method.rpartition(".")[0]
    if undo.verb != "delete" or undo.name.rpartition(".")[0] != family or call.key or call.targets:
        return Notice(code="undo-none")
    if "D" in undo.classes and not policy.names(policy.open_methods, undo.name):
        return Notice(code="undo-add-closed")
    kind, _, number = done.created.rpartition(":")
    return Part(call=call, target=(call.entity, int(number) if kind and number.isdecimal() else 0), old={}, undo=undo)


def _unrestorable(part: Part) -> Iterator[Notice]:
    """Why fields of an update cannot be written back as they were."""
    call, old = part.call, part.old
    written = written_fields(call)
    keys = {fields.squeeze(name, call.entity) for name in written}
    if "categoryid" in keys and not keys & {"stageid", "statusid"}:
        yield Notice(code="undo-funnel")
    steps = steps_of(call, old)
    for name, value in written.items():
        told = {"field": code_of(call, name)}
        known = call.spec.stands_for.get(name, name)
        if is_named(name):
            if name not in steps:
                yield Notice(code="undo-no-before", args=told)
            continue
        if not fields.has(old, known, call.entity):
            yield Notice(code="undo-no-before", args=told)
            continue
        was = fields.value_of(old, known, call.entity)
        if _ONE_WAY.get((call.entity, fields.squeeze(known, call.entity))) == value:
            yield Notice(code="undo-one-way", args=told)
        if not writable(was) and not _same(call, known, value, was):
            yield Notice(code="undo-not-writable", args=told)


def writable(value: Any) -> bool:
    """Whether the portal takes a value in the form in which it gives it: files are described, and an empty list clears nothing."""
    if isinstance(value, Mapping) or value in ([], ()):
        return False
    return not isinstance(value, list) or all(isinstance(item, str | int | float) for item in value)


def _same(call: Call, name: str, value: Any, was: Any) -> bool:
    found = fields.info(call.entities.get(call.entity), name)
    return fields.same(value, was, kind=found.kind if found else "text")


def state_of(record: Mapping[str, Any]) -> str:
    """The state of a task, "" where the record does not show it."""
    return next((str(found) for name in STATES if (found := fields.value_of(record, name)) not in (None, "")), "")
