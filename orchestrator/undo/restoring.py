"""What a call is taken back by, once the records were read: the one call that puts back what stood there, or why not. Ring 2, pure.

Every value that our call wrote must still stand there. A value that somebody else has put there since is never overwritten, and nothing
is taken back by halves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bitrix.batch import MAX_COMMANDS, BatchError, Command, build_cmd
from bitrix.catalogue import Catalogue, Method
from orchestrator.gate import fields, multifields
from orchestrator.gate.criticals import written_fields
from orchestrator.gate.effects import Target
from orchestrator.gate.multifields import Element, Step
from orchestrator.gate.settle import steps_of
from orchestrator.gate.undoing import Part, state_of
from orchestrator.messages import Notice

Record = Mapping[str, Any]
Records = Mapping[Target, Record | None]
_MEANT_WITH: Final = {"opportunity": "CURRENCY_ID", "stageid": "CATEGORY_ID"}
_STEPS: Final = 2
"""So many changes of state lead back at most: a completed task is renewed, and begun again."""


@dataclass(frozen=True, kw_only=True)
class Restoring:
    """The call to propose, and the records that it is about."""

    method: str
    params: Mapping[str, Any]
    targets: tuple[Target, ...]


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A field that does not hold any more what our call wrote."""

    part: Part
    name: str
    """As the record has it."""
    now: Any
    as_before: bool = False
    """It is what stood there before our call: somebody has put it back by hand."""


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Somebody changed these since: nothing is taken back."""

    fields: tuple[Changed, ...]


@dataclass(kw_only=True)
class _Back:
    """What came of one part."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)


def restoring(parts: Sequence[Part], records: Records, catalogue: Catalogue) -> Restoring | Conflict | Notice:
    """The call that takes all of `parts` back, the last one first; a Notice says in words why there is none. Never raises."""
    gone = next((part.target for part in parts if records.get(part.target) is None), None)
    if gone is not None:
        return Notice(code="undo-gone", args={"entity": gone[0].partition(":")[0], "id": gone[1]})
    found: list[_Back] = []
    for part in reversed(parts):
        back = _part(part, records[part.target] or {}, catalogue)
        if isinstance(back, Notice):
            return back
        found.append(back)
    changed = tuple(one for back in found for one in back.changed)
    calls = [call for back in found for call in back.calls]
    others = tuple(one for one in changed if not one.as_before)
    if others or (changed and calls):
        return Conflict(fields=others or changed)
    if not calls:
        return Notice(code="undo-already-so" if changed else "undo-nothing")
    targets = tuple(part.target for part in parts)
    if len(calls) == 1:
        return Restoring(method=calls[0][0], params=calls[0][1], targets=targets)
    return _batch(calls, targets, chained=len(parts) == 1)


def _batch(calls: Sequence[tuple[str, dict[str, Any]]], targets: tuple[Target, ...], *, chained: bool) -> Restoring | Notice:
    """Several calls as one card; those of one record depend on each other."""
    commands = [Command(f"u{number:02}", method, params) for number, (method, params) in enumerate(calls)]
    if len(commands) > MAX_COMMANDS:
        return Notice(code="undo-none")
    try:
        return Restoring(method="batch", params={"halt": int(chained), "cmd": build_cmd(commands)}, targets=targets)
    except BatchError:
        return Notice(code="undo-none")


def _part(part: Part, record: Record, catalogue: Catalogue) -> _Back | Notice:
    if part.call.spec.leads_to:
        return _of_state(part, record, catalogue)
    if part.call.spec.verb == "add":
        return _of_add(part, record)
    return _of_fields(part, record)


def _of_state(part: Part, record: Record, catalogue: Catalogue) -> _Back | Notice:
    now, was, spec = state_of(record), state_of(part.old), part.call.spec
    if now == was:
        return _Back(changed=[Changed(part=part, name="STATUS", now=now, as_before=True)])
    if now not in spec.leads_to:
        return _Back(changed=[Changed(part=part, name="STATUS", now=now)])
    way = _way(now, was, spec, catalogue)
    if way is None:
        return Notice(code="undo-none")
    return _Back(calls=[(method.name, {method.target[0]: part.target[1]}) for method in way])


def _way(now: str, was: str, spec: Method, catalogue: Catalogue) -> tuple[Method, ...] | None:
    """The shortest row of actions that leads from one state to the other, if there is one of few steps."""
    actions = [method for method in catalogue if method.leads_to and method.entity == spec.entity]
    ways: list[tuple[str, tuple[Method, ...]]] = [(now, ())]
    for _ in range(_STEPS):
        ways = [(one.leads_to[0], (*way, one)) for state, way in ways for one in actions if state in one.comes_from]
        found = next((way for state, way in ways if state == was), None)
        if found is not None:
            return found
    return None


def _of_add(part: Part, record: Record) -> _Back:
    """The new record goes again, as long as nobody has made something else of it."""
    back, call = _Back(), part.call
    for name, sent in written_fields(call).items():
        if name in part.unchanged or multifields.is_named(name) or not fields.has(record, name, call.entity):
            continue
        now = fields.value_of(record, name, call.entity)
        if not means(part, name, sent, now):
            back.changed.append(Changed(part=part, name=name, now=now))
    kind = {name: call.params[name] for name in ("entityTypeId",) if name in call.params}
    if not back.changed:
        back.calls.append((part.undo.name, {**kind, part.undo.target[0]: part.target[1]}))
    return back


