"""The bodies of messages other than replies and cards. Features build them, the outbox stores them, and `bot` renders them."""

from collections.abc import Sequence

from pydantic import Field

from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice, Table
from state.stored import JsonObject


class NewsAuthor(View):
    """Who changed a record; `via` says whether it was done through the bot."""

    name: str = ""
    via: bool = False


class NewsItem(PreviewPart):
    """What other people changed in one record, or that they created or deleted it."""

    what: str = ""
    """What happened to the record: "added", "changed", "deleted", or "first" for a change of one of which the bot knew nothing before."""
    kind: str = ""
    """The name of the smart process (a kind of record that the company defined) for its items; "" for other records."""
    who: Sequence[NewsAuthor] = ()


class NewsBody(View):
    """A message of kind "news": changes made by other people. `more` counts the changed records that are not listed."""

    items: Sequence[NewsItem] = ()
    more: int = 0
    quiet: bool = False
    """Whether the message arrives without a sound."""


class HistoryEntry(PreviewPart):
    """One change in the history of a record: a call of the bot, or a change in the portal."""

    what: str = ""
    """Where the change was made: "call" for a call of the bot, "portal" for a change in the portal."""
    when: str = ""
    by: str = ""
    decided_by: str = ""
    """Who decided the card, "" if the requester did."""
    decided: bool = False
    via: str = ""
    status: str = ""
    undo: bool = False
    undone: str = ""
    """When the call was undone, "" if it was not."""


class HistoryBody(View):
    """A message of kind "history": one page of a record's history, counted from 0."""

    record: str = ""
    entity: str = ""
    number: int = 0
    title: str = ""
    url: str = ""
    deleted: bool = False
    total: int = 0
    page: int = 0
    pages: int = 1
    screen: str = ""
    """Identifies the message: another page of the history with the same value replaces it."""
    entries: Sequence[HistoryEntry] = ()


class CallLine(View):
    """One call in a list.

    `named` holds the arguments with which a message names the call; `preview` is the heading of an open card.
    """

    who: str = ""
    method: str = ""
    named: JsonObject = Field(default_factory=dict)
    preview: Preview | None = None
    until: str = ""
    """When the card expires, if it is open."""
    ref: str = ""
    """The messenger's id of the message that shows the card, if it is open."""


class CallGroup(View):
    """The first lines of a list of calls.

    `name` is the person whose calls they are, `count` how many calls there are, `more` how many of them are not shown.
    """

    name: str = ""
    count: int = 0
    lines: Sequence[CallLine] = ()
    more: int = 0


class TeamLine(View):
    """How many records of one person are overdue, due today, closing and idle; with `name` "" those of the whole team."""

    name: str = ""
    overdue: int = 0
    due: int = 0
    closing: int = 0
    idle: int = 0


class AgendaSection(View):
    """One list of a daily message; `code` is the message code of its heading."""

    code: str
    table: Table


class DailyBody(View):
    """A message of kind "daily": what is due for a person (morning digest or answer to /today), or the evening summary for leads.

    It may also be the notice that a message of this day is lost.
    """

    what: str
    """The kind of message: "digest", "today", "evening", or "lost" for the notice that a message of this day did not arrive."""
    day: str = ""
    sections: Sequence[AgendaSection] = ()
    team: Sequence[TeamLine] = ()
    unread: Sequence[str] = ()
    """The codes of the lists that could not be read."""
    without_user: bool = False
    people: Sequence[CallGroup] = ()
    waiting: CallGroup = CallGroup()
    unknown: CallGroup = CallGroup()


class ReminderItem(View):
    """One reminder as it is shown; `hour` is its time if it is due today."""

    reminder: str = ""
    text: str = ""
    when: str = ""
    hour: str = ""
    url: str = ""


class ReminderBody(ReminderItem):
    """A message of kind "reminder": one reminder, or the list of the reminders that wait."""

    what: str
    """What happened to the reminder: "set", "due", "late", "moved", "dropped"; or "list" or "elsewhere"."""
    place: str = ""
    """Tells this message, on which a button was pressed, from the other messages about the same reminder."""
    items: Sequence[ReminderItem] = ()
    more: int = 0


class EditableField(View):
    """A field of a call that the person can change before approving its card; `name` and `value` are as the card shows them."""

    code: str = ""
    name: str = ""
    value: str = ""
    kind: str = ""


class EditBody(View):
    """A message of kind "edit": it asks which field of a card to change, asks for its new value, or tells the result."""

    what: str
    """What the message does: "fields" (asks for the field), "value" (asks for its value) or "told" (tells the result)."""
    confirmation_id: str = ""
    fields: Sequence[EditableField] = ()
    notice: Notice | None = None
    name: str = ""
    value: str = ""
    field_kind: str = ""
    objection: Notice | None = None
    """What was wrong with the person's last answer; None if nothing was."""
    options: Sequence[str] = ()
    """The values that the person's last answer may have meant."""
    ask: int = 0
    private: bool = False


class WaitingBody(View):
    """A message of kind "waiting": links to the open cards of a group chat."""

    chat: str = ""
    count: int = 0
    cards: Sequence[CallLine] = ()


class PeopleButton(View):
    """A button of a screen that manages people's access.

    `press` holds the words that come back on a click, `example` the message code of a request that the person may send.
    """

    code: str = ""
    label: str = ""
    args: JsonObject = Field(default_factory=dict)
    press: Sequence[str] = ()
    example: str = ""


class PeopleBody(View):
    """A message of kind "people" about somebody's access; `about` is that person, so that an erasure of their data finds the name."""

    code: str
    args: JsonObject = Field(default_factory=dict)
    about: Actor | None = None
    buttons: Sequence[Sequence[PeopleButton]] = ()
