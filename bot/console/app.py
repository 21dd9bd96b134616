"""The ASGI app at /console: login by a link, pages by NiceGUI. Strangers get the same answer everywhere, which tells nothing.

Login pages are plain HTML, shown before NiceGUI is loaded. Previews of messengers open links, so only the button uses one.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from bot.console.keys import SESSION_LIFE, ConsoleKeys, Pass
from bot.console.live import ChangeFeed
from bot.console.security import PageGuard, find_path, is_same_origin
from bot.console.services import ConsoleServices
from bot.console.static_files import STATIC, build_static_url, find_static_version
from bot.http_api.server.limits import RequestRate
from bot.i18n.translate import Locale, Translator
from bot.settings.settings import CONSOLE_PATH as ROOT
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import ConsoleLogin
from orchestrator.features.console.feature import build_closing_row
from state.clock import format_iso, generate_id, parse_iso, read_boottime
from state.journal.store import StoreError
from state.model.registry import CONSOLE_SINCE

if TYPE_CHECKING:
    from bot.console.pages import Pages


COOKIE: Final = "sdelka_console"
_PAGE: Final = """<!doctype html>
<html lang="{locale}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="{style}"></head>
<body class="plain"><main class="plain-box"><h1>{title}</h1><p>{text}</p>{form}</main></body></html>"""
_STYLE: Final = escape(build_static_url("console.css"))
_FORM: Final = """<form method="post" action="{root}/login"><input type="hidden" name="link" value="{link}">
<button type="submit" autofocus>{button}</button></form>"""
_LINK: Final = '<p><a href="{root}/">{back}</a></p>'

Trouble = Literal["wrong", "used", "unavailable", "nowhere", "many", "fast"]
_INSIDE: Final = frozenset({"nowhere", "many", "fast"})
"""People who are logged in get a way back."""


class LoginPages:
    """The console decides whether a link may be used."""

    def __init__(self, keys: ConsoleKeys, *, root: str, secure: bool) -> None:
        """Under the path `root`; with `secure` the cookie goes over https alone."""
        self._keys, self._root, self._secure = keys, root, secure

    def show_start(self, locale: Locale) -> Response:
        """Says how to get a link."""
        return self._show(locale, "console-login-title", "console-login-start")

    def show_link(self, link: str, locale: Locale) -> Response:
        form = _FORM.format(root=escape(self._root), link=escape(link), button=escape(Translator(locale).translate("console-login-button")))
        return self._show(locale, "console-login-title", "console-login-press", form=form)

    def show_trouble(self, why: Trouble, locale: Locale, *, status: int = 403) -> Response:
        """Why a link, or a page, is of no use."""
        back = Translator(locale).translate("console-back") if why in _INSIDE else ""
        link = _LINK.format(root=escape(self._root), back=escape(back)) if back else ""
        return self._show(locale, "console-login-title", f"console-login-{why}", form=link, status=status)

    def let_in(self, cookie: str) -> Response:
        """With the cookie, to the first page."""
        answer = RedirectResponse(f"{self._root}/", status_code=303)
        answer.set_cookie(
            COOKIE, cookie, max_age=int(SESSION_LIFE.total_seconds()), path=self._root, httponly=True, samesite="lax", secure=self._secure
        )
        return answer

    def let_out(self) -> Response:
        """Takes the cookie away."""
        answer = RedirectResponse(f"{self._root}/login", status_code=303)
        answer.delete_cookie(COOKIE, path=self._root, httponly=True, samesite="lax", secure=self._secure)
        return answer

    def _show(self, locale: Locale, title: str, text: str, *, form: str = "", status: int = 200) -> Response:
        tr = Translator(locale)
        page = _PAGE.format(locale=locale, title=escape(tr.translate(title)), text=escape(tr.translate(text)), form=form, style=_STYLE)
        return HTMLResponse(page, status)


def choose_locale(request: Request) -> Locale:
    """English if the browser asks for it first, otherwise Russian."""
    return "en" if request.headers.get("accept-language", "").strip().lower().startswith("en") else "ru"


log = logging.getLogger(__name__)

PAGES_PER_MINUTE: Final = 240
"""Within a minute. Nobody reads that fast; what a browser reloads by itself must not keep the bot from its work."""
_LONGEST_FORM: Final = 4_000
_LOAD_AFTER: Final = 3.0
"""Seconds, unless a page is asked for before: the start itself needs the processor."""
_LOOK_EVERY: Final = 1.0
"""Seconds between two looks whether open pages must be closed."""


class Console:
    """`run` must be running while it is served."""

    def __init__(self, services: ConsoleServices, keys: ConsoleKeys, public: str) -> None:
        """`public` is the address that browsers know, such as "https://bot.company.ru/console"."""
        self.services, self._keys = services, keys
        parts = urlsplit(public)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self.feed = ChangeFeed(services.orchestrator)
        self._login = LoginPages(keys, root=ROOT, secure=parts.scheme == "https")
        self._pages: Pages | None = None
        self._loading = asyncio.Lock()
        self._rate = RequestRate(PAGES_PER_MINUTE, read_boottime)
        self._left: dict[str, str] = {}
        """When they logged out in this process; the registry says the same a few seconds later."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve_request(scope, receive, send)

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        login = self._find_login(Request({**scope, "type": "http"}))
        if login is None or self._pages is None or not is_same_origin(scope, self._origin):
            await receive()
            await send({"type": "websocket.close", "code": 4403})
            return
        await self._pages.serve_socket(login, scope, receive, send)

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, path = Request(scope, receive), find_path(scope)
        answer = await self._answer(request, path)
        if answer is not None:
            await PageGuard(answer)(scope, receive, send)
            return
        login = self._find_login(request)
        pages = await self.load_pages()
        if login is None or not pages.knows(path):
            nowhere = self._login.show_trouble("nowhere", self._choose_locale(login, request), status=404)
            await PageGuard(nowhere)(scope, receive, send)
            return
        wait = 0 if pages.is_asset(path) else self._rate.wait(login.person)
        if wait or not pages.make_room(login.person, path):
            many = self._login.show_trouble("fast" if wait else "many", self._choose_locale(login, request), status=429)
            if wait:
                many.headers["Retry-After"] = str(wait)
            await PageGuard(many)(scope, receive, send)
            return
        await pages.serve_request(login, scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response | None:
        """The answer of pages that need no NiceGUI; None if the request may have a page."""
        if path.startswith("/static/"):
            return _find_file(path.removeprefix("/static/"), request.query_params.get("v", ""))
        if request.method == "POST" and not is_same_origin(request.scope, self._origin):
            return PlainTextResponse("", 403)
        if path == "/login":
            return await self._let_in(request) if request.method == "POST" else self._show_login(request)
        login = self._find_login(request)
        if login is None:
            return self._login.show_start(choose_locale(request))
        if path == "/logout" and request.method == "POST":
            return await self._let_out(login, request)
        return None

    def _show_login(self, request: Request) -> Response:
        link = request.query_params.get("link", "")
        locale = self._choose_locale(self._keys.read_link(link, self.services.clock.now()), request)
        return self._login.show_link(link, locale) if link else self._login.show_start(locale)

    async def _let_in(self, request: Request) -> Response:
        """The link works once."""
        form = await _read_form(request)
        now = self.services.clock.now()
        login = self._keys.read_link(form, now)
        locale = self._choose_locale(login, request)
        actor = self.find_actor(login) if login is not None else None
        if login is None or actor is None:
            return self._login.show_trouble("wrong", locale)
        row = ConsoleLogin(login_id=login.login_id).to_row(
            login.person, source=f"console:login:{login.login_id}", actor=actor.model_dump(mode="json"), now=now
        )
        try:
            [is_new] = await self.services.orchestrator.receive([row])
        except StoreError:
            return self._login.show_trouble("unavailable", locale, status=503)
        if not is_new:
            return self._login.show_trouble("used", locale)
        return self._login.let_in(self._keys.sign_session(login, now))

    async def _let_out(self, login: Pass, request: Request) -> Response:
        """Here at once, elsewhere as soon as the other processes read the registry."""
        actor, now = self.find_actor(login), self.services.clock.now()
        if actor is None:
            return self._login.let_out()
        self._left[login.person] = format_iso(now)
        row = build_closing_row(f"console:logout:{generate_id()}", actor, now)
        try:
            await self.services.orchestrator.receive([row])
        except StoreError:
            return self._login.show_trouble("unavailable", self._choose_locale(login, request), status=503)
        return self._login.let_out()

    def _find_login(self, request: Request) -> Pass | None:
        """None if there is no valid cookie."""
        login = self._keys.read_session(request.cookies.get(COOKIE, ""), self.services.clock.now())
        return login if login is not None and self.find_actor(login) is not None else None

    def find_actor(self, login: Pass) -> Actor | None:
        """With present rights; None without access, or after the login's end."""
        access = self.services.access
        since = max(access.resolve_preferences(login.person).get(CONSOLE_SINCE, ""), self._left.get(login.person, ""))
        if since and login.since <= _read_time(since):
            return None
        return access.find_actor_by_key(login.person)

    def _choose_locale(self, login: Pass | None, request: Request) -> Locale:
        actor = self.find_actor(login) if login is not None else None
        return actor.locale if actor is not None else choose_locale(request)

    @property
    def pages(self) -> "Pages":
        """Once they are loaded."""
        assert self._pages is not None  # noqa: S101 - a page is served by them
        return self._pages

    @property
    def is_loaded(self) -> bool:
        return self._pages is not None

    async def load_pages(self) -> "Pages":
        """The first call imports NiceGUI in a thread."""
        async with self._loading:
            if self._pages is None:
                module = await asyncio.to_thread(import_module, "bot.console.pages")
                self._pages = await module.open_pages(self.services, self.feed, self.find_actor)
            return self._pages

    async def run(self) -> None:
        """Until cancelled. An error of the console is logged: the bot would end with it."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.feed.run())
                await asyncio.sleep(_LOAD_AFTER)
                with _log_errors():
                    await self.load_pages()
                    await self.services.usage.catch_up(self.services.clock.now())  # else the first page reads it
                while True:
                    await asyncio.sleep(_LOOK_EVERY)
                    with _log_errors():
                        self.close_ended()
        finally:
            await self.aclose()

    def close_ended(self) -> None:
        if self._pages is not None:
            self._pages.close_ended()

    async def aclose(self) -> None:
        """Stop NiceGUI, if it was started."""
        pages, self._pages = self._pages, None
        if pages is not None:
            await pages.aclose()


@contextmanager
def _log_errors() -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception("the console could not do its work", extra={"action": "console_failed"})


def _find_file(name: str, version: str) -> Response:
    """Browsers keep it if they ask for its version."""
    known = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    if name not in known:
        return PlainTextResponse("", 404)
    is_kept = version == find_static_version()
    return FileResponse(STATIC / name, headers={"Cache-Control": "public, max-age=31536000, immutable" if is_kept else "no-cache"})


async def _read_form(request: Request) -> str:
    """The link of the login page's form; "" for any other body."""
    async with request.form(max_fields=2, max_files=0, max_part_size=_LONGEST_FORM) as form:
        link = form.get("link", "")
    return link if isinstance(link, str) else ""


def _read_time(text: str) -> datetime:
    try:
        return parse_iso(text)
    except ValueError:  # a setting that cannot be read ends every login
        return datetime.max.replace(tzinfo=UTC)