def _of_fields(part: Part, record: Record) -> _Back:
    back, call = _Back(), part.call
    steps = steps_of(call, part.old)
    put: dict[str, Any] = {}
    for name, sent in written_fields(call).items():
        known = call.spec.stands_for.get(name, name)
        if name in steps:
            _of_phones(part, name, steps[name], record, put=put, back=back)
            continue
        was, now = fields.value_of(part.old, known, call.entity), fields.value_of(record, known, call.entity)
        if means(part, known, sent, was) or (name in part.unchanged and means(part, known, was, now)):
            continue
        if fields.has(record, known, call.entity) and means(part, known, sent, now):
            put[name] = "" if was is None else was
            continue
        back.changed.append(Changed(part=part, name=known, now=now, as_before=means(part, known, was, now)))
    back.changed.extend(_of_companions(part, record, put))
    if put:
        back.calls.append(_writing(part, put))
    return back


def _of_companions(part: Part, record: Record, put: Mapping[str, Any]) -> Iterator[Changed]:
    """A sum in another currency by now, a stage of another funnel: the old value would mean something else."""
    entity = part.call.entity
    written = {fields.squeeze(name, entity) for name in written_fields(part.call)}
    for name in put:
        other = _MEANT_WITH.get(fields.squeeze(name, entity), "")
        if (
            not other
            or fields.squeeze(other, entity) in written
            or not (fields.has(part.old, other, entity) and fields.has(record, other, entity))
        ):
            continue
        now = fields.value_of(record, other, entity)
        if not means(part, other, fields.value_of(part.old, other, entity), now):
            yield Changed(part=part, name=other, now=now)


def _of_phones(part: Part, name: str, steps: Sequence[Step], record: Record, *, put: dict[str, Any], back: _Back) -> None:
    """Phones and addresses element by element, each by its own ID as it is now."""
    kinds = {step.kind for step in steps}
    before = [one for one in multifields.elements(part.old) if one.kind in kinds]
    present = [one for one in multifields.elements(record) if one.kind in kinds]
    if not steps:
        return
    if _keys(present) != _keys(multifields.after(steps, before)):
        values, again = "; ".join(one.value for one in present), _keys(present) == _keys(before)
        back.changed.append(Changed(part=part, name=name, now=values, as_before=again))
        return
    inverse = [found for step in steps if (found := _inverse(step, present)) is not None]
    put[name] = multifields.to_send(inverse, in_items=part.call.method.startswith("crm.item."), new=False)


def _inverse(step: Step, present: Sequence[Element]) -> Step | None:
    if step.verb == "remove" and step.old is not None:
        return Step(verb="add", kind=step.kind, value=step.old.value, value_type=step.old.value_type)
    if step.verb == "edit" and step.old is not None:
        now = next((one for one in present if one.id == step.old.id), None)
        return Step(verb="edit", kind=step.kind, value=step.old.value, value_type=step.old.value_type, old=now) if now else None
    wanted = Element(id="", kind=step.kind, value=step.value).key
    now = next((one for one in present if one.key == wanted), None)
    return Step(verb="remove", kind=step.kind, old=now) if now else None


def _keys(elements: Sequence[Element]) -> Counter[tuple[str, str]]:
    return Counter(one.key for one in elements)


def _writing(part: Part, put: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The update that writes these back, by the same method where it undoes itself."""
    call, undo = part.call, part.undo
    if undo.name == call.spec.name:
        base = {name: value for name, value in call.params.items() if name != undo.fields_at and name not in put}
        kept = (
            {**base, undo.fields_at: dict(put)} if undo.fields_at else {name: put.get(name, value) for name, value in call.params.items()}
        )
        return undo.name, kept
    own = {call.spec.stands_for.get(name, name): value for name, value in put.items()}
    at = {undo.fields_at: own} if undo.fields_at else own
    return undo.name, {undo.target[0]: part.target[1], **at}


def means(part: Part, name: str, sent: Any, now: Any) -> bool:
    """Whether two values of a field say the same; doubt counts as a change, since what it hides would be overwritten."""
    info = fields.info(part.call.entities.get(part.call.entity), name)
    kind = info.kind if info else "text"
    if fields.same(sent, now, kind=kind):
        return True
    match kind:
        case "text" | "prose":
            return isinstance(sent, str) and isinstance(now, str) and sent.split() == now.split()
        case "date":
            return fields.same(sent, now, kind="datetime")
        case "datetime":
            known = _as_far_as_said(str(sent))
            return bool(known) and str(now).startswith(known)
        case _:
            return False


def _as_far_as_said(text: str) -> str:
    """A day, or a moment to the minute where it names no zone, which the portal reads in its own; "" for what is told exactly."""
    plain = text.strip().replace(" ", "T")
    day, _, clock = plain.partition("T")
    if len(day) != len("2026-12-01") or any(sign in clock for sign in "+-Z"):
        return ""
    return f"{day}T{clock[: len('10:00')]}" if clock else day
