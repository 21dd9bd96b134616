"""Whether a call was made or requested before. A change of this turn is not sent again: a looping model would repeat it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import WAITS_ALREADY, EffectOutcome, Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Allow, Ask, Call, Refuse, Target, Verdict
from orchestrator.gate.call.kept_files import KEY
from orchestrator.gate.call.serialization import (
    StoredCall,
    StoredOrder,
    UndecodableCall,
    build_doubt_args,
    decode_call,
    get_essence,
)
from state.clock import format_iso
from state.events.fold import list_open_confirmations
from state.journal.store import EffectRow
from state.model.card import Card
from state.model.session_state import SessionState

FOUND_DONE = "the answer was lost, but the portal shows that it was done"
REPEATED: Final = "step-repeated"
"""This turn has made the same change already."""
_PARTLY_REPEATED: Final = "step-partly-repeated"
_TOLD_REPEATED = "already done by an earlier step of this turn; it was not sent again, so do not propose it again"
_HAS_BEGUN = frozenset({"started", "succeeded", "unknown"})

_TAKES_BACK = frozenset({"delete", "unlink", "remove"})


@dataclass(frozen=True, kw_only=True)
class _EarlierCall:
    essence: str
    verb: str
    targets: frozenset[Target]
    is_done: bool
    row: EffectRow
    is_whole: bool


def find_open_card(state: SessionState, essence: str, actor: Actor) -> Card | None:
    """By its essence; other people in the chat have their own cards."""
    return next((entry for entry in _find_same_requests(state, essence) if entry.requested_by == actor.key), None)


def build_pending(entry: Card, *, method: str, turn_id: str) -> Pending:
    """For a request whose card is already open."""
    notice = Notice(code=WAITS_ALREADY) if entry.turn_id != turn_id else None
    return Pending(effect_id=entry.effect_id, confirmation_id=entry.confirmation_id, method=method, notice=notice)


def add_doubts(verdict: Verdict, call: Call, state: SessionState, actor: Actor) -> Verdict:
    """Asks if this call is under way or unknown, or a call of this turn without a card is unknown."""
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
    stored = StoredOrder.from_data(row.call)
    call, method = stored.call, stored.call.method
    if row.status in {"requested", "approved"}:
        return Pending(effect_id=row.effect_id, confirmation_id=stored.confirmation_id, method=method)
    if row.outcome is not None and row.outcome["status"] == row.status:
        known = {name: value for name, value in row.outcome.items() if name != KEY}
        return Outcome.model_validate({**known, "call": call.params, **stored.name_records()})
    if row.status == "succeeded":  # reconciled by a read of the portal, so there is no answer of the call itself
        return Outcome(
            status="succeeded",
            effect_id=row.effect_id,
            method=method,
            call_class=stored.call_class,
            detail=FOUND_DONE,
            call=call.params,
            **stored.name_records(),
        )
    return _build_unfinished_outcome(row, call)


def build_repeat_verdict(call: Call, earlier: Sequence[EffectRow], catalogue: Catalogue, effect_id: str) -> Outcome | Refuse | None:
    """The outcome "already done" if this turn has made the change.

    `earlier` is oldest first. A batch that was done in part is refused, so that the model proposes only the rest.
    """
    begun = [(row, past_call) for row in earlier if row.status in _HAS_BEGUN and (past_call := decode_row(row, catalogue)) is not None]
    past = [earlier_call for row, past_call in begun for earlier_call in _list_earlier_calls(row, past_call)]
    writes = [leaf for leaf in call.leaves if not leaf.reads_only]
    same = _find_done(call, past)
    done = [leaf for leaf in writes if not leaf.references and _find_done(leaf, past) is not None]
    if same is None and not done:
        return None
    if same is None and len(done) < len(writes):
        keys = ", ".join(leaf.key for leaf in done)
        detail = f"nothing was sent: earlier steps of this turn have done the commands {keys} already; propose only the others"
        return Refuse(reason=Notice(code=_PARTLY_REPEATED, args={"count": len(done)}), detail=detail)
    known = same if same is not None else past[-1]
    return Outcome(
        status="succeeded",
        effect_id=effect_id,
        method=call.method,
        call_class="".join(call.classes),
        entity=call.entity,
        created=EffectOutcome.model_validate(known.row.outcome or {}).created if known.is_whole else "",
        detail=_TOLD_REPEATED,
        call=dict(call.params),
        repeat_of=known.row.effect_id,
    )


def decode_row(row: EffectRow, catalogue: Catalogue) -> Call | None:
    """None if its data was erased or the catalogue no longer knows its method."""
    stored = StoredOrder.from_data(row.call)
    try:
        return None if stored.is_erased else decode_call(stored.call, catalogue)
    except UndecodableCall:
        return None


def is_command_done(row: EffectRow, key: str) -> bool:
    """The key "" means the whole call."""
    reports = EffectOutcome.model_validate(row.outcome or {}).commands
    return row.status == "succeeded" and all(report["status"] == "success" for report in reports if key in ("", report["key"]))


def _list_earlier_calls(row: EffectRow, call: Call) -> Iterator[_EarlierCall]:
    for leaf in (*(leaf for leaf in call.commands if not leaf.reads_only), call):
        whole = leaf is call
        yield _EarlierCall(
            essence=get_essence(leaf),
            verb=leaf.spec.verb,
            targets=frozenset() if call.commands and whole else frozenset(leaf.targets),
            is_done=is_command_done(row, leaf.key),
            row=row,
            is_whole=whole,
        )


def _find_done(call: Call, past: Sequence[_EarlierCall]) -> _EarlierCall | None:
    """None also if the record was changed again afterwards."""
    targets = {target for leaf in call.leaves for target in leaf.targets}
    only_adds = all(leaf.reads_only or leaf.spec.verb == "add" for leaf in call.leaves)
    for earlier_call in reversed(past):
        if earlier_call.essence == get_essence(call):
            return earlier_call if earlier_call.is_done else None
        if earlier_call.targets & targets and (not only_adds or earlier_call.verb in _TAKES_BACK):
            return None
    return None


def _build_unfinished_outcome(row: EffectRow, call: StoredCall) -> Outcome:
    unknown = row.status in {"started", "unknown"}
    notice = Notice(code="outcome-unknown", args=build_doubt_args(row.effect_id, row.call))
    over = Notice(code=f"card-already-{row.status}", args={"who": "", "at": format_iso(row.updated_at), "by": "bot"})
    return Outcome(
        status="unknown" if unknown else "refused",
        effect_id=row.effect_id,
        method=call.method,
        reason=notice if unknown else over,
        detail=f"this step was submitted before, and stands as {row.status} since {format_iso(row.updated_at)}",
        call=call.params,
    )


def _find_same_requests(state: SessionState, essence: str) -> Iterator[Card]:
    return (entry for entry in list_open_confirmations(state) if entry.essence == essence)


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
