"""Folds the events of a session into its agent state (S004-13, S004-33, X4). Pure and fast: plain dicts, no validation."""

from collections.abc import Callable, Iterable
from typing import Any

from state.card import OPEN_STATUSES, Card, CardStatus
from state.events import cards, daily, freezing, leads, people, talking
from state.session_state import AgentState, Denial, HistoryLine, OpenTurn, Question, RunningCall, SessionState, UnknownCall

State = SessionState
Fold = Callable[[State, dict[str, Any], str], None]

KEEP_DONE = 50
KEEP_DECIDED = 50
KEEP_HISTORY = 20
KEEP_GOALS = 10
KEEP_GOAL_LENGTH = 500
KEEP_DUE = 2000
KEEP_SEEN = 1000
_OF_DECISION = ("approved_by", "approved_by_name", "denied_by", "denied_by_name", "via", "reason", "why", "by")
_OF_OUTCOME = ("detail", "code", "args", "commands", "unchanged", "created")
"""What an event adds to its card, where it says it."""


def create_state() -> State:
    """Return the state of a session in which nothing has happened."""
    return SessionState()


def fold_events(state: State, events: Iterable[tuple[str, dict[str, Any], str]]) -> State:
    """Apply `(type, data, ts)` in order to `state` in place and return it. Event types without a fold are skipped."""
    for type_name, data, ts in events:
        step = _FOLDS.get(type_name)
        if step is not None:
            step(state, data, ts)
    return state


def list_open_confirmations(state: State) -> list[Card]:
    """Return the confirmations that wait for a decision, oldest first."""
    return [item for item in state.agent.confirmations.values() if item.is_waiting]


def _fold_message(state: State, data: dict[str, Any], ts: str) -> None:
    agent = state.agent
    if data.get("origin", "typed") in {"typed", "voice"}:
        goals = agent.goals
        goal = data["text"][:KEEP_GOAL_LENGTH]
        if goal and (not goals or goals[0] != goal):
            agent.goals = [goal, *goals][:KEEP_GOALS]
        state.question = None
    if data["text"]:
        state.history.append(HistoryLine.create(role="user", text=data["text"], quoted=bool(data.get("quoted")), ts=ts))
        del state.history[:-KEEP_HISTORY]
    state.turn = OpenTurn.create(turn_id=data["turn_id"], started=ts)


