"""Bodies of outgoing messages other than replies and cards."""

from collections.abc import Sequence

from pydantic import Field

from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice, Table
from state.stored import JsonObject


class NewsAuthor(View):
    name: str = ""
    via: bool = False


class NewsItem(PreviewPart):
    what: str = ""
    """One of "added", "changed", "deleted", or "first" for one of which nothing was known."""
    kind: str = ""
    who: Sequence[NewsAuthor] = ()


class NewsBody(View):
    items: Sequence[NewsItem] = ()
    more: int = 0
    quiet: bool = False


class HistoryEntry(PreviewPart):
    what: str = ""
    when: str = ""
    by: str = ""
    decided_by: str = ""
    decided: bool = False
    via: str = ""
    status: str = ""
    undo: bool = False
    undone: str = ""


class HistoryBody(View):
    """`page` counts from 0."""

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
    """Another page with the same value replaces the message."""
    entries: Sequence[HistoryEntry] = ()


class CallLine(View):
    who: str = ""
    method: str = ""
    named: JsonObject = Field(default_factory=dict)
    preview: Preview | None = None
    until: str = ""
    ref: str = ""


class CallGroup(View):
    name: str = ""
    count: int = 0
    lines: Sequence[CallLine] = ()
    more: int = 0


class TeamLine(View):
    """`name` is "" for the whole team."""

    name: str = ""
    overdue: int = 0
    due: int = 0
    closing: int = 0
    idle: int = 0


class AgendaSection(View):
    code: str
    table: Table


class DailyBody(View):
    what: str
    """One of "digest", "today", "evening", or "lost"."""
    day: str = ""
    sections: Sequence[AgendaSection] = ()
    team: Sequence[TeamLine] = ()
    unread: Sequence[str] = ()
    without_user: bool = False
    people: Sequence[CallGroup] = ()
    waiting: CallGroup = CallGroup()
    unknown: CallGroup = CallGroup()


class ReminderItem(View):
    """`hour` («14:30») only if due today."""

    reminder: str = ""
    text: str = ""
    when: str = ""
    hour: str = ""
    url: str = ""


class ReminderBody(ReminderItem):
    what: str
    """One of "set", "due", "late", "moved", "dropped", "list" or "elsewhere"."""
    place: str = ""
    items: Sequence[ReminderItem] = ()
    more: int = 0


class EditableField(View):
    code: str = ""
    name: str = ""
    value: str = ""
    kind: str = ""


class EditBody(View):
    what: str
    """One of "fields", "value" or "told"."""
    confirmation_id: str = ""
    fields: Sequence[EditableField] = ()
    notice: Notice | None = None
    name: str = ""
    value: str = ""
    field_kind: str = ""
    objection: Notice | None = None
    options: Sequence[str] = ()
    """What the last answer may have meant."""
    ask: int = 0
    private: bool = False


class WaitingBody(View):
    chat: str = ""
    count: int = 0
    cards: Sequence[CallLine] = ()


class PeopleButton(View):
    code: str = ""
    label: str = ""
    args: JsonObject = Field(default_factory=dict)
    press: Sequence[str] = ()
    example: str = ""


class PeopleBody(View):
    """An erasure of `about` finds this message."""

    code: str
    args: JsonObject = Field(default_factory=dict)
    about: Actor | None = None
    buttons: Sequence[Sequence[PeopleButton]] = ()
