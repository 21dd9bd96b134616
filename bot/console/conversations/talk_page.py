"""One conversation. Only what is new is drawn, so that nothing moves for somebody who reads further up."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from nicegui import ui
from nicegui.element import Element

from bot.console.conversations.page import AT_ONCE, TOGETHER, TURNS, TalkPart, find_start, name_session, read_part
from bot.console.conversations.turn_items import Item, ItemReader, Turn
from bot.console.conversations.turn_widgets import draw_item
from bot.console.visit import Visit
from bot.http_api.audit.run_events import EventReader
from bot.http_api.server.endpoint_context import SESSION
from bot.http_api.server.errors import ApiError
from orchestrator.reports.why.touched_records import find_touched_records
from state.journal.journal import to_stream
from state.stored import JsonObject

_TO_END: Final = "window.scrollTo(0, document.body.scrollHeight)"
_BEGIN: Final = f"""setTimeout(() => {{
  {_TO_END}; window.talkAtEnd = true;
  window.addEventListener("scroll", () => {{ window.talkAtEnd = document.body.scrollHeight - window.innerHeight - window.scrollY < 120; }});
}}, 50)"""
"""Shows the end, and remembers from then on whether the reader is there."""
_FOLLOW_END: Final = f"setTimeout(() => {{ if (window.talkAtEnd) {_TO_END}; }}, 50)"
"""Scrolls only for somebody who was at the end."""


@dataclass(kw_only=True)
class ShownTurn:
    box: Element
    items: list[Item] = field(default_factory=list)
    drawn: list[Element] = field(default_factory=list)


class Talk:
    def __init__(self, visit: Visit, session: str) -> None:
        self._visit, self._session = visit, session
        self._stream = to_stream(session)
        self._first = self._head = 0
        self._drawing = asyncio.Lock()
        self._place: Element | None = None
        self._older: Element | None = None
        self._shown: dict[str, ShownTurn] = {}

    async def show(self) -> None:
        """Raises ApiError 404 also if it may not be read."""
        part = await self._load()
        if not part.head:
            raise _build_missing()
        with ui.element("div").classes("talk-head"):
            ui.label(name_session(self._visit, self._session)).classes("strong").props("dir=auto role=heading aria-level=2")
            ui.link(self._visit.say("console-talk-list"), "/conversations")
        self._older = ui.button(self._visit.say("console-talk-older"), on_click=self._show_more, color=None)
        self._older.props("outline no-caps").classes("talk-older")
        self._place = ui.element("div").classes("talk").props("role=log")
        to_end = ui.button(self._visit.say("console-talk-end-button"), icon="arrow_downward", color=None)
        to_end.props("no-caps").classes("talk-end")
        to_end.on("click", js_handler=f"() => {_TO_END}")
        self._draw(part)
        ui.run_javascript(_BEGIN)
        self._visit.follow(self._refresh)
        self._visit.begin_when_connected(self._show_rest)

    async def _load(self) -> TalkPart:
        if not self._visit.viewer.may_see_session(self._session):
            raise _build_missing()
        return await self._visit.services.store.read(read_part, self._stream, self._first, self._build_reader())

    def _build_reader(self) -> ItemReader:
        deps = self._visit.viewer.deps

        def find_records(method: str, params: JsonObject) -> Sequence[str]:
            return list(dict.fromkeys(touch.target for touch in find_touched_records(method, params, deps.catalogue) if touch.target))

        return ItemReader(eyes=EventReader(tr=self._visit.tr, refresh_actor=deps.present), find_records=find_records)

    async def _refresh(self) -> None:
        async with self._drawing:
            if self._visit.page.is_deleted or self._visit.is_over:
                return
            head, _ = await self._visit.services.store.read_head(self._stream)
            if head == self._head:
                return
            self._draw(await self._load())
            with self._visit.page:
                ui.run_javascript(_FOLLOW_END)

    async def _show_rest(self) -> None:
        """A few at a time, so that others are served between."""
        for _ in range(AT_ONCE, TURNS, TOGETHER):
            await self._show_earlier(TOGETHER)
        with self._visit.page:
            ui.run_javascript(_FOLLOW_END)

    async def _show_more(self) -> None:
        await self._show_earlier(TURNS)

    async def _show_earlier(self, turns: int) -> None:
        async with self._drawing:
            if self._visit.page.is_deleted or self._first <= 1:
                return
            self._first = await self._visit.services.store.read(find_start, self._stream, self._first, turns)
            self._draw(await self._load())

    def _draw(self, part: TalkPart) -> None:
        assert self._place is not None  # noqa: S101 - `show` makes both
        assert self._older is not None  # noqa: S101 - see above
        self._first, self._head = part.first, part.head
        self._older.set_visibility(part.has_earlier)
        for key in self._shown.keys() - {turn.key for turn in part.turns}:  # it belongs to an earlier turn that is shown now
            self._shown.pop(key).box.delete()
        for number, turn in enumerate(part.turns):
            known = self._shown.get(turn.key)
            if known is None:
                with self._place:
                    box = ui.element("section").classes("panel talk-turn" + (" talk-alone" if turn.is_alone else ""))
                if number < len(self._shown):
                    box.move(target_index=number)
                known = self._shown[turn.key] = ShownTurn(box=box)
            self._draw_turn(known, turn)

    def _draw_turn(self, shown_turn: ShownTurn, turn: Turn) -> None:
        """What has become something else is drawn anew, with all that follows."""
        same = next(
            (at for at, (old, new) in enumerate(zip(shown_turn.items, turn.items, strict=False)) if old != new),
            min(len(shown_turn.items), len(turn.items)),
        )
        for element in shown_turn.drawn[same:]:
            element.delete()
        del shown_turn.items[same:], shown_turn.drawn[same:]
        with shown_turn.box:
            for item in turn.items[same:]:
                shown_turn.items.append(item)
                shown_turn.drawn.append(draw_item(self._visit, item))


def _build_missing() -> ApiError:
    return ApiError(404, "session_not_found", "There is no such session.")


async def show_conversation(visit: Visit) -> None:
    session = visit.params["session"]
    if SESSION.fullmatch(session) is None:
        raise _build_missing()
    await Talk(visit, session).show()
