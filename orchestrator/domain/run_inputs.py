"""The bodies of the inbox rows of runs, one class for each kind of row. A run is one execution of a scenario, flow or workflow.

The rows stand in the session of the run ("run:<id>"), except RunMessage and RunQuestion, which go to the chat that shows the run.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from orchestrator.domain.inputs import Click, Input, PlacedInput
from state.stored import JsonObject


class RunStart(Input, kind="run_start"):
    """The order to start a run (an execution of a scenario, flow or workflow) in its own session "run:<id>"."""

    engine: str
    definition: str
    home: str
    args: Mapping[str, JsonObject] = Field(default_factory=dict)
    """The values with which it starts, each as a stored `Value`."""
    parent: str = ""
    """The run that waits for the end of this one, "" for none; `parent_node` is the waiting node."""
    parent_node: str = ""
    depth: int = 0
    """How many runs wait for the end of this one, directly or through others."""
    pinned: tuple[JsonObject, ...] = ()
    """The parent's definition and those that it fixed at its start, as {engine, definition, version, digest, edition}."""
    version: int = 0
    """The version that has to be in force when the run begins, because whoever starts it chose that one; 0 for whichever is."""
    since: str = ""
    """The moment of a schedule for which it is started, or when the run at the top of it began, as an ISO time; otherwise ""."""


class RunPlay(Input, kind="run_play"):
    """The order to a run to go on, because something that it waits for has come."""


class RunAnswer(Click, kind="run_answer"):
    """A person's answer to the question of a run, passed on to the run from the chat in which it was given."""

    question_id: str
    option: int | None = None
    """The number of the chosen button; None for what was typed or sent."""
    answer_kind: str = "text"
    """"text", "contact", "photo", "document", or "back" for the wish to answer the question before anew."""
    text: str = ""
    quoted: str = ""
    """Text of somebody else in the same message."""
    sent: JsonObject = Field(default_factory=dict)
    """A contact, photo or document, as `Heard.value` describes it."""
    is_own_contact: bool = False
    """Whether the contact is that of the person who sent it, who shared it themselves."""


class RunSentItem(PlacedInput, kind="run_sent"):
    """A contact, photo or document that came into a chat in which a run may wait for one. The input is in the session of the chat."""

    answer_kind: Literal["contact", "photo", "document"]
    sent: JsonObject = Field(default_factory=dict)
    """Of a contact {phone, name, user_id}, otherwise {name, size, type}: without the digest, since nothing is downloaded yet."""
    file_id: str = ""
    """The messenger's id of the file; "" for a contact."""
    is_own_contact: bool = False
    caption: str = ""
    instead_kind: str
    """The kind, the lane and the body of the input that the message is handled as if no run takes it."""
    instead_lane: Literal["turn", "express"]
    instead: JsonObject


class RunFile(Input, kind="run_file"):
    """A photo or document with which a person answers the question of a run; the run downloads it."""

    question_id: str
    answer_kind: Literal["photo", "document"]
    file_id: str
    sent: JsonObject = Field(default_factory=dict)
    """What the messenger says of the file: {name, size, type}."""
    caption: str = ""


class RunOrder(Click, kind="run_order"):
    """A person's order to a run: "pause", "resume", "retry" or "cancel"."""

    order: str
    parent: str = ""
    """The run that passes the order on to a run that it started; "" if a person gave it to this one."""


class RunLeave(Click, kind="run_leave"):
    """A person leaves the run at one of its questions: it is cancelled, or, of a run inside of others, the one that started them all."""

    question_id: str = ""
    """The question that the person saw: once it is answered, they leave too late. "" when a run inside of this one passes it on."""


class RunChildEnd(Input, kind="run_child_end"):
    """The result of a run, passed on to the run that started it and waits for it."""

    node: str
    run: str
    status: str
    code: str = ""
    value: JsonObject = Field(default_factory=dict)
    """The result as a stored `Value`."""
    title: str = ""
    """What people call the run, if it was not done; "" in inputs of an earlier version of the program."""
    reasons: JsonObject = Field(default_factory=dict)
    """Why it was not done, as stored `Reasons`; empty in inputs of an earlier version, too."""


class RunMessage(Input, kind="run_message"):
    """A message of a run, passed on to the session of a client that fetches its messages itself; `message` is its kind."""

    message: str
    key: str = ""
    body: JsonObject = Field(default_factory=dict)


class RunQuestion(Input, kind="run_question"):
    """The news for a chat that a run waits for an answer there, or, with `is_over`, that it does not wait any more."""

    run: str
    question_id: str
    takes: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    is_over: bool = False


class RunAskAgain(Input, kind="run_ask_again"):
    """The order to show a question of the run once more, because something else was said since.

    It waits in the chat behind the request that comes before it, and is then passed on to the run.
    """

    run: str
    question_id: str


class RunOwnerGone(Input, kind="run_owner_gone"):
    """The order to end a run whose owner was erased: nobody is left with whose rights it could work."""


class RunRestored(Input, kind="run_restored"):
    """The news for a run that a backup brought back: it is paused, because it may have gone on after the backup was made."""

    made_at: str


class RunEngineBack(Input, kind="run_engine_back"):
    """The news for a run that this program has its engine; a run that waits for the engine goes on."""


class RunForget(Input, kind="run_forget"):
    """The order to remove what is kept of a run that ended long ago, except its records."""
