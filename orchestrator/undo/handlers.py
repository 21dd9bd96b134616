"""The button «↩ Отменить»: a look at the records, then a card like any other through the gate. Ring 2.

It writes nothing itself. A press is worked in the session of the call, with the rights of the moment, and shows one card however often
it comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from bitrix.errors import BitrixError
from orchestrator import outgoing
from orchestrator.gate import undoing
from orchestrator.gate.means import Means
from orchestrator.gate.modes import effective
from orchestrator.gate.ports import Ledger
from orchestrator.gate.rights import may_touch
from orchestrator.gate.undoing import Part
from orchestrator.gate.unreadable import unreadable
from orchestrator.messages import Actor, Effect, Notice, Outcome, Pending, Provenance, say
from orchestrator.session import Session
from orchestrator.turns import Handlers, Tools, admitted
from orchestrator.undo.refusing import in_words
from orchestrator.undo.restoring import Conflict, Restoring, restoring
from state.clock import iso
from state.store import EffectRow, InboxRow, OutboxRow

PRESS: Final = "undo"
_ATTEMPTS: Final = 20
"""So often one may ask to undo a call and then decline the card."""
_GIVEN_UP: Final = frozenset({"denied", "expired", "superseded", "refused"})
_LEADING: Final = frozenset({"lead", "admin"})


def handlers() -> Handlers:
    """The press of ("undo", effect id)."""
    return Handlers(presses={PRESS: pressed})


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """What the person is told, and the card that they are shown."""

    notice: Notice
    card: str = ""


async def pressed(row: InboxRow, session: Session, tools: Tools) -> None:
    """Show a card that would take the call back, or say why there is none. Raises StoreError."""
    actor = await admitted(row, session, tools)
    if actor is None:
        return
    words: list[str] = list(row.body.get("words") or ())
    effect_id = words[1] if len(words) > 1 else ""
    answer = await _undo(effect_id, actor, row, session=session, tools=tools)
    rows = [*_told(answer, actor, row, session), *_shown(answer, effect_id, session, tools.gate.means)]
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])


async def _undo(effect_id: str, actor: Actor, row: InboxRow, *, session: Session, tools: Tools) -> _Answer:
    means = tools.gate.means
    effect = await session.effect(effect_id)
    if effect is None or effect.stream != session.stream:
        return _Answer(notice=Notice(code="undo-elsewhere"))
    if not _entitled(effect, actor):
        return _Answer(notice=Notice(code="undo-not-yours", args={"who": _name(str(effect.call["requested_by"]), tools)}))
    slot = await _free_slot(effect_id, session)
    if isinstance(slot, _Answer):
        return slot
    found = _reversible(effect, session, means)
    if isinstance(found, Notice):
        return _Answer(notice=found)
    try:
        plan = await _looked(found, actor, means)
    except BitrixError as error:
        return _Answer(notice=unreadable(error).reason)
    if isinstance(plan, Notice):
        return _Answer(notice=plan)
    named = frozenset(f"{kind}:{number}" for kind, number in plan.targets)
    effect_back = Effect(
        method=plan.method,
        params=plan.params,
        proposed_by=PRESS,
        provenance=Provenance(targets=named),  # the person pressed the button of this very call
        requires_confirmation=True,
        slot=slot,
    )
    mode = effective(tools.mode, actor)
    return _answer(await tools.gate.submit(effect_back, actor=actor, mode=mode, turn_id=row.id, ledger=session))


def _answer(result: Outcome | Pending) -> _Answer:
    if isinstance(result, Pending):
        return _Answer(notice=Notice(code="undo-shown"), card=result.confirmation_id)
    if result.status == "planned":
        return _Answer(notice=Notice(code="shadow-now"))
    return _Answer(notice=result.reason or Notice(code="undo-none"))


def _reversible(effect: EffectRow, session: Session, means: Means) -> tuple[Part, ...] | Notice:
    """The parts of the call, or why it cannot be taken back whatever the records hold."""
    done = undoing.done_of(effect)
    if done is None:
        return Notice(code="undo-not-done")
    parts = undoing.parts_of(done, policy=means.policy, catalogue=means.catalogue)
    if isinstance(parts, Notice):
        return parts
    end = undoing.ends(done, means.policy)
    if session.now >= end:
        return Notice(code="undo-late", args={"at": iso(end)})
    return parts if all(part.target[1] for part in parts) else Notice(code="undo-none")


async def _looked(parts: tuple[Part, ...], actor: Actor, means: Means) -> Restoring | Notice:
    """What would take it back, by the records as they are now; somebody who may not touch them learns nothing of them."""
    records = await means.records.records([part.target for part in parts])
    for part in parts:
        record = records.get(part.target)
        if record is not None and not may_touch(actor, part.call.entities.get(part.call.entity), record):
            return Notice(code="gate-not-yours", args={"entity": part.target[0], "id": part.target[1]})
    found = restoring(parts, records, means.catalogue)
    return await in_words(found, records, actor, means.names) if isinstance(found, Conflict) else found


async def _free_slot(effect_id: str, ledger: Ledger) -> str | _Answer:
    """The place for the effect that takes it back; an answer where one has been taken already. A card that was declined gives it free."""
    for attempt in range(1, _ATTEMPTS + 1):
        slot = undoing.slot_of(effect_id, attempt)
        last = await _latest(undoing.undoing_id(effect_id, attempt), ledger)
        if last is None:
            return slot
        if last.status not in _GIVEN_UP:
            return _taken(last)
    return _Answer(notice=Notice(code="undo-too-often"))


async def _latest(effect_id: str, ledger: Ledger) -> EffectRow | None:
    """The effect in a place as it stands: one that drifted while its card waited goes on under another id."""
    row = await ledger.effect(effect_id)
    while row is not None and row.status == "superseded":
        further = await ledger.effect(undoing.again_id(row.effect_id))
        if further is None:
            return row
        row = further
    return row


def _taken(row: EffectRow) -> _Answer:
    match row.status:
        case "succeeded":
            return _Answer(notice=Notice(code="undo-done", args={"at": iso(row.updated_at)}))
        case "requested":
            return _Answer(notice=Notice(code="undo-open"), card=str(row.call.get("confirmation_id") or ""))
        case "approved" | "started":
            return _Answer(notice=Notice(code="undo-running"))
        case _:
            return _Answer(notice=Notice(code="undo-unknown"))


def _entitled(effect: EffectRow, actor: Actor) -> bool:
    """Who asked for it, who approved it, or who leads; what they may see is looked at besides."""
    return actor.key in {effect.call.get("requested_by"), effect.call.get("approved_by")} or actor.role in _LEADING


def _name(key: str, tools: Tools) -> str:
    known = tools.present(Actor(key=key, name=key))
    return known.name if known else key


def _told(answer: _Answer, actor: Actor, row: InboxRow, session: Session) -> list[OutboxRow]:
    """The press is answered once. A refusal is also left to be read where nobody else reads along; others see none of it."""
    callback = str(row.body.get("callback_id") or "")
    alone = actor.key == session.key or not callback
    if answer.card or not alone:
        return [outgoing.toast_row(session.key, callback, answer.notice, session.now)] if callback else []
    rows = [outgoing.toast_row(session.key, callback, Notice(code="undo-refused"), session.now)] if callback else []
    return [*rows, outgoing.reply_row(session.key, say(answer.notice), session.now)]


def _shown(answer: _Answer, effect_id: str, session: Session, means: Means) -> list[OutboxRow]:
    """The card of the undo, and the card of the call without a button that does nothing any more."""
    entries = cast("Mapping[str, Mapping[str, Any]]", session.state["agent"]["confirmations"])
    rows = [outgoing.card_row(session.key, entries[answer.card], session.now)] if answer.card in entries else []
    if answer.notice.code not in {"undo-late", "undo-done"}:
        return rows
    old = next((entry for entry in entries.values() if entry["effect_id"] == effect_id and entry["status"] == "executed"), None)
    if old is not None:
        body = undoing.as_shown(old, entries, now=session.now, policy=means.policy, catalogue=means.catalogue)
        rows.append(outgoing.card_row(session.key, body, session.now))
    return rows
