"""«↩ Отменить»: checks the records and proposes the undo to the gate.

If the person may no longer see a record, the leads who may are asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect, Outcome, Pending, Provenance
from orchestrator.domain.inputs import UNDO, FeatureClick
from orchestrator.domain.outputs import Action, Notice, build_reply
from orchestrator.features.undo.rules import Conflict, Records, RestoreCall, plan_restore
from orchestrator.gate.call.critical_fields import to_field_code
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.ports import Ledger, Names
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.gate.call.serialization import build_doubt_args
from orchestrator.gate.decide.fetch_facts import load_lists
from orchestrator.gate.decide.part_owners import OF_PARTS, is_maker, load_wholes
from orchestrator.gate.preview.field_words import format_field_value, name_field
from orchestrator.gate.preview.format_values import Reader, shorten_value
from orchestrator.gate.undo import undo_policy
from orchestrator.gate.undo.undo_conflict import build_last_editor_args, find_last_editor
from orchestrator.gate.undo.undo_policy import UndoPart
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import format_iso
from state.journal.store import EffectRow, InboxRow, OutboxRow

_ATTEMPTS: Final = 20
"""After a declined or expired card another attempt is allowed."""
_ON_REQUEST: Final = "asked"
"""A lead's button: ("undo", effect id, "asked")."""
_GIVEN_UP: Final = frozenset({"denied", "expired", "superseded", "refused"})


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """The card's id is "" for none."""

    notice: Notice
    card: str = ""
    requests: Sequence[OutboxRow] = ()
    undone_by: str = ""


async def propose_undo(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    words = FeatureClick.model_validate(row.body).words
    effect_id = words[1] if len(words) > 1 else ""
    if effect_id in session.state.cards:  # the button of a run's card names the card, because its data has no room for the effect
        effect_id = session.state.cards[effect_id].effect_id
    is_requested = words[2:] == (_ON_REQUEST,) and session.key == actor.key and actor.role in undo_policy.LEADING
    await propose_undos([effect_id], actor, row, session, tools, is_requested=is_requested)


async def propose_undos(
    effect_ids: Sequence[str], actor: Actor, row: InboxRow, session: Session, tools: Tools, *, is_requested: bool = False
) -> None:
    """Raises StoreError."""
    rows: list[OutboxRow] = []
    for effect_id in effect_ids:
        answer = await _undo(effect_id, actor, row, is_requested=is_requested, session=session, tools=tools)
        rows += _build_answer_rows(answer, actor, row, session)
        rows += _build_card_rows(answer, effect_id, session, tools.gate.deps)
        rows += answer.requests
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])


async def _undo(effect_id: str, actor: Actor, row: InboxRow, *, is_requested: bool, session: Session, tools: Tools) -> _Answer:
    """`is_requested`: by a lead who was asked, so the call is of another session."""
    deps = tools.gate.deps
    effect = await session.find_effect(effect_id)
    if effect is None or (effect.stream != session.stream and not is_requested):
        return _Answer(notice=Notice(code="undo-elsewhere"))
    if not _is_entitled(effect, actor):
        return _Answer(notice=Notice(code="undo-not-yours", args={"who": _find_name(str(effect.call["requested_by"]), tools)}))
    slot = await _find_free_slot(effect_id, session, tools)
    if isinstance(slot, _Answer):
        return slot
    notice = _find_parts(effect, session, deps)
    if isinstance(notice, Notice):
        return _Answer(notice=await _name_field(notice, effect, actor, deps))
    try:
        records = await deps.records.load_records([part.target for part in notice])
        foreign = await _find_foreign_record(notice, records, actor, deps, session)
        if foreign is not None:
            is_own = actor.key in {effect.call.get("requested_by"), effect.call.get("approved_by")}
            return _ask_leads(effect, notice, records, actor, session, deps) if is_own else foreign
        for part in notice:
            records = await load_lists(part.call, records, deps.records, deps.catalogue)
        plan = await _plan_undo(notice, records, actor, deps)
    except BitrixError as error:
        return _Answer(notice=build_read_refusal(error).reason)
    if isinstance(plan, Notice):
        return _Answer(notice=plan)
    targets = frozenset(f"{kind}:{number}" for kind, number in plan.targets)
    effect_back = Effect(
        method=plan.method,
        params=plan.params,
        proposed_by=UNDO,
        provenance=Provenance(message=None, targets=targets),  # the person clicked the button of this very call
        requires_confirmation=True,
        slot=slot,
    )
    mode = resolve_mode(tools.mode, actor)
    return _to_answer(await tools.gate.submit(effect_back, actor=actor, mode=mode, turn_id=row.id, ledger=session))


def _to_answer(result: Outcome | Pending) -> _Answer:
    if isinstance(result, Pending):
        return _Answer(notice=Notice(code="undo-shown"), card=result.confirmation_id)
    if result.status == "planned":
        return _Answer(notice=Notice(code="shadow-now"))
    return _Answer(notice=result.reason or Notice(code="undo-none"))


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
) -> _Answer | None:
    """Names no values. May raise BitrixError."""
    for part in parts:
        record = records.get(part.target)
        if record is None or await _may_touch(part, record, actor, deps):
            continue
        if not await is_maker(part.target, record, actor, deps, session):
            return _Answer(notice=Notice(code="gate-not-yours", args={"entity": part.target[0], "id": part.target[1]}))
    return None


