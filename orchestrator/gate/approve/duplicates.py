"""Compares a request with what exists already: the same step before a crash, an open card, calls with unknown outcome. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.domain.actor import Actor
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Allow, Ask, Call, Verdict
from orchestrator.gate.call.serialization import StoredCall, StoredOrder, build_doubt_args, get_essence
from state.card import Card
from state.clock import format_iso
from state.events.fold import list_open_confirmations
from state.journal.store import EffectRow
from state.session_state import SessionState

FOUND_DONE = "the answer was lost, but the portal shows that it was done"


def find_open_card(state: SessionState, wanted: str, actor: Actor) -> Card | None:
    """Return this person's open card for exactly this request, or None; `wanted` is the essence (checksum) of the request.

    In a group, the same request of another person has a card of its own.
    """
    return next((entry for entry in _find_same_requests(state, wanted) if entry.requested_by == actor.key), None)


def build_pending(entry: Card, *, method: str, turn_id: str) -> Pending:
    """Return the result for a request whose card `entry` is open already.

    It has a message that the card was waiting already, unless this turn created the card.
    """
    notice = Notice(code="card-waits-already") if entry.turn_id != turn_id else None
    return Pending(effect_id=entry.effect_id, confirmation_id=entry.confirmation_id, method=method, notice=notice)


def add_doubts(verdict: Verdict, call: Call, state: SessionState, actor: Actor) -> Verdict:
    """Return `verdict`, turned into a question to a person if this write, or a step before it, may have happened already.

    That is so when a call was made and its answer is missing. The card also says if the same request of another person is waiting.
    """
    if call.reads_only or not isinstance(verdict, Allow | Ask):
        return verdict
    doubts = tuple(_find_doubts(call, state))
    others = tuple(_find_requests_of_others(call, state, actor)) if doubts or isinstance(verdict, Ask) else ()
    if not doubts and not others:
        return verdict
    if isinstance(verdict, Allow):
        return Ask(reasons=(*doubts, *others))
    return replace(verdict, reasons=(*verdict.reasons, *doubts, *others))


def restore_outcome(row: EffectRow) -> Outcome | Pending:
    """Return the stored result of an effect that was submitted before a crash, so that the repeated turn does nothing twice."""
    stored = StoredOrder.from_data(row.call)
    call, method = stored.call, stored.call.method
    if row.status in {"requested", "approved"}:
        return Pending(effect_id=row.effect_id, confirmation_id=stored.confirmation_id, method=method)
    if row.outcome is not None and row.outcome["status"] == row.status:
        return Outcome.model_validate({**row.outcome, "call": call.params})
    if row.status == "succeeded":  # reconciled by a read of the portal, so there is no answer of the call itself
        return Outcome(
            status="succeeded",
            effect_id=row.effect_id,
            method=method,
            call_class=stored.call_class,
            detail=FOUND_DONE,
            call=call.params,
        )
    return _build_unfinished_outcome(row, call)


def _build_unfinished_outcome(row: EffectRow, call: StoredCall) -> Outcome:
    unknown = row.status in {"started", "unknown"}
    told = Notice(code="outcome-unknown", args=build_doubt_args(row.effect_id, row.call))
    over = Notice(code=f"card-already-{row.status}", args={"who": "", "at": format_iso(row.updated_at), "by": "bot"})
    return Outcome(
        status="unknown" if unknown else "refused",
        effect_id=row.effect_id,
        method=call.method,
        reason=told if unknown else over,
        detail=f"this step stands as {row.status} since before the restart",
        call=call.params,
    )


def _find_same_requests(state: SessionState, wanted: str) -> Iterator[Card]:
    return (entry for entry in list_open_confirmations(state) if entry.essence == wanted)


def _find_requests_of_others(call: Call, state: SessionState, actor: Actor) -> Iterator[Notice]:
    for entry in _find_same_requests(state, get_essence(call)):
        if entry.requested_by != actor.key:
            yield Notice(code="same-wish-waits", args={"who": entry.requested_by_name})


def _find_doubts(call: Call, state: SessionState) -> Iterator[Notice]:
    agent = state.agent
    about_to_run = (entry for entry in agent.confirmations.values() if entry.status == "approved")
    essences = {*(item.essence for item in state.unknown.values()), *(item.essence for item in agent.in_progress)}
    if get_essence(call) in essences | {entry.essence for entry in about_to_run}:
        yield Notice(code="same-call-unknown")
    begun = state.turn.started if state.turn else ""
    if begun and any(item.ts >= begun and not item.confirmation_id for item in state.unknown.values()):
        yield Notice(code="after-unknown")