def _fold_plan(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.agent.next_planned_actions = list(data["steps"]) if not data.get("executed", True) else []


def _fold_question(state: State, data: dict[str, Any], ts: str) -> None:
    state.question = Question.from_stored({**data, "ts": ts})


def _fold_choice(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    if state.question and state.question.question_id == data["question_id"]:
        # The question stays until its turn has ended: a restart in between needs it to continue.
        state.question = state.question.with_values(chosen_in=data["turn_id"])


def _fold_request(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    kept = ("effect_id", "method", "params", "fingerprint", "essence", "call_class", "comment", "requested_by", "requested_by_name")
    more = ("requested_at", "expires_at", "nonce", "taps", "four_eyes", "turn_id", "slot", "preview", "reasons", "before", "provenance")
    by_lead = ("lead", "told", "told_names", "requested_by_user")
    values = {key: data[key] for key in (*kept, *more) if key in data} | {key: data[key] for key in by_lead if data.get(key)}
    number = data["confirmation_id"]
    state.agent.confirmations[number] = Card.from_stored({**values, "confirmation_id": number, "status": "requested"})


def _build_decision_fold(status: CardStatus) -> Fold:
    def apply(state: State, data: dict[str, Any], ts: str) -> None:
        entries = state.agent.confirmations
        entry = entries.pop(data["confirmation_id"], None) or _strip_values(data)
        entry = entry.with_values(status=status, **{f"{status}_at": data.get(f"{status}_at", ts)}, **_pick(data, _OF_DECISION))
        entries[data["confirmation_id"]] = entry  # in the order of the decisions
        if status == "denied":
            state.denied.pop(data["essence"], None)  # denied again: young again
            state.denied[data["essence"]] = Denial.create(
                at=data["denied_at"], by=data["denied_by_name"] or data["denied_by"], turn_id=data.get("turn_id", "")
            )
            _trim(state.denied, KEEP_DECIDED)
            _remember_reason(state, data, ts)
        if status != "approved":
            _forget_planned(state, entry)
        _trim_decided(entries)

    return apply


def _remember_reason(state: State, data: dict[str, Any], ts: str) -> None:
    """Add a person's reason for a denial to the conversation, so that the next proposal is a different one."""
    if data.get("reason") and data.get("via") != "model":
        said = f"({data['method'] or 'a call'} was denied by {data['denied_by_name'] or 'a person'}, who said: «{data['reason']}»)"
        state.history.append(HistoryLine.create(role="assistant", text=said, ts=ts))
        del state.history[:-KEEP_HISTORY]


def _strip_values(data: dict[str, Any]) -> Card:
    return Card.from_stored({key: data[key] for key in ("confirmation_id", "effect_id", "method", "params", "essence") if key in data})


def _pick(data: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: data[name] for name in names if data.get(name)}


def _fold_call_start(state: State, data: dict[str, Any], ts: str) -> None:
    state.agent.in_progress.append(
        RunningCall.create(effect_id=data["effect_id"], method=data["method"], ts=ts, essence=data.get("essence", ""))
    )
    leads.add_change(state, data, ts)


def _fold_success(state: State, data: dict[str, Any], ts: str) -> None:
    _settle(state, data, "executed", ts)
    _apply_changes(state, data.get("changes") or {}, ts)


def _fold_refusal(state: State, data: dict[str, Any], ts: str) -> None:
    _settle(state, data, "refused", ts)


def _fold_unknown(state: State, data: dict[str, Any], ts: str) -> None:
    running = next((item for item in state.agent.in_progress if item.effect_id == data["effect_id"]), None)
    _settle(state, data, "unknown", ts)
    state.unknown[data["effect_id"]] = UnknownCall.create(
        method=data["method"], ts=ts, confirmation_id=data.get("confirmation_id", ""), essence=running.essence if running else ""
    )


def _fold_reconciliation(state: State, data: dict[str, Any], ts: str) -> None:
    if data["verdict"] == "unclear":
        return
    state.unknown.pop(data["effect_id"], None)
    _settle(state, data, "executed" if data["verdict"] == "done" else "refused", ts)
    _apply_changes(state, data.get("changes") or {}, ts)


def _settle(state: State, data: dict[str, Any], status: CardStatus, ts: str) -> None:
    agent = state.agent
    agent.in_progress = [item for item in agent.in_progress if item.effect_id != data["effect_id"]]
    entry = agent.confirmations.get(data.get("confirmation_id") or "")
    if entry is None:
        return
    entry = entry.with_values(status=status, **{f"{status}_at": ts}, **_pick(data, _OF_OUTCOME))
    agent.confirmations[entry.confirmation_id] = entry
    _forget_planned(state, entry)


def _apply_changes(state: State, changes: dict[str, Any], ts: str) -> None:
    agent = state.agent
    for key, value in (changes.get("objects") or {}).items():
        agent.objects[key] = value
    for key, linked in (changes.get("links") or {}).items():
        agent.objects["links"][key] = linked
        _trim(agent.objects["links"], KEEP_DONE)
    if changes.get("done"):
        agent.done.append({"timestamp": ts, "description": changes["done"], "object_ids": changes.get("objects") or {}})
        del agent.done[:-KEEP_DONE]
    if changes.get("bindings") is not None:
        agent.event_bindings = list(changes["bindings"])
    for binding in changes.get("bound") or []:
        if binding not in agent.event_bindings:
            agent.event_bindings.append(binding)
    for binding in changes.get("unbound") or []:
        agent.event_bindings = [item for item in agent.event_bindings if not _is_same_binding(item, binding)]


def _is_same_binding(item: dict[str, str], wanted: dict[str, str]) -> bool:
    return item["event"] == wanted["event"] and wanted.get("handler") in (None, "", item.get("handler"))


def _fold_turn_end(state: State, data: dict[str, Any], ts: str) -> None:
    if data.get("history"):
        state.history.append(HistoryLine.create(role="assistant", text=data["history"], ts=ts))
        del state.history[:-KEEP_HISTORY]
    if data.get("next_planned_actions"):
        state.agent.next_planned_actions = list(data["next_planned_actions"])
    known = [item for item in state.trusted if item not in data.get("targets", ())]
    if state.question and state.question.chosen_in == data["turn_id"]:
        state.question = None
    state.trusted = [*known, *data.get("targets", ())][-KEEP_DONE:]
    state.turn = None


def _fold_clearing(state: State, data: dict[str, Any], ts: str) -> None:
    del data, ts
    old = state.agent
    state.agent = AgentState(confirmations=old.confirmations, event_bindings=old.event_bindings, done=old.done, in_progress=old.in_progress)
    state.history, state.question, state.trusted = [], None, []


def _ensure_portal(state: State) -> dict[str, Any]:
    """Return the portal's part of `state`, created if missing; only the portal's own session has it."""
    if state.portal is None:
        state.portal = {"due": {}, "seen": {}, "look_at": "", "tries": 0, "told_at": ""}
    return state.portal


def _fold_portal_event(state: State, data: dict[str, Any], ts: str) -> None:
    portal = _ensure_portal(state)
    target, action = data.get("target"), data.get("action")
    if target:
        before = portal["due"].get(target) or {"action": action, "ts": ts}
        portal["due"][target] = {**before, "action": "add" if before["action"] == "add" and action == "update" else action}
        _trim(portal["due"], KEEP_DUE)
    if data.get("look_at"):
        portal["look_at"] = data["look_at"]


def _fold_failed_probe(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    _ensure_portal(state).update(tries=data["tries"], look_at=data["look_at"])


def _fold_seen_records(state: State, data: dict[str, Any], ts: str) -> None:
    portal = _ensure_portal(state)
    for target in (*sorted(data["records"]), *data["gone"]):
        portal["due"].pop(target, None)
        portal["seen"].pop(target, None)  # re-inserted below, so that it counts as the newest
    portal["seen"].update(sorted(data["records"].items()))
    _trim(portal["seen"], KEEP_SEEN)
    portal.update(tries=0, look_at=data.get("look_at", ""))
    if data.get("told"):
        portal["told_at"] = ts


def _forget_planned(state: State, entry: Card) -> None:
    planned = state.agent.next_planned_actions
    slot = entry.slot
    state.agent.next_planned_actions = [item for item in planned if not slot or item.get("slot") != slot]


def _trim(mapping: dict[str, Any], keep: int) -> None:
    while len(mapping) > keep:
        del mapping[next(iter(mapping))]


def _trim_decided(entries: dict[str, Card]) -> None:
    """Keep only the last KEEP_DECIDED finished entries; entries that wait, run or are unknown are never removed."""
    settled = [key for key, item in entries.items() if item.status not in OPEN_STATUSES]
    for key in settled[: max(0, len(settled) - KEEP_DECIDED)]:
        del entries[key]


_FOLDS: dict[str, Fold] = {
    "MessageReceived": _fold_message,
    "PlanRecorded": _fold_plan,
    "NameAsked": _fold_question,
    "NameChosen": _fold_choice,
    "ConfirmationRequested": _fold_request,
    "ConfirmationApproved": _build_decision_fold("approved"),
    "ConfirmationDenied": _build_decision_fold("denied"),
    "ConfirmationExpired": _build_decision_fold("expired"),
    "ConfirmationSuperseded": _build_decision_fold("superseded"),
    "CallStarted": _fold_call_start,
    "CallSucceeded": _fold_success,
    "CallRefused": _fold_refusal,
    "CallOutcomeUnknown": _fold_unknown,
    "OutcomeReconciled": _fold_reconciliation,
    "TurnFinished": _fold_turn_end,
    "ConversationCleared": _fold_clearing,
    "PortalEventReceived": _fold_portal_event,
    "PortalLookFailed": _fold_failed_probe,
    "RecordsSeen": _fold_seen_records,
    **people.FOLDS,
    **daily.FOLDS,
    **talking.FOLDS,
    **cards.FOLDS,
    **leads.FOLDS,
    **freezing.FOLDS,
}
