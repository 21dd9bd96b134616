"""Events of calls to the portal (Bitrix24) and their outcomes, and the folds, which apply these events to a session's state."""

from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from state.events import leads
from state.events.base import DEFAULT_ENGINE, Event, Fold, forget_planned, keep_last, pick_values
from state.events.personal import Personal
from state.model.card import CardStatus
from state.model.session_state import RunningCall, SessionState, UnknownCall

State = SessionState

KEEP_DONE = 50
_OF_OUTCOME = ("detail", "code", "args", "commands", "unchanged", "created")
"""The fields of an outcome that are copied to its card unless they are empty."""


class StateChanges(BaseModel):
    """How a call changes `AgentState`, that is, what the model is told about its work.

    The performer (the code that makes the call) computes these changes, so that the folds (the functions that apply events to the state)
    need no knowledge of the portal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    objects: dict[str, int | None] = Field(default_factory=dict)
    links: dict[str, list[str]] = Field(default_factory=dict)
    done: str = ""
    bindings: list[dict[str, str]] | None = None
    bound: list[dict[str, str]] = Field(default_factory=list)
    unbound: list[dict[str, str]] = Field(default_factory=list)


class CallStarted(Event):
    """A call to the portal is about to be made. The event is stored before anything is sent."""

    effect_id: str
    turn_id: str
    slot: str
    kind: str = "bitrix"
    method: str
    call_class: str
    params: Personal[dict[str, Any]]
    fingerprint: str
    requested_by: str
    approved_by: str = ""
    confirmation_id: str = ""
    proposed_by: str = DEFAULT_ENGINE
    essence: str = ""
    policy: str = ""
    """The hash of the policy that allows the call."""
    requested_by_user: int | None = None
    """The employee who asked, from whichever account: the daily caps on changes count people, not accounts."""
    writes: int = 1
    """The number of changes the call makes: for a batch, the number of commands that are not reads."""
    before: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The record before the change, so that reconciliation after a crash can tell "done" from "not done"."""
    later: ClassVar[frozenset[str]] = frozenset({"covered_by"})
    covered_by: str = ""
    """The card that showed this call as a step that follows, and whose approval covers it; "" for any other call."""


class CallSucceeded(Event):
    """The portal reported success for a call."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Set only for reads, which have no CallStarted."""
    result: Personal[Any] = None
    result_blob: Personal[str] = ""
    total: int | None = None
    sums: Personal[dict[str, str]] = Field(default_factory=dict)
    """Sums by currency over all rows of a list of which `result` holds the first rows."""
    seconds: float = 0.0
    changes: Personal[StateChanges] = StateChanges()
    commands: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    confirmation_id: str = ""
    unchanged: list[str] = Field(default_factory=list)
    """Written fields whose values were unchanged when the record was read back."""
    created: str = ""
    """The record that the call created: "deal:512"."""


class CallRefused(Event):
    """A call certainly did not happen: it was never sent, or the portal refused it."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    code: str = ""
    detail: Personal[str] = ""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Arguments of `code` if it is a message of this program and not an error of the portal."""
    later: ClassVar[frozenset[str]] = frozenset({"commands"})
    commands: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """For a batch of which no command ran: the result of each."""
    seconds: float = 0.0
    confirmation_id: str = ""


class CallOutcomeUnknown(Event):
    """Nobody knows whether a call happened. It is never repeated automatically, and a person is notified."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    detail: Personal[str] = ""
    confirmation_id: str = ""


class OutcomeReconciled(Event):
    """The portal was read to find out whether a call with an unknown outcome was executed; `verdict` is the result."""

    effect_id: str
    verdict: Literal["done", "not_done", "unclear"]
    detail: Personal[str] = ""
    changes: Personal[StateChanges] = StateChanges()
    confirmation_id: str = ""


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
    entry = entry.with_values(status=status, **{f"{status}_at": ts}, **pick_values(data, _OF_OUTCOME))
    agent.confirmations[entry.confirmation_id] = entry
    forget_planned(state, entry)


def _apply_changes(state: State, changes: dict[str, Any], ts: str) -> None:
    agent = state.agent
    for key, value in (changes.get("objects") or {}).items():
        agent.objects[key] = value
    for key, linked in (changes.get("links") or {}).items():
        agent.objects["links"][key] = linked
        keep_last(agent.objects["links"], KEEP_DONE)
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


FOLDS: Final[dict[str, Fold]] = {
    "CallStarted": _fold_call_start,
    "CallSucceeded": _fold_success,
    "CallRefused": _fold_refusal,
    "CallOutcomeUnknown": _fold_unknown,
    "OutcomeReconciled": _fold_reconciliation,
}
