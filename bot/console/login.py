"""Login pages in plain HTML, before NiceGUI is loaded. Previews of messengers open links, so only the button uses one."""

from html import escape
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bot.console.keys import SESSION_LIFE, ConsoleKeys
from bot.console.static_files import build_static_url
from bot.i18n.translate import Locale, Translator

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
