"""Proposes to the gate what takes changes back, whether asked by the button, by words right after a change, or in a turn.

If the person may no longer see a record, the leads who may are asked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.bulk import BULK, UNDO_ALL
from orchestrator.domain.effect import Effect, Outcome, Pending, Provenance
from orchestrator.domain.inputs import UNDO
from orchestrator.domain.outputs import Action, Notice, build_reply
from orchestrator.features.undo.drafts import Draft, Drafts
from orchestrator.features.undo.rules import Conflict, Records
from orchestrator.gate.call.critical_fields import to_field_code
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.ports import Ledger, Names
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.gate.call.serialization import build_doubt_args
from orchestrator.gate.decide.fetch_facts import load_lists
from orchestrator.gate.decide.part_owners import OF_PARTS, is_maker, load_wholes
from orchestrator.gate.gate import Gate
from orchestrator.gate.preview.field_words import format_field_value, name_field
from orchestrator.gate.preview.format_values import Reader, shorten_value
from orchestrator.gate.undo import undo_policy
from orchestrator.gate.undo.undo_conflict import build_last_editor_args, find_last_editor
from orchestrator.gate.undo.undo_policy import UndoPart
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from state.clock import format_iso
from state.journal.store import EffectRow, OutboxRow

_ATTEMPTS: Final = 20
"""After a declined or expired card another attempt is allowed."""
ON_REQUEST: Final = "asked"
"""A lead's button: ("undo", effect id, "asked")."""
_GIVEN_UP: Final = frozenset({"denied", "expired", "superseded", "refused"})


@dataclass(frozen=True, kw_only=True)
class UndoWish:
    """By whom and where it is asked. `provenance` is None where the person pressed the button of this very call."""

    actor: Actor
    session: Session
    turn_id: str
    mode: Mode
    may_be_elsewhere: bool = False
    """The call may be of another session."""
    provenance: Provenance | None = None


@dataclass(frozen=True, kw_only=True)
class UndoAnswer:
    """What became of the wish for one change; the card's id is "" for none."""

    effect_id: str
    notice: Notice
    card: str = ""
    requests: Sequence[OutboxRow] = ()
    undone_by: str = ""


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    effect: EffectRow
    slot: str
    parts: tuple[UndoPart, ...]


