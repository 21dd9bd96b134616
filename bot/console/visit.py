"""One open page of the console: who looks at it with which rights, and what keeps it up to date.

A page belongs to the person who logged in, never to a browser: the rights are looked up each time they are asked for, and a page whose
person has lost any of them is closed.
"""

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
"""Returns the person of a login with their present rights; None if they have no access, or the login has ended."""


class VisitOver(Exception):
    """Raised when a page is used whose person may not use the console any more."""


@dataclass(eq=False, kw_only=True)
class Visit:
    """One open page: the services of the process, the login and the person as they were when the page was built."""

    services: ConsoleServices
    feed: ChangeFeed
    login: Pass
    opened_as: Actor
    page: Page
    path: str
    params: Mapping[str, str]
    """The parts of the address that stand in braces in the path of the page."""
    query: Mapping[str, str]
    find_actor: FindActor
    tr: Translator = field(init=False)
    is_away: bool = field(init=False, default=False)
    """Whether the browser was connected and is not any more: it has left the page, or lost the connection for a while."""
    _followed: list[Callable[[], Awaitable[None]]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Take the language of the person, and follow whether the browser is there."""
        self.tr = build_translator(build_caller(self.opened_as))
        self.page.on_disconnect(self._leave)
        self.page.on_connect(self._return)

    def _leave(self) -> None:
        self.is_away = not self.page.has_socket_connection

    async def _return(self) -> None:
        """Show what has changed while the browser was away."""
        if self.is_away:
            self.is_away = False
            for refresh in self._followed:
                await refresh()

    @property
    def actor(self) -> Actor:
        """The person with their present rights. Raises VisitOver if they are not those with which the page was built."""
        actor = self.find_actor(self.login)
        if actor is None or actor != self.opened_as:
            raise VisitOver
        return actor

    @property
    def is_over(self) -> bool:
        """Whether the page must be closed: the login ended, the person was removed, or has other rights than before."""
        return self.find_actor(self.login) != self.opened_as

    @property
    def caller(self) -> Client:
        """The person as the functions behind the endpoints of the API take it. Raises VisitOver."""
        return build_caller(self.actor)

    @property
    def viewer(self) -> Viewer:
        """What the person may see and decide now. Raises VisitOver."""
        return self.services.desk.build_viewer(self.caller)

    def say(self, code: str, /, **args: object) -> str:
        """Return the text for `code` in the person's language."""
        return self.tr.translate(code, **args)

    def say_notice(self, notice: Notice) -> str:
        """Return the sentence of a notice in the person's language."""
        return self.tr.translate_notice(notice)

    def follow(self, refresh: Callable[[], Awaitable[None]]) -> None:
        """Call `refresh` after each change while the page is open; while its browser is away, once when it is back.

        A page that was left is kept for a minute, in case the connection was lost: whoever goes from page to page leaves many.
        """

        async def refresh_if_here() -> None:
            if not self.is_away:
                await refresh()

        self._followed.append(refresh)
        self.page.on_delete(self.feed.follow(refresh_if_here))

    def begin_when_connected(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Call `begin` once, when the browser has the page and is connected: for what may take longer than a page should."""
        is_begun = False

        async def begin_once() -> None:
            nonlocal is_begun
            if not is_begun and not self.is_over:
                is_begun = True
                await begin()

        self.page.on_connect(begin_once)

    async def keep_current(self, load: Callable[[], Awaitable[T]], draw: Callable[[T], None]) -> Callable[[], Awaitable[None]]:
        """Draw what `load` returns here and now, and draw it anew in the same place whenever it has become something else.

        What `load` returns is compared with `==`, so it should be a frozen dataclass, a model or a tuple of such.
        The returned function does at once what a change does.
        """
        place = ui.element("div").classes("live")
        shown = await load()
        with place:
            draw(shown)

        async def refresh() -> None:
            nonlocal shown
            if self.page.is_deleted or self.is_over:
                return
            now = await load()
            if now == shown:
                return
            shown = now
            place.clear()
            with place:
                draw(now)

        self.follow(refresh)
        return refresh
