"""Bodies of the inbox rows of runs, in their sessions ("run:<id>"); RunMessage and RunQuestion go to the chat that shows the run."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from orchestrator.domain.inputs import Click, Input, PlacedInput, TimerDue
from state.stored import JsonObject

MOST: Final = 50
ScheduleOrderName = Literal["pause", "resume", "cancel"]


class ScheduleAdd(Input, kind="schedule_add"):
    schedule: str
    engine: str
    definition: str
    args: Mapping[str, JsonObject] = Field(default_factory=dict)
    """Stored `Value`s."""
    at: str | None = None
    cron: str | None = None
    zone: str = ""
    """Empty for that of the sender."""
    note: str = ""
    by: str = ""


class ScheduleOrder(Click, kind="schedule_order"):
    schedule: str
    order: ScheduleOrderName
    chat: str = ""


class ScheduleDue(TimerDue):
    schedule: str
    due: str


class SchedulesRestored(Input, kind="schedules_restored"):
    """A backup brought them back: paused, as they may have gone on since."""

    made_at: str


class RunStart(Input, kind="run_start"):
    engine: str
    definition: str
    home: str
    args: Mapping[str, JsonObject] = Field(default_factory=dict)
    """Stored `Value`s."""
    parent: str = ""
    parent_node: str = ""
    depth: int = 0
    pinned: tuple[JsonObject, ...] = ()
    """{engine, definition, version, digest, edition} of the parent and what it fixed."""
    version: int = 0
    """Must be in force; 0 for any."""
    since: str = ""
    """ISO: the moment of the schedule, or the begin of the run at the top."""


class RunPlay(Input, kind="run_play"):
    """What the run waits for has come."""


class RunAnswer(Click, kind="run_answer"):
    question_id: str
    option: int | None = None
    answer_kind: str = "text"
    """One of "text", "contact", "photo", "document", or "back"."""
    text: str = ""
    quoted: str = ""
    sent: JsonObject = Field(default_factory=dict)
    is_own_contact: bool = False


class RunSentItem(PlacedInput, kind="run_sent"):
    """In the session of the chat, where a run may wait for it."""

    answer_kind: Literal["contact", "photo", "document"]
    sent: JsonObject = Field(default_factory=dict)
    """{phone, name, user_id}, or {name, size, type}: nothing is downloaded yet."""
    file_id: str = ""
    is_own_contact: bool = False
    caption: str = ""
    instead_kind: str
    """What the message is if no run takes it."""
    instead_lane: Literal["turn", "express"]
    instead: JsonObject


class RunFile(Input, kind="run_file"):
    question_id: str
    answer_kind: Literal["photo", "document"]
    file_id: str
    sent: JsonObject = Field(default_factory=dict)
    """{name, size, type}."""
    caption: str = ""


class RunOrder(Click, kind="run_order"):
    """ "pause", "resume", "retry" or "cancel"."""

    order: str
    parent: str = ""


class RunLeave(Click, kind="run_leave"):
    """Cancels the run, or the one that started them all."""

    question_id: str = ""
    """Once it is answered, they leave too late. "" from an inner run."""


class RunChildEnd(Input, kind="run_child_end"):
    node: str
    run: str
    status: str
    code: str = ""
    value: JsonObject = Field(default_factory=dict)
    """A stored `Value`."""
    title: str = ""
    reasons: JsonObject = Field(default_factory=dict)


class RunMessage(Input, kind="run_message"):
    """For a client that fetches its messages; `message` is the kind."""

    message: str
    key: str = ""
    body: JsonObject = Field(default_factory=dict)


class RunQuestion(Input, kind="run_question"):
    """Or, with `is_over`, waits no more."""

    run: str
    question_id: str
    takes: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    is_over: bool = False


class RunAskAgain(Input, kind="run_ask_again"):
    """Something else was said since; it waits behind that request."""

    run: str
    question_id: str


class RunOwnerGone(Input, kind="run_owner_gone"):
    """Its owner was erased: nobody's rights are left."""


class RunRestored(Input, kind="run_restored"):
    """A backup brought it back: it is paused, as it may have gone on since."""

    made_at: str


class RunEngineBack(Input, kind="run_engine_back"):
    pass


class RunForget(Input, kind="run_forget"):
    """Removes all but its records, long after the end."""
