"""The bodies of messages that are no replies and no cards: features build them, the outbox keeps them, doors render them."""

from collections.abc import Sequence

from pydantic import Field

from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice, Table
from state.stored import JsonObject


class NewsAuthor(View):
    """Who changed a record; `via` says that it was done through the bot."""

    name: str = ""
    via: bool = False


class NewsItem(PreviewPart):
    """What others changed in one record, or that they created or deleted it."""

    what: str = ""
    """added, changed, first (nothing was known of the record before) or deleted."""
    kind: str = ""
    """The name of a smart process, for its items."""
    who: Sequence[NewsAuthor] = ()


class NewsBody(View):
    """A message of kind "news"; `more` records beside the listed ones have changed."""

    items: Sequence[NewsItem] = ()
    more: int = 0
    quiet: bool = False
    """Whether the message arrives without a sound."""


class HistoryEntry(PreviewPart):
    """One change in the history of a record: a call of the bot, or a change in the portal."""

    what: str = ""
    """call or portal."""
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
    """Identifies the message whose pages are turned."""
    entries: Sequence[HistoryEntry] = ()


class CallLine(View):
    """One call in a list: `named` holds the arguments of the sentence that names it, `preview` is the heading of an open card."""

    who: str = ""
    method: str = ""
    named: JsonObject = Field(default_factory=dict)
    preview: Preview | None = None
    until: str = ""
    """When an open card expires."""
    ref: str = ""
    """The message that shows an open card."""


class CallGroup(View):
    """The first lines of a list of calls, how many calls there are, and how many of them are not shown; `name` is whose they are."""

    name: str = ""
    count: int = 0
    lines: Sequence[CallLine] = ()
    more: int = 0


class TeamLine(View):
    """How many records of one person (`name` "": of the whole team) are overdue, due today, closing and idle."""

    name: str = ""
    overdue: int = 0
    due: int = 0
    closing: int = 0
    idle: int = 0


class AgendaSection(View):
    """One list of a day under the heading `code`."""

    code: str
    table: Table


class DailyBody(View):
    """A message of kind "daily": the digest, the answer to /today, the evening summary, or that a message of this day is lost."""

    what: str
    """digest, today, evening or lost."""
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
    """A message of kind "reminder": one reminder, or the list of those that wait."""

    what: str
    """set, due, late, moved, dropped, list or elsewhere."""
    place: str = ""
    """Tells the message with the button from the others about the same reminder."""
    items: Sequence[ReminderItem] = ()
    more: int = 0


class EditableField(View):
    """A field that can be changed on the card; `name` and `value` are as the card shows them."""

    code: str = ""
    name: str = ""
    value: str = ""
    kind: str = ""


class EditBody(View):
    """A message of kind "edit": which field of a card to change, its new value, or the result of the edit."""

    what: str
    """fields, value or told."""
    confirmation_id: str = ""
    fields: Sequence[EditableField] = ()
    notice: Notice | None = None
    name: str = ""
    value: str = ""
    field_kind: str = ""
    objection: Notice | None = None
    """What was wrong with the last answer."""
    options: Sequence[str] = ()
    """What the last answer may have meant."""
    ask: int = 0
    private: bool = False


class WaitingBody(View):
    """A message of kind "waiting": links to the open cards of a group."""

    chat: str = ""
    count: int = 0
    cards: Sequence[CallLine] = ()


class PeopleButton(View):
    """A button of a people screen: `press` holds the words that come back on a click, `example` the code of a request to send."""

    code: str = ""
    label: str = ""
    args: JsonObject = Field(default_factory=dict)
    press: Sequence[str] = ()
    example: str = ""


class PeopleBody(View):
    """A message of kind "people"; `about` is the person concerned, so that an erasure finds the name."""

    code: str
    args: JsonObject = Field(default_factory=dict)
    about: Actor | None = None
    buttons: Sequence[Sequence[PeopleButton]] = ()
