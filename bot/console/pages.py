"""Pages in NiceGUI, registered once per process: which console a request belongs to stands in its scope.

NiceGUI takes a message for any page that it names; here a socket acts on its own login's pages alone.
"""

import copy
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from inspect import isawaitable
from typing import Final, Protocol
from urllib.parse import parse_qs

from fastapi import FastAPI
from nicegui import app, core, ui
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from bot.console.frame import PageSpec, build_frame, show_problem
from bot.console.keys import Pass
from bot.console.live import ChangeFeed
from bot.console.page_list import PAGES
from bot.console.security import PageGuard, find_path
from bot.console.services import ConsoleServices
from bot.console.visit import FindActor, Visit, VisitOver
from bot.http_api.server.errors import ApiError
from state.journal.encryption import DamagedCiphertext
from state.journal.store import StoreError

_NAMESPACE: Final = "/"
_SCOPE: Final = "asgi.scope"
_ACTS: Final = ("event", "javascript_response", "ack")
_HANDSHAKE: Final = "handshake"
_LOG: Final = "log"

Take = Callable[[str, object], object]


class MayUse(Protocol):
    def __call__(self, scope: Scope, page_id: str, *, acts: bool) -> bool:
        """May connect to the page or, with `acts`, do something there."""


def guard_sockets(may_use: MayUse) -> None:
    """Asked before all messages; what browsers want to write into the log is dropped."""
    takes = core.sio.handlers[_NAMESPACE]
    for name in (*_ACTS, _HANDSHAKE):
        takes[name] = _guard(takes[name], may_use, acts=name != _HANDSHAKE)
    takes.pop(_LOG, None)


def _guard(take: Take, may_use: MayUse, *, acts: bool) -> Take:
    async def guarded(sid: str, message: object) -> object:
        page_id = message.get("client_id") if isinstance(message, dict) else None
        scope = (core.sio.get_environ(sid) or {}).get(_SCOPE)
        if not isinstance(page_id, str) or scope is None or not may_use(scope, page_id, acts=acts):
            return False
        done = take(sid, message)
        return await done if isawaitable(done) else done

    return guarded


log = logging.getLogger(__name__)


_PAGES: Final = "sdelka.pages"
_LOGIN: Final = "sdelka.login"
_ASSETS: Final = "/_nicegui/"
_SOCKET: Final = "/_nicegui_ws/"
_BUILD_WITHIN: Final = 20.0
_RECONNECT_WITHIN: Final = 60.0
"""Seconds for which the page of a lost browser is kept."""

MOST_PAGES: Final = 100
"""Of one person; each takes memory and work."""

_LARGEST_MESSAGE: Final = 5_000_000
"""Bytes. A pasted text of 1 MB must arrive, to be refused with a sentence; more ends the connection."""

_THEME_BEFORE_MOUNT: Final = "\nglobalThis.showTheme?.();\n"
"""Never painted in another theme than the chosen one."""

_KNOWN: Final = [compile_path(spec.path)[0] for spec in PAGES]


def _register(spec: PageSpec) -> None:
    @ui.page(spec.path, title="Sdelka", dark=None, response_timeout=_BUILD_WITHIN, reconnect_timeout=_RECONNECT_WITHIN)
    async def show(request: Request) -> None:
        await _show_page(request.scope[_PAGES], request.scope[_LOGIN], spec, request)


for _spec in PAGES:
    _register(_spec)


async def _show_page(pages: "Pages", login: Pass, spec: PageSpec, request: Request) -> None:
    page, actor = ui.context.client, pages.find_actor(login)
    if actor is None or (spec.roles and actor.role not in spec.roles):
        ui.navigate.to("/")
        return
    page.page = copy.copy(page.page)  # the language belongs to the person, NiceGUI's to the page
    page.page.language = "ru" if actor.locale == "ru" else "en-US"
    visit = Visit(
        services=pages.services,
        feed=pages.feed,
        login=login,
        opened_as=actor,
        page=page,
        path=spec.path,
        params=dict(request.path_params),
        query=dict(request.query_params),
        find_actor=pages.find_actor,
    )
    page.page.title = f"{visit.say(f'console-{spec.name}')} · Sdelka"
    pages.visits[page.id] = visit
    page.on_delete(lambda: pages.visits.pop(page.id, None))
    page.on_exception(lambda error: _tell_error(visit, error))
    with build_frame(visit, spec):
        try:
            await spec.show(visit)
        except ApiError as error:
            show_problem(visit, "console-not-found" if error.status == 404 else "console-cannot-show")  # noqa: PLR2004
        except VisitOver:
            ui.navigate.to("/")
        except DamagedCiphertext:  # nothing of others is told: who may not see the session gets a 404
            show_problem(visit, "console-damaged")
        except StoreError:
            show_problem(visit, "console-no-database")
        except Exception:  # NiceGUI's own page would show its text, which may be of a record that the person may not see
            log.exception("a page of the console failed", extra={"action": "console_failed"})
            show_problem(visit, "console-failed")