class UndoProposals:
    def __init__(self, gate: Gate, present: Callable[[Actor], Actor | None]) -> None:
        """`present` gives a person with their present name."""
        self._gate = gate
        self._deps = gate.deps
        self._present = present

    async def propose(self, effect_ids: Sequence[str], wish: UndoWish) -> list[UndoAnswer]:
        """One answer for each change; `effect_ids` has the newest first. Raises StoreError."""
        checked = [await self._check(effect_id, wish) for effect_id in effect_ids]
        drafts = Drafts(self._deps.catalogue)
        answers = [one for one in checked if isinstance(one, UndoAnswer)]
        candidates = [one for one in checked if isinstance(one, _Candidate)]
        try:
            records = await self._deps.records.load_records([part.target for one in candidates for part in one.parts]) if candidates else {}
        except BitrixError as error:
            refused = build_read_refusal(error).reason
            return [*answers, *(UndoAnswer(effect_id=one.effect.effect_id, notice=refused) for one in candidates)]
        for candidate in candidates:
            answer = await self._draft(candidate, records, drafts, wish)
            answers += [answer] if answer is not None else []
        for draft in drafts.drafts:
            answers += await self._submit(draft, wish)
        order = {effect_id: place for place, effect_id in enumerate(effect_ids)}
        return sorted(answers, key=lambda answer: order[answer.effect_id])

    async def propose_bulk(self, effect_id: str, run: str, wish: UndoWish, *, record: str = "") -> UndoAnswer:
        """All that a change of many records has done, as its own button does, or of one record alone. Raises StoreError."""
        effect = Effect(
            kind=BULK,
            method=UNDO_ALL,
            params={"run": run, **({"record": record} if record else {})},
            proposed_by=UNDO,
            provenance=wish.provenance or Provenance(message=None),
            requires_confirmation=True,
            slot=f"{undo_policy.SLOT}{BULK}:{run}:{record}:{wish.turn_id}",
        )
        result = await self._gate.submit(effect, actor=wish.actor, mode=wish.mode, turn_id=wish.turn_id, ledger=wish.session)
        return _to_answer(effect_id, result)

    async def _check(self, effect_id: str, wish: UndoWish) -> _Candidate | UndoAnswer:
        """What can be said before the portal is read."""
        effect = await wish.session.find_effect(effect_id)
        if effect is None or (effect.stream != wish.session.stream and not wish.may_be_elsewhere):
            return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-elsewhere"))
        if not _is_entitled(effect, wish.actor):
            whose = self._find_name(str(effect.call["requested_by"]))
            return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-not-yours", args={"who": whose}))
        slot = await self._find_free_slot(effect_id, wish.session)
        if isinstance(slot, UndoAnswer):
            return slot
        parts = _find_parts(effect, wish.session, self._deps)
        if isinstance(parts, Notice):
            return UndoAnswer(effect_id=effect_id, notice=await _name_field(parts, effect, wish.actor, self._deps))
        return _Candidate(effect=effect, slot=slot, parts=parts)

    async def _draft(self, candidate: _Candidate, records: Records, drafts: Drafts, wish: UndoWish) -> UndoAnswer | None:
        """None if it is drafted."""
        effect_id, parts, deps = candidate.effect.effect_id, candidate.parts, self._deps
        try:
            foreign = await _find_foreign_record(parts, records, wish.actor, deps, wish.session)
            if foreign is not None:
                is_own = wish.actor.key in {candidate.effect.call.get("requested_by"), candidate.effect.call.get("approved_by")}
                refused = UndoAnswer(effect_id=effect_id, notice=foreign)
                return _ask_leads(candidate.effect, parts, records, wish, deps) if is_own else refused
            for part in parts:
                records = await load_lists(part.call, records, deps.records, deps.catalogue)
            against = drafts.add(effect_id, candidate.slot, parts, records)
            notice = await describe_conflict(against, records, wish.actor, deps.names) if isinstance(against, Conflict) else against
        except BitrixError as error:
            notice = build_read_refusal(error).reason
        return UndoAnswer(effect_id=effect_id, notice=notice) if notice is not None else None

    async def _find_free_slot(self, effect_id: str, ledger: Ledger) -> str | UndoAnswer:
        """Why there is none: an undo waits, runs, is done or unknown."""
        for attempt in range(1, _ATTEMPTS + 1):
            slot = undo_policy.build_undo_slot(effect_id, attempt)
            last = await _find_latest(undo_policy.build_undo_effect_id(effect_id, attempt), ledger)
            if last is None:
                return slot
            if last.status not in _GIVEN_UP:
                return self._explain_taken(effect_id, last)
        return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-too-often"))

    def _explain_taken(self, effect_id: str, row: EffectRow) -> UndoAnswer:
        match row.status:
            case "succeeded":
                notice = Notice(code="undo-done", args={"at": format_iso(row.updated_at)})
                return UndoAnswer(effect_id=effect_id, notice=notice, undone_by=self._find_name(str(row.call.get("approved_by") or "")))
            case "requested":
                return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-open"), card=str(row.call.get("confirmation_id") or ""))
            case "approved" | "started":
                return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-running"))
            case _:
                return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-unknown"))

    def _find_name(self, key: str) -> str:
        known = self._present(Actor(key=key, name=key))
        return known.name if known else key

    async def _submit(self, draft: Draft, wish: UndoWish) -> list[UndoAnswer]:
        targets = frozenset(f"{kind}:{number}" for kind, number in draft.plan.targets)
        provenance = wish.provenance or Provenance(message=None)
        known = provenance.targets if provenance.prose else provenance.targets | targets  # these are the person's own changes
        effect = Effect(
            method=draft.plan.method,
            params=draft.plan.params,
            proposed_by=UNDO,
            provenance=provenance.model_copy(update={"targets": known}),
            requires_confirmation=True,
            slot=draft.slot,
        )
        result = await self._gate.submit(effect, actor=wish.actor, mode=wish.mode, turn_id=wish.turn_id, ledger=wish.session)
        return [_to_answer(effect_id, result) for effect_id in draft.effect_ids]


def _to_answer(effect_id: str, result: Outcome | Pending) -> UndoAnswer:
    if isinstance(result, Pending):
        return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-shown"), card=result.confirmation_id)
    if result.status == "planned":
        return UndoAnswer(effect_id=effect_id, notice=Notice(code="shadow-now"))
    return UndoAnswer(effect_id=effect_id, notice=result.reason or Notice(code="undo-none"))


def _find_parts(effect: EffectRow, session: Session, deps: GateDeps) -> tuple[UndoPart, ...] | Notice:
    """A message if no undo is possible at all."""
    done = undo_policy.find_completed(effect)
    if done is None:
        return Notice(code="undo-not-done")
    parts = undo_policy.build_undo_parts(done, policy=deps.policy, catalogue=deps.catalogue)
    if isinstance(parts, Notice):
        return parts
    end = undo_policy.calculate_deadline(done, deps.policy)
    if session.now >= end:
        return Notice(code="undo-late", args={"at": format_iso(end)})
    return parts if all(part.target[1] for part in parts) else Notice(code="undo-none")


