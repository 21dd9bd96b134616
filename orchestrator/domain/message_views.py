"""The bodies of outgoing messages other than replies and cards. Features build them, the outbox stores them, and `bot` renders them."""

from collections.abc import Sequence

from pydantic import Field

from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice, Table
from state.stored import JsonObject


class NewsAuthor(View):
    """A person who changed a record; `via` is True if the change was made through the bot."""

    name: str = ""
    via: bool = False


class NewsItem(PreviewPart):
    """One record in a message about other people's changes: what happened to it, who did it and, in `lines`, which fields changed."""

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
    """A message of kind "history": one page of the history of a record's changes. `page` counts from 0."""

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
    """One line in a list of the bot's calls, for a call that was made or that waits for a decision on its card.

    `named` holds the words that name the call (its verb, the kind of record, the number of records). `preview` holds the heading of the
    card, if the card is open.
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
    """A list of calls, shortened to its first lines.

    `name` is the person who requested the calls, `count` the number of all calls, and `more` the number of calls that are not shown.
    """

    name: str = ""
    count: int = 0
    lines: Sequence[CallLine] = ()
    more: int = 0


class TeamLine(View):
    """The numbers of a person's deals and tasks that are overdue, due today, closing soon and idle; `name` is "" for the whole team."""

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
    """A message of kind "daily": a person's agenda (the morning digest, or the answer to /today), or the evening summary for leads.

    It may also tell the person that there is no such message on this day, because the portal did not answer. A lead is a head of sales.
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
    """One reminder as people see it; `hour` is its time («14:30») if it is due today, otherwise ""."""

    reminder: str = ""
    text: str = ""
    when: str = ""
    hour: str = ""
    url: str = ""


class ReminderBody(ReminderItem):
    """A message of kind "reminder": about one reminder, or the list of all reminders that are not yet due."""

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

    A click sends the words in `press` back to the program. `example` is the message code of a sample request, which the button sends in the
    person's name; "" for other buttons.
    """

    code: str = ""
    label: str = ""
    args: JsonObject = Field(default_factory=dict)
    press: Sequence[str] = ()
    example: str = ""


class PeopleBody(View):
    """A message of kind "people" about a person's access to the bot.

    `about` is that person: an erasure of the person's data thereby finds this message.
    """

    code: str
    args: JsonObject = Field(default_factory=dict)
    about: Actor | None = None
    buttons: Sequence[Sequence[PeopleButton]] = ()
