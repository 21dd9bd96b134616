from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from state.events import leads
from state.events.base import DEFAULT_ENGINE, Event, Fold, forget_planned, keep_last, pick_values
from state.events.personal import Personal
from state.model.card import CardStatus
from state.model.session_state import RunningCall, SessionState, UnknownCall

State = SessionState

KEEP_DONE = 50
_OF_OUTCOME = ("detail", "code", "args", "commands", "unchanged", "now", "created", "files")


class StateChanges(BaseModel):
    """How a call changes `AgentState`; computed by the performer, so that folds know no portal."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    objects: dict[str, int | None] = Field(default_factory=dict)
    links: dict[str, list[str]] = Field(default_factory=dict)
    done: str = ""
    bindings: list[dict[str, str]] | None = None
    bound: list[dict[str, str]] = Field(default_factory=list)
    unbound: list[dict[str, str]] = Field(default_factory=list)


class CallStarted(Event):
    """Stored before anything is sent."""

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
    requested_by_user: int | None = None
    """The asking employee: daily caps count people, not accounts."""
    writes: int = 1
    """Of a batch, the commands that change something."""
    before: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Compared by the reconciliation after a crash."""
    later: ClassVar[frozenset[str]] = frozenset({"covered_by"})
    covered_by: str = ""
    """The card whose approval covers this call, "" for none."""


class CallSucceeded(Event):
    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Only for reads, which have no CallStarted."""
    result: Personal[Any] = None
    result_blob: Personal[str] = ""
    total: int | None = None
    sums: Personal[dict[str, str]] = Field(default_factory=dict)
    """By currency, over all rows of a list."""
    seconds: float = 0.0
    changes: Personal[StateChanges] = StateChanges()
    commands: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    confirmation_id: str = ""
    unchanged: list[str] = Field(default_factory=list)
    """Fields that did not hold what was sent when read back."""
    now: Personal[dict[str, str]] = Field(default_factory=dict)
    """In words, what those of `unchanged` hold that something has changed at once."""
    created: str = ""
    later: ClassVar[frozenset[str]] = frozenset({"now", "seen", "files"})
    seen: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Of a read, what else a turn that goes on needs to see it as it was."""
    files: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Of fields whose files it took away: {record: {field: {"was": [{"id", "name", "size", "digest"}], "now": [id]}}}."""


class CallRefused(Event):
    """It certainly did not happen: never sent, or refused by the portal."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    code: str = ""
    detail: Personal[str] = ""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    later: ClassVar[frozenset[str]] = frozenset({"commands"})
    commands: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    seconds: float = 0.0
    confirmation_id: str = ""


class CallOutcomeUnknown(Event):
    """Never repeated automatically; a person is notified."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    detail: Personal[str] = ""
    confirmation_id: str = ""


class OutcomeReconciled(Event):
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


def _is_same_binding(item: dict[str, str], binding: dict[str, str]) -> bool:
    return item["event"] == binding["event"] and binding.get("handler") in (None, "", item.get("handler"))


FOLDS: Final[dict[str, Fold]] = {
    "CallStarted": _fold_call_start,
    "CallSucceeded": _fold_success,
    "CallRefused": _fold_refusal,
    "CallOutcomeUnknown": _fold_unknown,
    "OutcomeReconciled": _fold_reconciliation,
}