async def _name_field(notice: Notice, effect: EffectRow, actor: Actor, deps: GateDeps) -> Notice:
    """With the title of the field that cannot be put back; its code, if the portal does not tell."""
    done, name = undo_policy.find_completed(effect), str(notice.args.get("field") or "")
    leaves = undo_policy.list_leaves(done, deps.catalogue) if done is not None and name else ()
    leaf = next((leaf for leaf in leaves if name in {to_field_code(leaf, written) for written in leaf.written_fields}), None)
    if leaf is None:
        return notice
    try:
        title = await name_field(leaf, name, _build_reader(actor, deps.names))
    except BitrixError:
        return notice
    return notice.model_copy(update={"args": {**notice.args, "field": title}})


def _build_reader(actor: Actor, names: Names) -> Reader:
    return Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)


async def _find_foreign_record(
    parts: Sequence[UndoPart], records: Records, actor: Actor, deps: GateDeps, session: Session
) -> Notice | None:
    """Names no values. May raise BitrixError."""
    for part in parts:
        record = records.get(part.target)
        if record is None or await _may_touch(part, record, actor, deps):
            continue
        if not await is_maker(part.target, record, actor, deps, session):
            return Notice(code="gate-not-yours", args={"entity": part.target[0], "id": part.target[1]})
    return None


async def _may_touch(part: UndoPart, record: Mapping[str, object], actor: Actor, deps: GateDeps) -> bool:
    """A comment or product row is of its record."""
    is_new = part.call.spec.verb == "add"
    if (part.undo if is_new else part.call.spec).owner not in OF_PARTS or find_visible_users(actor) is None:
        return may_touch(actor, part.call.entities.get(part.call.entity), record)
    changes = undo_policy.build_deletion(part, deps.catalogue) if is_new else part.call
    wholes = await load_wholes(changes, {part.target: record}, actor, deps)
    return part.target in wholes and wholes[part.target].is_visible


def _ask_leads(effect: EffectRow, parts: Sequence[UndoPart], records: Records, wish: UndoWish, deps: GateDeps) -> UndoAnswer:
    """Leads with a right to all records."""
    effect_id = effect.effect_id
    leads = undo_policy.find_restoring_leads(parts, records, wish.actor, deps.approvers)
    if not leads:
        return UndoAnswer(effect_id=effect_id, notice=Notice(code="undo-no-lead"))
    notice = Notice(code="undo-request", args={**build_doubt_args(effect_id, effect.call), "who": wish.actor.name})
    button = Action(words=(UNDO, effect_id, ON_REQUEST), label=Notice(code="button-undo-return"))
    reply = build_reply(notice).model_copy(update={"actions": (button,)})
    rows = [outbox.build_reply_row(lead.key, reply, wish.session.now, key=f"undo-request:{effect_id}") for lead in leads]
    asked = Notice(code="undo-asked", args={"who": ", ".join(lead.name for lead in leads)})
    return UndoAnswer(effect_id=effect_id, notice=asked, requests=rows)


async def _find_latest(effect_id: str, ledger: Ledger) -> EffectRow | None:
    """Follows replacements of a waiting effect whose records changed."""
    row = await ledger.find_effect(effect_id)
    while row is not None and row.status == "superseded":
        further = await ledger.find_effect(undo_policy.build_replacement_id(row.effect_id))
        if further is None:
            return row
        row = further
    return row


def _is_entitled(effect: EffectRow, actor: Actor) -> bool:
    return actor.key in {effect.call.get("requested_by"), effect.call.get("approved_by")} or actor.role in undo_policy.LEADING


async def describe_conflict(conflict: Conflict, records: Records, actor: Actor, names: Names) -> Notice:
    first = conflict.fields[0]
    record = records.get(first.part.target) or {}
    reader = _build_reader(actor, names)
    args = {
        "field": await name_field(first.part.call, first.name, reader),
        "now": shorten_value(await format_field_value(first.part.call, first.name, first.now, record, reader), actor.locale),
        "more": len(conflict.fields) - 1,
        "others": ", ".join([await name_field(field.part.call, field.name, reader) for field in conflict.fields[1:]]),
        **build_last_editor_args(await find_last_editor(record, names)),
        "id": first.part.target[1],
    }
    return Notice(code="undo-changed", args=args)