async def _may_touch(part: UndoPart, record: Mapping[str, object], actor: Actor, deps: GateDeps) -> bool:
    """A comment or product row is of its record."""
    is_new = part.call.spec.verb == "add"
    if (part.undo if is_new else part.call.spec).owner not in OF_PARTS or find_visible_users(actor) is None:
        return may_touch(actor, part.call.entities.get(part.call.entity), record)
    changes = undo_policy.build_deletion(part, deps.catalogue) if is_new else part.call
    wholes = await load_wholes(changes, {part.target: record}, actor, deps)
    return part.target in wholes and wholes[part.target].is_visible


def _ask_leads(effect: EffectRow, parts: Sequence[UndoPart], records: Records, actor: Actor, session: Session, deps: GateDeps) -> _Answer:
    """Leads with a right to all records."""
    leads = undo_policy.find_restoring_leads(parts, records, actor, deps.approvers)
    if not leads:
        return _Answer(notice=Notice(code="undo-no-lead"))
    notice = Notice(code="undo-request", args={**build_doubt_args(effect.effect_id, effect.call), "who": actor.name})
    button = Action(words=(UNDO, effect.effect_id, _ON_REQUEST), label=Notice(code="button-undo-return"))
    reply = build_reply(notice).model_copy(update={"actions": (button,)})
    key = f"undo-request:{effect.effect_id}"
    rows = [outbox.build_reply_row(lead.key, reply, session.now, key=key) for lead in leads]
    return _Answer(notice=Notice(code="undo-asked", args={"who": ", ".join(lead.name for lead in leads)}), requests=rows)


async def _plan_undo(parts: tuple[UndoPart, ...], records: Records, actor: Actor, deps: GateDeps) -> RestoreCall | Notice:
    """May raise BitrixError."""
    plan = plan_restore(parts, records, deps.catalogue)
    return await describe_conflict(plan, records, actor, deps.names) if isinstance(plan, Conflict) else plan


async def _find_free_slot(effect_id: str, ledger: Ledger, tools: Tools) -> str | _Answer:
    """None while an undo waits, runs, is done or unknown."""
    for attempt in range(1, _ATTEMPTS + 1):
        slot = undo_policy.build_undo_slot(effect_id, attempt)
        last = await _find_latest(undo_policy.build_undo_effect_id(effect_id, attempt), ledger)
        if last is None:
            return slot
        if last.status not in _GIVEN_UP:
            return _explain_taken(last, tools)
    return _Answer(notice=Notice(code="undo-too-often"))


async def _find_latest(effect_id: str, ledger: Ledger) -> EffectRow | None:
    """Follows replacements of a waiting effect whose records changed."""
    row = await ledger.find_effect(effect_id)
    while row is not None and row.status == "superseded":
        further = await ledger.find_effect(undo_policy.build_replacement_id(row.effect_id))
        if further is None:
            return row
        row = further
    return row


def _explain_taken(row: EffectRow, tools: Tools) -> _Answer:
    match row.status:
        case "succeeded":
            by = _find_name(str(row.call.get("approved_by") or ""), tools)
            return _Answer(notice=Notice(code="undo-done", args={"at": format_iso(row.updated_at)}), undone_by=by)
        case "requested":
            return _Answer(notice=Notice(code="undo-open"), card=str(row.call.get("confirmation_id") or ""))
        case "approved" | "started":
            return _Answer(notice=Notice(code="undo-running"))
        case _:
            return _Answer(notice=Notice(code="undo-unknown"))


def _is_entitled(effect: EffectRow, actor: Actor) -> bool:
    return actor.key in {effect.call.get("requested_by"), effect.call.get("approved_by")} or actor.role in undo_policy.LEADING


def _find_name(key: str, tools: Tools) -> str:
    known = tools.refresh_actor(Actor(key=key, name=key))
    return known.name if known else key


def _build_answer_rows(answer: _Answer, actor: Actor, row: InboxRow, session: Session) -> list[OutboxRow]:
    """Only a toast for a card, or in a group."""
    toasts = build_click_toasts(row, session, answer.notice)
    if answer.card or (toasts and (answer.requests or actor.key != session.key)):
        return toasts
    refused = build_click_toasts(row, session, Notice(code="undo-refused"))
    return [*refused, outbox.build_reply_row(session.key, build_reply(answer.notice), session.now)]


def _build_card_rows(answer: _Answer, effect_id: str, session: Session, deps: GateDeps) -> list[OutboxRow]:
    """The original card loses its button when the undo is done or late."""
    entries = session.state.cards
    rows = [outbox.build_card_row(session.key, entries[answer.card], session.now)] if answer.card in entries else []
    if answer.notice.code not in {"undo-late", "undo-done"}:
        return rows
    old = next((entry for entry in entries.values() if entry.effect_id == effect_id and entry.status == "executed"), None)
    if old is not None:
        body = undo_policy.add_undo_status(old, entries, now=session.now, deps=deps)
        if answer.undone_by and not body.undone_at:  # the undo ran in the chat of a lead
            body = old.with_values(undone_at=str(answer.notice.args["at"]), undone_by=answer.undone_by)
        rows.append(outbox.build_card_row(session.key, body, session.now))
    return rows


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
