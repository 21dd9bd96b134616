"""Guards everything under /console: who asks from which page, and what a page may load and run. Pure ASGI, without NiceGUI.

A page may load from this host alone and run only scripts that its own answer carries a number for (a nonce). NiceGUI's client builds code
from texts that the server sends and sets styles at elements, so 'unsafe-eval' and inline styles stay allowed; see ADR 41.
"""

import re
import secrets
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SCRIPT: Final = re.compile(rb"<script(?=[\s>])")
_HTML: Final = "text/html"


def build_policy(nonce: str) -> str:
    """Return the Content-Security-Policy of a page whose scripts carry this nonce."""
    return (
        f"default-src 'self'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def find_path(scope: Scope) -> str:
    """Return the path of the request below the address at which the console is mounted."""
    return str(scope["path"]).removeprefix(str(scope.get("root_path", "")))


def is_same_origin(scope: Scope, public: str) -> bool:
    """Return whether the request comes from a page of this host: its Origin is that of the request's Host, or of the public address.

    A request without Origin is of no browser's page: browsers send one with every socket and every post.
    """
    headers = Headers(scope=scope)
    origin, host = headers.get("origin", ""), headers.get("host", "")
    return bool(host) and origin in {f"http://{host}", f"https://{host}", public}


_OK: Final = 200
_KEPT: Final = re.compile(r"^/_nicegui/[^/]+/(components|libraries|esm)/")
"""Files of NiceGUI whose addresses have its version and a digest. It lets browsers ask for them anew at each page."""


class PageGuard:
    """Middleware that sets the headers of every answer, and gives the scripts of a page its nonce.

    All that a page contains of others stands in it escaped: there is no other "<script" in it than those of NiceGUI's own template.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Guard the answers of `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        held: Message | None = None
        body = b""

        async def guarded(message: Message) -> None:
            nonlocal held, body
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers["Content-Security-Policy"] = build_policy(nonce)
                headers["Referrer-Policy"] = "same-origin"  # with less than that, browsers send their own posts with the Origin "null"
                headers["X-Content-Type-Options"] = "nosniff"
                headers["X-Frame-Options"] = "DENY"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                if message["status"] == _OK and _KEPT.search(find_path(scope)):
                    headers.setdefault("Cache-Control", "private, max-age=86400")
                if headers.get("content-type", "").startswith(_HTML):
                    headers["Cache-Control"] = "no-store"
                    held = message
                    return
            if held is None:
                await send(message)
                return
            body += message.get("body", b"")
            if not message.get("more_body", False):
                whole = _SCRIPT.sub(b'<script nonce="' + nonce.encode() + b'"', body)
                MutableHeaders(raw=held["headers"])["Content-Length"] = str(len(whole))
                await send(held)
                await send({"type": "http.response.body", "body": whole})

        await self._app(scope, receive, guarded)
