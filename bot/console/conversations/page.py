"""The list of conversations, and the last turns of one."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from nicegui import ui

from bot.console.conversations.turn_items import ItemReader, Turn, group_items
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_empty
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import TALK_CHANNELS, Address
from orchestrator.reports.cards import list_card_timers
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from orchestrator.reports.viewer import Viewer
from state.journal.journal import to_lease_key, to_stream
from state.journal.pages import iterate_events
from state.journal.store import Store

TURNS: Final = 30
"""Turns at first, and with each press of «Показать раньше»."""
AT_ONCE: Final = 3
"""So many come with the page, more than a screen holds; the others follow."""
TOGETHER: Final = 9
MOST_SCANNED: Final = 5000
"""Records that are searched for the beginning of turns."""
_BLOCK: Final = 500
_LAST_WORDS: Final = 40
"""Records that are searched for words to show in the list."""
_SPOKEN: Final = frozenset({"MessageReceived"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLine:
    session: str
    last: str
    events: int
    open_cards: int
    unknown: int = 0
    words: str = ""
    """Of a person; "" if not among the last records."""


def list_lines(store: Store, viewer: Viewer) -> list[ConversationLine]:
    """Newest first, without what `fill_lines` adds: unknown calls and the last words."""
    cards = Counter(timer.session for timer in list_card_timers(store))
    ends = [(to_lease_key(stream), seq, ts) for stream, seq, ts in store.list_ends()]
    talks = [
        (session, seq, ts) for session, seq, ts in ends if session.partition(":")[0] in TALK_CHANNELS and viewer.may_see_session(session)
    ]
    lines = [ConversationLine(session=session, last=ts, events=seq, open_cards=cards[session]) for session, seq, ts in talks]
    return sorted(lines, key=lambda line: (line.last, line.session), reverse=True)


def fill_lines(store: Store, lines: Sequence[ConversationLine]) -> list[ConversationLine]:
    """With the number of unknown calls, and the last words."""
    return [_fill_line(store, line) for line in lines]


def _fill_line(store: Store, line: ConversationLine) -> ConversationLine:
    stream = to_stream(line.session)
    records = store.read_encrypted(stream, max(0, line.events - _LAST_WORDS), _LAST_WORDS)
    spoken = next((seq for seq, kind, _ in reversed(records) if kind in _SPOKEN), 0)
    [event] = DamageTolerantStore(store).read_events(stream, spoken - 1, 1) if spoken else [None]
    words = str(event.data.get("text") or "") if event is not None else ""
    return replace(line, unknown=len(store.list_effects(stream, "unknown")), words=words)


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkPart:
    """Turns, the number of the record with which they begin, and that of the last."""

    turns: Sequence[Turn]
    first: int
    head: int

    @property
    def has_earlier(self) -> bool:
        return self.first > 1


def find_start(store: Store, stream: str, before: int, turns: int = TURNS) -> int:
    """Of the last `turns` turns before the record `before`, or the first of `MOST_SCANNED` records."""
    end, count = before, 0
    while end > 1 and before - end < MOST_SCANNED:
        start = max(1, end - _BLOCK)
        for seq, kind, _ in reversed(store.read_encrypted(stream, start - 1, end - start)):
            count += kind in _SPOKEN
            if count == turns:
                return seq
        end = start
    return end


def read_part(store: Store, stream: str, first: int, reader: ItemReader) -> TalkPart:
    """From the record `first` on; 0 for the last `AT_ONCE` turns."""
    head = store.read_head(stream)[0]
    begin = first or find_start(store, stream, head + 1, AT_ONCE)
    events = iterate_events(DamageTolerantStore(store), stream, begin - 1, page=_BLOCK)
    return TalkPart(turns=group_items((event, reader.read(event)) for event in events), first=begin, head=head)


_PAGE: Final = 30
_LONGEST_WORDS: Final = 160


@dataclass(kw_only=True)
class ListChoice:
    name: str = ""
    limit: int = _PAGE


@dataclass(frozen=True, kw_only=True)
class NamedLine:
    """With the name of whose conversation it is."""

    name: str
    line: ConversationLine


@dataclass(frozen=True, kw_only=True)
class ListView:
    """`count` is of all, also of those not shown."""

    lines: Sequence[NamedLine]
    count: int
    is_searched: bool


async def show_conversations(visit: Visit) -> None:
    choice = ListChoice()
    if visit.viewer.actor.role == "admin":  # everybody else has a few of their own
        search = (
            ui.input(visit.say("console-talk-search")).props("outlined dense clearable debounce=300 type=search").classes("talk-search")
        )
        search.on_value_change(lambda event: _search(str(event.value or "")))

    async def _search(name: str) -> None:
        choice.name, choice.limit = name.strip().casefold(), _PAGE
        await refresh()

    async def _show_more() -> None:
        choice.limit += _PAGE
        await refresh()

    refresh = await visit.keep_current(lambda: _load(visit, choice), lambda view: _draw(visit, view, _show_more))


async def _load(visit: Visit, choice: ListChoice) -> ListView:
    viewer, store = visit.viewer, visit.services.store
    named_lines = [NamedLine(name=name_session(visit, line.session), line=line) for line in await store.read(list_lines, viewer)]
    fitting = [one for one in named_lines if choice.name in one.name.casefold()]

    def fill(reading: Store) -> list[ConversationLine]:
        return fill_lines(reading, [one.line for one in fitting[: choice.limit]])

    filled = await store.read(fill)
    lines = tuple(NamedLine(name=one.name, line=line) for one, line in zip(fitting, filled, strict=False))
    return ListView(lines=lines, count=len(fitting), is_searched=bool(choice.name))


def name_session(visit: Visit, session: str) -> str:
    """The name of the person, or of the group."""
    address = Address.parse(session)
    if address.is_group:
        return visit.say("console-talk-group", chat=address.chat)
    known = visit.services.orchestrator.tools.gate.deps.present(Actor(key=f"{address.channel}:{address.chat}", name=""))
    name = known.name if known is not None else ""
    return f"{name} · {address.thread}" if name and address.thread else name or session


def _draw(visit: Visit, view: ListView, show_more: Callable[[], Awaitable[None]]) -> None:
    if not view.lines:
        show_empty(visit.say("console-talk-not-found" if view.is_searched else "console-talk-none"))
    for line in view.lines:
        _draw_line(visit, line)
    if view.count > len(view.lines):
        ui.button(visit.say("console-talk-more"), on_click=show_more, color=None).props("outline no-caps")


def _draw_line(visit: Visit, named_line: NamedLine) -> None:
    line = named_line.line
    with ui.link(target=build_address(line.session)).classes("line talk-line"):
        with ui.element("div").classes("talk-who"):
            ui.label(cut_text(named_line.name, limit=120)).classes("strong").props("dir=auto")
            ui.label(visit.tr.format_time(line.last) if line.last else "").classes("muted small talk-when")
        if line.words:
            ui.label(cut_text(" ".join(line.words[: 4 * _LONGEST_WORDS].split()), limit=_LONGEST_WORDS)).classes("muted talk-words").props(
                "dir=auto"
            )
        if line.open_cards:
            show_badge(visit.say("console-talk-cards", count=line.open_cards), tone="live")
        if line.unknown:
            show_badge(visit.say("console-talk-unknown", count=line.unknown), tone="warn")


def build_address(session: str) -> str:
    return f"/conversations/{quote(session, safe=':')}"
