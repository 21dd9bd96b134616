"""One open page. It belongs to the person, never to a browser: when any right is lost, it is closed."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from nicegui import Client as Page
from nicegui import ui

from bot.console.keys import Pass
from bot.console.live import ChangeFeed
from bot.console.services import ConsoleServices, build_caller
from bot.http_api.server.endpoint_context import build_translator
from bot.http_api.server.tokens import Client
from bot.i18n.translate import Translator
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.reports.viewer import Viewer

T = TypeVar("T")
FindActor = Callable[[Pass], Actor | None]
"""With present rights; None without access, or after the login's end."""


class VisitOver(Exception):
    """The person may not use the console any more."""


@dataclass(eq=False, kw_only=True)
class Visit:
    """Login and person are as when the page was built."""

    services: ConsoleServices
    feed: ChangeFeed
    login: Pass
    opened_as: Actor
    page: Page
    path: str
    params: Mapping[str, str]
    """The parts in braces of the page's path."""
    query: Mapping[str, str]
    find_actor: FindActor
    tr: Translator = field(init=False)
    is_away: bool = field(init=False, default=False)
    """The browser has left the page, or lost the connection for a while."""
    _followed: list[Callable[[], Awaitable[None]]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.tr = build_translator(build_caller(self.opened_as))
        self.page.on_disconnect(self._leave)
        self.page.on_connect(self._return)

    def _leave(self) -> None:
        self.is_away = not self.page.has_socket_connection

    async def _return(self) -> None:
        if self.is_away:
            self.is_away = False
            for refresh in self._followed:
                await refresh()

    @property
    def actor(self) -> Actor:
        """Raises VisitOver if the rights are not those with which the page was built."""
        actor = self.find_actor(self.login)
        if actor is None or actor != self.opened_as:
            raise VisitOver
        return actor

    @property
    def is_over(self) -> bool:
        """The login ended, the person was removed, or has other rights."""
        return self.find_actor(self.login) != self.opened_as

    @property
    def caller(self) -> Client:
        """As functions of the API take it. Raises VisitOver."""
        return build_caller(self.actor)

    @property
    def viewer(self) -> Viewer:
        """With present rights. Raises VisitOver."""
        return self.services.desk.build_viewer(self.caller)

    def say(self, code: str, /, **args: object) -> str:
        return self.tr.translate(code, **args)

    def say_notice(self, notice: Notice) -> str:
        return self.tr.translate_notice(notice)

    def follow(self, refresh: Callable[[], Awaitable[None]]) -> None:
        """Calls `refresh` after each change; while the browser is away, once when it is back. A left page is kept for a minute."""

        async def refresh_if_here() -> None:
            if not self.is_away:
                await refresh()

        self._followed.append(refresh)
        self.page.on_delete(self.feed.follow(refresh_if_here))

    def begin_when_connected(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Calls `begin` once, when the browser is connected: for what may take longer than a page should."""
        is_begun = False

        async def begin_once() -> None:
            nonlocal is_begun
            if not is_begun and not self.is_over:
                is_begun = True
                await begin()

        self.page.on_connect(begin_once)

    async def keep_current(self, load: Callable[[], Awaitable[T]], draw: Callable[[T], None]) -> Callable[[], Awaitable[None]]:
        """Draws anew when what `load` returns, frozen values, differs by `==`; the returned function does that at once."""
        place = ui.element("div").classes("live")
        drawn = await load()
        with place:
            draw(drawn)

        async def refresh() -> None:
            nonlocal drawn
            if self.page.is_deleted or self.is_over:
                return
            now = await load()
            if now == drawn:
                return
            drawn = now
            place.clear()
            with place:
                draw(now)

        self.follow(refresh)
        return refresh
