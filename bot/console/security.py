"""Who asks from which page, and what a page may load: from this host, scripts with a nonce. See ADR 41 for what stays allowed."""

import re
import secrets
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SCRIPT: Final = re.compile(rb"<script(?=[\s>])")
_HTML: Final = "text/html"


def build_policy(nonce: str) -> str:
    """Of a page whose scripts carry this nonce."""
    return (
        f"default-src 'self'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def find_path(scope: Scope) -> str:
    """Below the address at which the console is mounted."""
    return str(scope["path"]).removeprefix(str(scope.get("root_path", "")))


def is_same_origin(scope: Scope, public: str) -> bool:
    """Of this host, by Origin. Without Origin it is no browser's: they send one with every socket and post."""
    headers = Headers(scope=scope)
    origin, host = headers.get("origin", ""), headers.get("host", "")
    return bool(host) and origin in {f"http://{host}", f"https://{host}", public}


_OK: Final = 200
_KEPT: Final = re.compile(r"^/_nicegui/[^/]+/(components|libraries|esm)/")
"""Addresses with version and digest, which NiceGUI lets browsers ask for anew at each page."""


class PageGuard:
    """Headers of every answer, and the nonce. Foreign text is escaped, so every "<script" is NiceGUI's own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        html_start: Message | None = None
        body = b""

        async def guarded(message: Message) -> None:
            nonlocal html_start, body
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
                    html_start = message
                    return
            if html_start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if not message.get("more_body", False):
                whole = _SCRIPT.sub(b'<script nonce="' + nonce.encode() + b'"', body)
                MutableHeaders(raw=html_start["headers"])["Content-Length"] = str(len(whole))
                await send(html_start)
                await send({"type": "http.response.body", "body": whole})

        await self._app(scope, receive, guarded)