def _tell_error(visit: Visit, error: Exception) -> None:
    """The details stand in the program's log."""
    if isinstance(error, VisitOver):
        visit.page.open("/")
        return
    code = "console-no-database" if isinstance(error, StoreError) else "console-failed"
    code = "console-damaged" if isinstance(error, DamagedCiphertext) else code
    if not isinstance(error, StoreError):
        log.error("a page of the console failed", exc_info=error, extra={"action": "console_failed"})
    with visit.page:
        ui.notify(visit.say(code), type="negative")


class Pages:
    def __init__(self, services: ConsoleServices, feed: ChangeFeed, find_actor: FindActor, stack: AsyncExitStack) -> None:
        """Until `aclose`, which leaves `stack`; `find_actor` says who may still see pages."""
        self.services, self.feed, self.find_actor, self._stack = services, feed, find_actor, stack
        self._is_open = True
        self.visits: dict[str, Visit] = {}
        self._told: set[str] = set()
        self._app = PageGuard(_HOST)
        self._assets = GZipMiddleware(self._app)

    def knows(self, path: str) -> bool:
        return self.is_asset(path) or any(known.fullmatch(path or "/") for known in _KNOWN)

    def is_asset(self, path: str) -> bool:
        """A file of NiceGUI, of which a page has many."""
        return path.startswith(_ASSETS)

    def find_visit(self, page_id: str) -> Visit | None:
        """None if there is none any more."""
        return self.visits.get(page_id) if self._is_open else None

    def make_room(self, person: str, path: str) -> bool:
        """Whether one more page may be opened; of too many the oldest without a browser goes."""
        own = [visit for visit in self.visits.values() if visit.login.person == person]
        if self.is_asset(path) or len(own) < MOST_PAGES:
            return True
        left = next((visit for visit in own if not visit.page.has_socket_connection), None)
        if left is not None:
            left.page.delete()
        return left is not None

    async def serve_request(self, login: Pass, scope: Scope, receive: Receive, send: Send) -> None:
        request_scope = {**scope, _PAGES: self, _LOGIN: login}
        served = self._assets if find_path(scope).startswith(_ASSETS) else self._app
        await served(request_scope, receive, send)

    async def serve_socket(self, login: Pass, scope: Scope, receive: Receive, send: Send) -> None:
        """A page that another login has opened is refused."""
        [page_id] = parse_qs(scope["query_string"].decode("latin-1")).get("client_id", [""])[:1]
        visit = self.visits.get(page_id)
        if not find_path(scope).startswith(_SOCKET) or not page_id or (visit is not None and visit.login != login):
            await receive()
            await send({"type": "websocket.close", "code": 4403})
            return
        await self._app({**scope, _PAGES: self, _LOGIN: login}, receive, send)

    def close_ended(self) -> None:
        """For people without access, with other rights or logged out. Browsers load anew; a second later nothing is left."""
        self._told &= set(self.visits)
        for visit in tuple(self.visits.values()):
            if visit.is_over and visit.page.id in self._told:
                visit.page.delete()
            elif visit.is_over:
                self._told.add(visit.page.id)
                visit.page.run_javascript("window.sdelkaCloses = true; location.reload()")

    async def aclose(self) -> None:
        self._is_open = False
        await self._stack.aclose()


_HOST: Final = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
app.config.socket_io_js_transports = ["websocket"]
core.sio.eio.max_http_buffer_size = _LARGEST_MESSAGE
app.config.quasar_config["loadingBar"] = {"skipHijack": True}
app.config.vue_config_script += _THEME_BEFORE_MOUNT
ui.run_with(
    _HOST,
    title="Sdelka",
    dark=None,
    language="ru",
    tailwind=False,
    gzip_middleware_factory=None,
    reconnect_timeout=_RECONNECT_WITHIN,
    show_welcome_message=False,
    binding_refresh_interval=None,
)


def _may_use(scope: Scope, page_id: str, *, acts: bool) -> bool:
    """The socket's login opened the page, and may still use it; a page of an error is nobody's."""
    pages: Pages | None = scope.get(_PAGES)
    visit = pages.find_visit(page_id) if pages is not None else None
    if visit is None:
        return not acts
    return visit.login == scope.get(_LOGIN) and not visit.is_over


guard_sockets(_may_use)


async def open_pages(services: ConsoleServices, feed: ChangeFeed, find_actor: FindActor) -> Pages:
    """In the running event loop."""
    stack = AsyncExitStack()
    await stack.enter_async_context(_HOST.router.lifespan_context(_HOST))
    return Pages(services, feed, find_actor, stack)
