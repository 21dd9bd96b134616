"""«Повторить»: submits a request again whose call certainly did not run; it gets a new card."""

from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import COMPUTED_CHANGED, Effect, EffectRecord, Outcome, Pending, Provenance
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.cards.field_input import strip_marks
from orchestrator.gate.approve.confirmations import describe_refuser
from orchestrator.gate.approve.plan_slots import find_origin_slot
from orchestrator.gate.approve.restored_calls import check_repeated_request, is_doubtful
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.undo import undo_policy
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor
from state.journal.store import InboxRow, OutboxRow
from state.model.card import Card
from state.stored import JsonObject

OUTDATED: Final = Notice(code="card-outdated")
_AGAIN: Final = "again:"
_FINAL_CODES: Final = frozenset(
    {"requester-gone", "no-access-any-more", "shadow-now", "card-outdated", "came-back-done", "came-back-unclear", COMPUTED_CHANGED}
)


def is_click(row: InboxRow) -> bool:
    """Telegram expects an answer, a toast."""
    return bool(row.body.get("callback_id"))


def read_word(row: InboxRow, number: int) -> str:
    """Counted from 0; "" if there are fewer."""
    words = row.body.get("words") or ()
    return str(words[number]) if len(words) > number else ""


def is_undo(entry: Card) -> bool:
    """Such a card cannot be edited."""
    return str(entry.slot or "").startswith("undo:")


def may_repeat(entry: Card) -> bool:
    """The call certainly did not run. An undo has its own button, which checks the records."""
    if is_undo(entry):
        return False
    if entry.status == "expired":
        return True
    code = str(entry.code or "")
    return entry.status == "refused" and not code.startswith("gate-") and code not in _FINAL_CODES


async def ask_again(row: InboxRow, session: Session, tools: Tools) -> None:
    """A second click shows the first one's card."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    entry = session.state.cards.get(read_word(row, 1))
    objection = _find_objection(entry, actor)
    if objection is not None or entry is None:
        outbox_rows = [build_current_card(entry, session, tools)] if entry and entry.is_known else []
        await session.commit(actor=actor.key, outbox=[build_toast(row, objection or OUTDATED, session), *outbox_rows], inbox_done=[row.id])
        return
    result = await submit_again(entry, strip_marks(entry.params), f"{_AGAIN}{entry.confirmation_id}", actor, session, tools)
    await session.commit(actor=actor.key, outbox=_build_answer_rows(result, row, session), inbox_done=[row.id])


async def submit_again(
    entry: Card, params: JsonObject, slot: str, actor: Actor, session: Session, tools: Tools, *, words: str = ""
) -> Outcome | Pending:
    """`slot` identifies the call within its turn; `words` are a new value, "" if none."""
    stored = await session.find_effect(entry.effect_id)
    ran = await check_repeated_request(stored, tools.gate.deps)
    if ran is not None:
        return Outcome(status="refused", effect_id=entry.effect_id, method=entry.method, reason=ran.reason, detail=ran.detail)
    record = EffectRecord.model_validate(stored.call) if stored is not None else EffectRecord()
    call = record.call
    if record.is_computed and slot.startswith(_AGAIN):  # nobody computes anew here, and the record may have changed since
        return Outcome(status="refused", effect_id=entry.effect_id, method=entry.method, reason=Notice(code=COMPUTED_CHANGED))
    if stored is not None and call is None:  # the person who had asked was erased, and with them what the call was
        return Outcome(status="refused", effect_id=entry.effect_id, method=entry.method, reason=OUTDATED, detail="the call is erased")
    provenance = Provenance.model_validate({"message": None, **(entry.provenance or {})})  # cards of earlier versions know nothing of it
    if words:
        provenance = provenance.model_copy(update={"person_text": f"{provenance.person_text}\n{words}".strip()})
    effect = Effect(
        kind=call.kind if call is not None else "bitrix",
        method=entry.method,
        params=params,
        comment=entry.comment,
        proposed_by=slot.partition(":")[0],
        provenance=provenance,
        requires_confirmation=True,
        is_computed=record.is_computed,
        slot=slot,
        in_place_of=find_origin_slot(entry, session.state.cards),
        came_back=is_doubtful(entry, stored, tools.gate.deps.catalogue),
    )
    mode = resolve_mode(tools.mode, actor)
    return await tools.gate.submit(effect, actor=actor, mode=mode, turn_id=entry.turn_id, ledger=session)


def _find_objection(entry: Card | None, actor: Actor) -> Notice | None:
    if entry is None or not entry.has_call:
        return OUTDATED
    if entry.requested_by != actor.key:
        return Notice(code="not-your-card", args={"who": entry.requested_by_name})
    return None if may_repeat(entry) else describe_status(entry)


def build_current_card(entry: Card, session: Session, tools: Tools) -> OutboxRow:
    """With the undo button if possible."""
    deps, entries = tools.gate.deps, session.state.cards
    body = undo_policy.add_undo_status(entry, entries, now=session.now, deps=deps)
    return outbox.build_card_row(session.key, body, session.now)


def describe_status(entry: Card) -> Notice:
    if entry.status == "requested":
        return Notice(code="card-waits-already")
    who = entry.approved_by_name or entry.denied_by_name or ""
    at = entry.find_time(entry.status)
    return Notice(code=f"card-already-{entry.status}", args={"who": who, "at": at, **describe_refuser(entry)})


def _build_answer_rows(result: Outcome | Pending, row: InboxRow, session: Session) -> list[OutboxRow]:
    entries = session.state.cards
    if isinstance(result, Pending) and result.confirmation_id in entries:
        code = "toast-asked-again" if entries[result.confirmation_id].status == "requested" else "card-outdated"
        card_row = outbox.build_card_row(session.key, entries[result.confirmation_id], session.now)
        return [build_toast(row, Notice(code=code), session), card_row]
    reason = result.reason if isinstance(result, Outcome) else None
    return [build_toast(row, reason or OUTDATED, session)]


def build_toast(row: InboxRow, notice: Notice, session: Session) -> OutboxRow:
    """A toast if the input is a click, otherwise a message."""
    if is_click(row):
        return outbox.build_toast_row(session.key, row.body["callback_id"], notice, session.now)
    return outbox.build_reply_row(session.key, build_reply(notice), session.now)
