"""Events of schedules, which start runs, in the stream of the chat where they are shown."""

from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.schedule_state import PauseReason, Schedule, SkipReason
from state.model.session_state import SessionState

State = SessionState


class ScheduleAdded(Event):
    """Without a cron line `due` is the only moment."""

    schedule: str
    engine: str
    definition: str
    due: str
    cron: Personal[str] = ""
    zone: Personal[str] = ""
    by: str = ""
    actor: Personal[dict[str, Any]]
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    note: Personal[str] = ""
    later: ClassVar[frozenset[str]] = frozenset({"title"})
    title: Personal[str] = ""


class ScheduleFired(Event):
    """`run` was started, or `skipped` says why not."""

    schedule: str
    due: str
    run: str = ""
    skipped: Literal["", SkipReason] = ""
    late: int = 0
    missed: int = 0
    """Later moments that passed since and get no run."""
    following: str = ""
    """The next moment, "" for none."""
    is_told: bool = False


class SchedulePaused(Event):
    schedule: str
    why: PauseReason
    by: str = ""


class ScheduleResumed(Event):
    schedule: str
    by: str
    due: str


class ScheduleEnded(Event):
    schedule: str
    why: Literal["done", "cancelled"]
    by: str = ""


def list_schedules(state: State) -> dict[str, Schedule]:
    return state.schedules or {}


def _fold_adding(state: State, data: dict[str, Any], ts: str) -> None:
    if not data.get("actor"):  # the owner was erased: nobody is left with whose rights it could work
        return
    texts = {name: data.get(name, "") for name in ("engine", "definition", "due", "cron", "zone", "by", "note")}
    texts["title"] = data.get("title") or ""
    schedule = Schedule.create(**texts, actor=dict(data["actor"]), args=dict(data.get("args") or {}), created_at=ts)
    state.schedules = {**list_schedules(state), data["schedule"]: schedule}


def _change(state: State, schedule: str, **values: Any) -> None:
    if (entry := list_schedules(state).get(schedule)) is not None:
        state.schedules = {**list_schedules(state), schedule: entry.with_values(**values)}


def _fold_firing(state: State, data: dict[str, Any], ts: str) -> None:
    entry = list_schedules(state).get(data["schedule"])
    if entry is None:
        return
    passed, due = data.get("missed", 0), data.get("following") or entry.due
    if data.get("run"):
        last_run = {"run": data["run"], "fired_at": ts, "started": entry.started + 1, "skipped": 0, "skip_why": "", "told_at": ""}
        _change(state, data["schedule"], due=due, missed=entry.missed + passed, **last_run)
        return
    told_at = ts if data.get("is_told") else entry.told_at
    left_out = passed + 1
    counted = {"missed": entry.missed + left_out, "skipped": entry.skipped + left_out}
    _change(state, data["schedule"], due=due, skip_why=data.get("skipped", ""), told_at=told_at, **counted)


def _fold_pause(state: State, data: dict[str, Any], _ts: str) -> None:
    _change(state, data["schedule"], status="paused", why=data["why"])


def _fold_resumption(state: State, data: dict[str, Any], ts: str) -> None:
    _change(state, data["schedule"], status="waiting", why="", due=data["due"], resumed_at=ts, skipped=0, skip_why="", told_at="")


def _fold_end(state: State, data: dict[str, Any], _ts: str) -> None:
    if data["schedule"] in list_schedules(state):
        state.schedules = {key: schedule for key, schedule in list_schedules(state).items() if key != data["schedule"]}


FOLDS: Final[dict[str, Fold]] = {
    "ScheduleAdded": _fold_adding,
    "ScheduleFired": _fold_firing,
    "SchedulePaused": _fold_pause,
    "ScheduleResumed": _fold_resumption,
    "ScheduleEnded": _fold_end,
}
