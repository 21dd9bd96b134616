from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from nicegui import ui

from bot.console.conversations.reading import ConversationLine, fill_lines, list_lines
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_empty
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from state.journal.store import Store

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
