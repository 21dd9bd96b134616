"""Events of schedules, in the stream of the session in whose chat a schedule is shown, with their folds.

A schedule starts runs (executions of scenarios, flows and workflows) at moments that were set before. Its id is in the field `schedule`.
"""

from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.schedule_state import PauseReason, Schedule, SkipReason
from state.model.session_state import SessionState

State = SessionState


class ScheduleAdded(Event):
    """A schedule was made. `due` is its first moment; a schedule without a cron line is due once."""

    schedule: str
    engine: str
    definition: str
    due: str
    cron: Personal[str] = ""
    zone: Personal[str] = ""
    """The time zone of the cron line."""
    by: str = ""
    """Who made it, if not the owner."""
    actor: Personal[dict[str, Any]]
    """The person or token with whose rights its runs work, as a stored `Actor`."""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The values with which each run begins, each as a stored `Value`."""
    note: Personal[str] = ""
    later: ClassVar[frozenset[str]] = frozenset({"title"})
    title: Personal[str] = ""
    """What people call what it starts: the title of the definition at that time; "" if that has none."""


class ScheduleFired(Event):
    """A moment of a schedule has come: it started the run `run`, or `skipped` says why it started none."""

    schedule: str
    due: str
    run: str = ""
    skipped: Literal["", SkipReason] = ""
    late: int = 0
    """How many seconds after its moment."""
    missed: int = 0
    """How many later moments have passed since, which get no run of their own."""
    following: str = ""
    """The next moment, "" if there is none."""
    is_told: bool = False
    """Whether the chat was told of it."""


class SchedulePaused(Event):
    """A schedule starts nothing until a person resumes it. `by` is the person who paused it, "" for the program."""

    schedule: str
    why: PauseReason
    by: str = ""


class ScheduleResumed(Event):
    """A person let a schedule go on; `due` is the moment that it waits for, which may be over if it is due once."""

    schedule: str
    by: str
    due: str


class ScheduleEnded(Event):
    """A schedule is over: all its moments have come, or a person cancelled it."""

    schedule: str
    why: Literal["done", "cancelled"]
    by: str = ""


def list_schedules(state: State) -> dict[str, Schedule]:
    """Return the schedules of a session that are not over, by id. Empty if there are none."""
    return state.schedules or {}


def _fold_adding(state: State, data: dict[str, Any], ts: str) -> None:
    if not data.get("actor"):  # the owner was erased: nobody is left with whose rights it could work
        return
    told = {name: data.get(name, "") for name in ("engine", "definition", "due", "cron", "zone", "by", "note")}
    told["title"] = data.get("title") or ""
    schedule = Schedule.create(**told, actor=dict(data["actor"]), args=dict(data.get("args") or {}), created_at=ts)
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
        told = {"run": data["run"], "fired_at": ts, "started": entry.started + 1, "skipped": 0, "skip_why": "", "told_at": ""}
        _change(state, data["schedule"], due=due, missed=entry.missed + passed, **told)
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
