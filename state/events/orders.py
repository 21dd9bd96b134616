"""Events of standing orders, in the stream of the private chat of the person who gave them."""

from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.order_state import OrderPause, StandingOrder
from state.model.session_state import SessionState

State = SessionState
KEEP_SEEN: Final = 500


class OrderAdded(Event):
    """`terms` is a stored `OrderTerms`, `words` what the card said of it."""

    order: str
    terms: Personal[dict[str, Any]]
    words: Personal[dict[str, Any]] = Field(default_factory=dict)
    actor: Personal[dict[str, Any]]
    due: str = ""
    until: str


class OrderChanged(Event):
    order: str
    terms: Personal[dict[str, Any]]
    words: Personal[dict[str, Any]] = Field(default_factory=dict)
    due: str = ""
    until: str


class OrderFired(Event):
    """`seen` are the states of the records that were told of; without `has_told` there was nothing to tell."""

    order: str
    due: str = ""
    following: str = ""
    seen: Personal[dict[str, str]] = Field(default_factory=dict)
    has_told: bool = True
    border: int = 0
    """The moment (seconds since 1970) up to which silence was looked for."""


class OrderPutOff(Event):
    """The portal could not be asked at its moment; `following` is the next try."""

    order: str
    following: str


class OrderPaused(Event):
    later: ClassVar[frozenset[str]] = frozenset({"detail"})
    order: str
    why: OrderPause
    by: str = ""
    detail: Personal[str] = ""


class OrderResumed(Event):
    order: str
    by: str
    due: str = ""


class OrderEnded(Event):
    order: str
    why: Literal["done", "removed", "expired"]
    by: str = ""


def list_orders(state: State) -> dict[str, StandingOrder]:
    return state.orders or {}


def _change(state: State, order: str, **values: Any) -> None:
    if (entry := list_orders(state).get(order)) is not None:
        state.orders = {**list_orders(state), order: entry.with_values(**values)}


def _fold_adding(state: State, data: dict[str, Any], ts: str) -> None:
    if not data.get("actor"):  # the person was erased: nobody is left with whose rights it could work
        return
    order = StandingOrder.create(
        terms=dict(data["terms"]),
        words=dict(data.get("words") or {}),
        actor=dict(data["actor"]),
        created_at=ts,
        since=ts,
        due=data.get("due", ""),
        until=data["until"],
    )
    state.orders = {**list_orders(state), data["order"]: order}


def _fold_change(state: State, data: dict[str, Any], _ts: str) -> None:
    if data.get("terms"):
        words = dict(data.get("words") or {})
        _change(state, data["order"], terms=dict(data["terms"]), words=words, due=data.get("due", ""), until=data["until"], tries=0)


def _fold_firing(state: State, data: dict[str, Any], ts: str) -> None:
    entry = list_orders(state).get(data["order"])
    if entry is None:
        return
    values: dict[str, Any] = {"due": data.get("following") or entry.due, "tries": 0, "border": data.get("border") or entry.border}
    if data.get("has_told", True):
        same_day = entry.today == ts[:10]
        values |= {"fired_at": ts, "fired": entry.fired + 1, "today": ts[:10], "fired_today": entry.fired_today + 1 if same_day else 1}
    if told := data.get("seen"):
        seen = {**{key: known for key, known in entry.seen.items() if key not in told}, **told}
        values["seen"] = dict(list(seen.items())[-KEEP_SEEN:])
    _change(state, data["order"], **values)


def _fold_delay(state: State, data: dict[str, Any], _ts: str) -> None:
    if (entry := list_orders(state).get(data["order"])) is not None:
        _change(state, data["order"], due=data["following"], tries=entry.tries + 1)


def _fold_pause(state: State, data: dict[str, Any], _ts: str) -> None:
    _change(state, data["order"], status="paused", why=data["why"], detail=data.get("detail") or "")


def _fold_resumption(state: State, data: dict[str, Any], ts: str) -> None:
    _change(
        state, data["order"], status="waiting", why="", detail="", due=data.get("due", ""), today=ts[:10], fired_today=0, tries=0, since=ts
    )


def _fold_end(state: State, data: dict[str, Any], _ts: str) -> None:
    if data["order"] in list_orders(state):
        state.orders = {key: order for key, order in list_orders(state).items() if key != data["order"]}


FOLDS: Final[dict[str, Fold]] = {
    "OrderAdded": _fold_adding,
    "OrderChanged": _fold_change,
    "OrderFired": _fold_firing,
    "OrderPutOff": _fold_delay,
    "OrderPaused": _fold_pause,
    "OrderResumed": _fold_resumption,
    "OrderEnded": _fold_end,
}
